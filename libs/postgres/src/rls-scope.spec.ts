import { SQLSTATE } from './sqlstate.js';
import { API_ROLE, SCHEMA } from './names.js';
import { bindScope, type RlsScope, scopeBinder } from './rls-scope.js';
import type { Session } from './session.js';
import { SessionPool } from './session-pool.js';
import { bind, sqlStatement } from './sql-statement.js';
import { freshDatabase, type FreshDatabase } from './testing/index.js';

const showScope = bind(
  sqlStatement(
    'scope.show',
    `select current_setting('app.workspaces', true) as workspaces, current_setting('app.user', true) as user`,
  ),
);
const showActor = bind(
  sqlStatement(
    'scope.show_actor',
    `select nullif(current_setting('app.actor_type', true), '') as actor, current_setting('app.workspaces', true) as workspaces`,
  ),
);
const fail = bind(sqlStatement('scope.fail', 'select 1 / 0'));
const begin = bind(sqlStatement('begin', 'begin'));
const commit = bind(sqlStatement('commit', 'commit'));

describe('a scope', () => {
  let world: FreshDatabase;
  let pool: SessionPool;
  let session: Session;
  const scope = bindScope({ workspaces: [7, 8], user: 3 });

  beforeAll(async () => {
    world = await freshDatabase();
    pool = new SessionPool({
      connection: world.connection,
      role: API_ROLE,
      schema: SCHEMA,
      poolSize: 1,
      acquireTimeoutMs: 1_000,
      statementTimeoutMs: 5_000,
      lockTimeoutMs: 2_000,
      isPooled: false,
      nameStatements: true,
      applicationName: 'banking',
      onError: () => undefined,
    });
    session = await pool.acquire();
  });
  afterAll(async () => {
    pool.release(session);
    await pool.end();
    await world.close();
  });

  it('ends with its pipeline, even if the pipeline fails', async () => {
    const during = await session.send([scope, showScope]);
    const after = await session.send([showScope]);
    await expect(session.send([scope, fail])).rejects.toMatchObject({ code: SQLSTATE.divisionByZero });
    const afterFailure = await session.send([showScope]);

    expect(during.rows[1]).toEqual([{ workspaces: '{7,8}', user: '3' }]);
    expect(after.rows).toEqual([[{ workspaces: '', user: '' }]]);
    expect(afterFailure.rows).toEqual(after.rows);
  });

  it('names the actor of its pipeline only', async () => {
    const during = await session.send([bindScope({ workspaces: [7], actorType: 'network' }), showActor]);
    const after = await session.send([scope, showActor]);

    expect(during.rows[1]).toEqual([{ actor: 'network', workspaces: '{7}' }]);
    expect(after.rows[1]).toEqual([{ actor: null, workspaces: '{7,8}' }]);
  });

  it('ends with its database transaction', async () => {
    await session.send([begin, scope]);
    const during = await session.send([showScope]);
    await session.send([commit]);
    const after = await session.send([showScope]);

    expect(during.rows).toEqual([[{ workspaces: '{7,8}', user: '3' }]]);
    expect(after.rows).toEqual([[{ workspaces: '', user: '' }]]);
  });

  it('of a read calls the function only for what the condition does not allow', async () => {
    const bindChecked = scopeBinder({ listFunction: 'quote_literal', isReadable: '$1 = 7' });
    const shownFor = async (scope: RlsScope) =>
      (await session.send([bindChecked({ ...scope, isRead: true }), showScope])).rows[1];

    expect(await shownFor({ workspaces: [7] })).toEqual([{ workspaces: '{7}', user: '' }]);
    expect(await shownFor({ workspaces: [8] })).toEqual([{ workspaces: `'{8}'`, user: '' }]);
    expect(await shownFor({ workspaces: [7, 8] })).toEqual([{ workspaces: `'{7,8}'`, user: '' }]);
    expect(await shownFor({ workspaces: [7], user: 3 })).toEqual([{ workspaces: `'{7}'`, user: '3' }]);
    expect(() => bindChecked({ workspaces: [0], isRead: true })).toThrow('not an id');
  });

  it('has a name of its own for each check, role and list of settings, however long these are', () => {
    const check = { listFunction: 'quote_literal', isReadable: '$1 = 7' };
    const settings = { 'app.operating_system_user': 'rosa', 'app.operator_request': '7' };
    const scopes = [{}, { actorType: 'operator' as const }, { approval: 7 }];
    const names = [undefined, check].flatMap((one) =>
      [undefined, 'banking_operator', 'x'.repeat(63)].flatMap((role) =>
        [{}, { 'app.operator_request': '7' }, settings].flatMap((more) => {
          const bindOne = scopeBinder(one, role, more);
          return scopes.map((scope) => bindOne(scope).statement.name);
        }),
      ),
    );

    expect(new Set(names).size).toBe(names.length);
  });
});
