import { bind, SQLSTATE } from '@banking/postgres';
import { emptyDatabase, type TestDatabase } from '../testing/test-databases.js';
import { auditEntry, BY_SYSTEM, noteAudit } from './audited-call.js';
import { COUNT_UNRECORDED_AUDIT, recordAudit } from './record-audit.js';

let world: TestDatabase;
const WORKSPACE = 1;

beforeAll(async () => {
  world = await emptyDatabase();
  await world.owner.query(`insert into app (id, name) values (1, 'Bank');
    insert into workspace (id, app_id, name) values (${WORKSPACE}, 1, 'One')`);
});
afterAll(() => world.close());

const GOOD = { operation: 'openAccount', outcome: 'done', actor: { type: 'user' } };
const insert = (entries: unknown) =>
  world.owner.query('insert into audit_outbox (workspace_id, entries) values ($1, $2)', [
    WORKSPACE,
    JSON.stringify(entries),
  ]);

const unrecorded = () => world.database.read({}, bind(COUNT_UNRECORDED_AUDIT));

describe('the outbox of the audit trail', () => {
  it.each<[string, unknown]>([
    ['without an operation', { ...GOOD, operation: undefined }],
    ['with an operation too long for its index', { ...GOOD, operation: 'x'.repeat(101) }],
    ['with an unknown outcome', { ...GOOD, outcome: 'tried' }],
    ['with a refusal without a reason', { ...GOOD, outcome: 'refused' }],
    ['with a reason of what was done', { ...GOOD, reason: 'unavailable' }],
    ['with a type of a resource without its id', { ...GOOD, resourceType: 'order' }],
    ['with an id of a resource without its type', { ...GOOD, resourceId: 1 }],
    ['with an id of a resource that is not above zero', { ...GOOD, resourceType: 'order', resourceId: 0 }],
    ['with a user who is not above zero', { ...GOOD, userId: 0 }],
    ['with a count of zero', { ...GOOD, count: 0 }],
    ['without an actor', { ...GOOD, actor: undefined }],
    ['with null as its actor', { ...GOOD, actor: null }],
    ['with an unknown kind of actor', { ...GOOD, actor: { type: 'robot' } }],
    ['that is a text', 'openAccount'],
    ['that is an array', [GOOD]],
    ['that is null', null],
  ])('refuses an entry %s, also after a good one', async (_, entry) => {
    await expect(insert([GOOD, entry])).rejects.toMatchObject({
      code: SQLSTATE.checkViolation,
      constraint: 'audit_outbox_recordable',
    });
  });

  it.each<[string, unknown, string]>([
    ['an id that is a fraction', { ...GOOD, resourceType: 'order', resourceId: 1.5 }, '22P02'],
    ['an id beyond 64 bits', { ...GOOD, resourceType: 'order', resourceId: 1e19 }, '22003'],
    ['a user that is a text', { ...GOOD, userId: 'ada' }, '22P02'],
    ['a count beyond 32 bits', { ...GOOD, count: 2 ** 31 }, '22003'],
  ])('refuses %s', async (_, entry, code) => {
    await expect(insert([entry])).rejects.toMatchObject({ code });
  });

  it('refuses entries that are no array', async () => {
    await expect(insert(GOOD)).rejects.toMatchObject({ code: SQLSTATE.checkViolation });
  });

  it('accepts what the service writes, and the recorder records all of it', async () => {
    const entries = [
      auditEntry(WORKSPACE, { operation: 'runOrder', resource: { type: 'order', id: 2 ** 53 - 1 } }, BY_SYSTEM),
      auditEntry(WORKSPACE, { operation: 'runOrder', reason: 'insufficient_funds' }, { ...BY_SYSTEM, count: 3 }),
    ];
    await world.database.pipeline({ workspaces: [WORKSPACE] }, [noteAudit(entries)]);
    await insert([{ ...GOOD, operation: 'x'.repeat(100), userId: 7, requestId: 'é'.repeat(3000) }]);
    await world.owner.query(
      `insert into audit_outbox (workspace_id, entries, created_at) values ($1, '[]', now() - interval '5 minutes')`,
      [WORKSPACE],
    );
    // With the row of the new workspace.
    expect(await unrecorded()).toEqual({ waiting: 4, seconds: expect.closeTo(300, -2) as number });
    while ((await recordAudit(world.database)) > 0);

    const { rows } = await world.owner.query('select outcome, count from audit_event order by id desc limit 3');
    expect(rows).toEqual([
      { outcome: 'done', count: 1 },
      { outcome: 'refused', count: 3 },
      { outcome: 'done', count: 1 },
    ]);
    expect(await unrecorded()).toEqual({ waiting: 0, seconds: 0 });
  });

  it('splits the entries of one statement into rows of a hundred, in their order', async () => {
    const at = (index: number) => ({ resource: { type: 'order', id: index + 1 } });
    const entries = Array.from({ length: 250 }, (_, n) =>
      auditEntry(WORKSPACE, { operation: 'runOrder', ...at(n) }, BY_SYSTEM),
    );
    await world.database.pipeline({ workspaces: [WORKSPACE] }, [noteAudit(entries)]);
    expect(await unrecorded()).toMatchObject({ waiting: 3 });
    while ((await recordAudit(world.database)) > 0);

    const { rows } = await world.owner.query<{ resource: bigint }>(
      'select resource_id as resource from audit_event order by id desc limit 250',
    );
    expect(rows.map(({ resource }) => `${resource}`).reverse()).toEqual(entries.map((_, n) => `${n + 1}`));
  });

  it('gives rows of a workspace that is moved no place of others, and does not count them', async () => {
    await world.owner.query(`
      insert into cell_identity (number, name) values (0, 'home');
      insert into workspace (id, app_id, name) values (2, 1, 'Two');
      insert into cell_workspace (workspace_id, state) values (${WORKSPACE}, 'open'), (2, 'moving');
      delete from audit_outbox;
      insert into audit_outbox (workspace_id, entries) values (2, '[]'), (2, '[]'), (${WORKSPACE}, '[]')`);

    const { rows } = await world.owner.query('select workspaces_to_audit(1)::int as id');
    expect(rows).toEqual([{ id: WORKSPACE }]);
    expect(await unrecorded()).toMatchObject({ waiting: 1 });
  });
});
