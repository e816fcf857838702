import type { WorkspaceId } from '@banking/domain';
import { openAccount } from '@banking/ledger';
import { RULE_VIOLATION, SQLSTATE } from '@banking/postgres';
import { keepRows, reasonOf, sql } from '@banking/postgres/testing';
import { emptyDatabase, type TestDatabase } from '../testing/test-databases.js';
import { noteExport, noteToken } from './audit.js';
import {
  addGrants,
  addUser,
  allUsers,
  bindUser,
  completeUser,
  findUser,
  grantsOf,
  removeGrants,
  removeUser,
  renameUser,
  resumeUser,
  suspendUser,
} from './users.js';
import {
  addApp,
  addWorkspace,
  allApps,
  allWorkspaces,
  removeApp,
  removeWorkspace,
  renameApp,
  renameWorkspace,
} from './workspaces.js';

let world: TestDatabase;
let restore: () => Promise<void>;

beforeAll(async () => {
  world = await emptyDatabase();
  restore = await keepRows(world.owner);
});
afterEach(() => restore());
afterAll(() => world.close());

const db = () => world.provisioning;

const allGrants = async () =>
  grantsOf(
    db(),
    (await allWorkspaces(db())).map(({ id }) => id),
  );

async function trail(): Promise<{ by: string; what: string; record: Record<string, unknown> }[]> {
  const { rows } = await world.owner.query<{ by: string; what: string; record: Record<string, unknown> }>(
    `select concat(changed_by, ' ', coalesce(operating_system_user, 'null')) as by, action || ' ' || relation as what, record from directory_change order by id`,
  );
  return rows;
}

let userId: number;

describe('provisioning', () => {
  const BANK = { app: 'Bank' };
  const ada = { ...BANK, email: 'Ada@Bank.example' };

  /** An app with a workspace and a user who has a role in it. */
  async function bank(): Promise<{ appId: number; workspaceId: number; userId: number; grantId: number }> {
    const appId = await addApp(db(), 'ops', 'Bank');
    const workspaceId = await addWorkspace(db(), 'ops', { ...BANK, name: 'One' });
    const userId = await addUser(db(), 'ops', ada);
    const [grant] = await addGrants(db(), 'ops', { workspaceId, email: ada.email, roles: ['member'] });
    return { appId, workspaceId, userId, grantId: grant!.id };
  }

  describe('the directory of a bank with a user in a workspace', () => {
    it('lists what was added, with the e-mail in lower case', async () => {
      const { appId, workspaceId, userId, grantId } = await bank();
      const createdAt = expect.any(String) as string;

      expect(await allApps(db())).toEqual([{ id: appId, name: 'Bank', users: 1, workspaces: 1, createdAt }]);
      expect(await allWorkspaces(db())).toEqual([
        { id: workspaceId, name: 'One', type: 'business', app: 'Bank', createdAt },
      ]);
      const user = { email: 'ada@bank.example', status: 'completed', userType: 'business', identities: [] };
      expect(await allUsers(db())).toEqual([{ ...user, id: userId, apps: ['Bank'], createdAt }]);
      const grant = { email: 'ada@bank.example', role: 'member', workspaceId, workspace: 'One' };
      expect(await allGrants()).toEqual([{ ...grant, id: grantId, createdAt }]);
    });

    it('adds the roles of a second grant, keeps those that are there, and removes single ones', async () => {
      const { workspaceId, grantId } = await bank();
      const grants = { workspaceId, email: ada.email };

      const added = await addGrants(db(), 'ops', { ...grants, roles: ['admin', 'member'] });

      expect(added.map(({ role }) => role)).toEqual(['member', 'admin']);
      expect(added[0]!.id).toBe(grantId);
      expect(await allGrants()).toEqual(added);
      expect(await removeGrants(db(), 'ops', { ...grants, roles: ['admin', 'viewer'] })).toEqual(['admin']);
      expect(await allGrants()).toMatchObject([{ id: grantId, role: 'member' }]);
      expect(await reasonOf(removeGrants(db(), 'ops', { ...grants, roles: ['admin', 'viewer'] }))).toMatch(
        'has no role admin and no role viewer in workspace',
      );
    });

    it('has one user for two apps', async () => {
      const { userId } = await bank();
      await addApp(db(), 'ops', 'Shop');

      expect(await addUser(db(), 'ops', { email: 'ada@bank.example', app: 'Shop' })).toBe(userId);

      expect(await allUsers(db())).toMatchObject([{ apps: ['Bank', 'Shop'] }]);
    });

    it('reads very many users in pages', async () => {
      const { userId } = await bank();
      await world.owner.query(
        `insert into app_user (email, status, user_type)
         select n || '@bank.example', 'completed', 'business' from generate_series(1, 2000) n`,
      );
      const reading = jest.spyOn(db(), 'pipeline');

      const users = await allUsers(db());

      expect(users[0]).toMatchObject({ id: userId, apps: ['Bank'] });
      expect(users.slice(1).map(({ email }) => email)).toEqual(
        Array.from({ length: 2_000 }, (_, at) => `${at + 1}@bank.example`),
      );
      expect(reading.mock.calls).toHaveLength(3);
      reading.mockRestore();
      expect(await findUser(db(), '2000@Bank.example')).toEqual(users.at(-1));
    });

    it('reads very many grants in pages, of the named workspaces', async () => {
      const { workspaceId, grantId } = await bank();
      const other = await addWorkspace(db(), 'ops', { ...BANK, name: 'Two' });
      await addGrants(db(), 'ops', { workspaceId: other, email: ada.email, roles: ['viewer', 'admin'] });
      await world.owner.query(
        `with added as (
           insert into app_user (email, status, user_type)
           select n || '@bank.example', 'completed', 'business' from generate_series(1, 1000) n returning id),
         joined as (insert into app_membership (app_id, user_id) select a.id, u.id from app a cross join added u)
         insert into workspace_role (workspace_id, user_id, role)
         select ${workspaceId}, u.id, r.role from added u cross join (values ('viewer'), ('approver')) r (role)`,
      );
      const reading = jest.spyOn(db(), 'pipeline');

      const grants = await grantsOf(db(), [workspaceId]);

      expect(reading.mock.calls).toHaveLength(3);
      reading.mockRestore();
      expect(grants[0]).toMatchObject({ id: grantId, workspace: 'One' });
      expect(new Set(grants.map(({ id }) => id)).size).toBe(2_001);
      expect((await grantsOf(db(), [other, workspaceId])).slice(2_000)).toMatchObject([
        { workspace: 'One', email: '1000@bank.example' },
        { workspace: 'Two', role: 'viewer' },
        { workspace: 'Two', role: 'admin' },
      ]);
    });

    it('is empty after everything is removed', async () => {
      const { workspaceId } = await bank();

      await removeGrants(db(), 'ops', { workspaceId, email: ada.email });
      await removeUser(db(), 'ops', ada.email);
      await removeWorkspace(db(), 'ops', workspaceId);
      await removeApp(db(), 'ops', 'Bank');

      expect([await allGrants(), await allUsers(db()), await allWorkspaces(db()), await allApps(db())]).toEqual([
        [],
        [],
        [],
        [],
      ]);
    });

    it('removes membership, subject and role with the user', async () => {
      await bank();
      await addApp(db(), 'ops', 'Shop');
      await addUser(db(), 'ops', {
        email: ada.email,
        app: 'Shop',
        identity: { issuer: 'https://id.example', subject: 's' },
      });

      await removeUser(db(), 'ops', ada.email);

      expect(await allGrants()).toEqual([]);
      const { rows } = await world.owner.query('select from user_identity union all select from app_membership');
      expect(rows).toHaveLength(0);
    });
  });

  describe('a request that cannot be carried out', () => {
    it.each<[string, () => Promise<unknown>, string]>([
      ['an app of a name that is taken', () => addApp(db(), 'ops', 'Bank'), 'There is an app named Bank already.'],
      ['an app that is not there is removed', () => removeApp(db(), 'ops', 'Shop'), 'There is no app named Shop.'],
      ['an app in use is removed', () => removeApp(db(), 'ops', 'Bank'), 'The app Bank still has users or workspaces.'],
      [
        'a user without an e-mail address',
        () => addUser(db(), 'ops', { ...BANK, email: 'ada' }),
        'ada is not an e-mail address in ASCII.',
      ],
      [
        'a user of an app that is not there',
        () => addUser(db(), 'ops', { email: 'b@b.example', app: 'Shop' }),
        'There is no app named Shop.',
      ],
      ['a user who is one already', () => addUser(db(), 'ops', ada), 'ada@bank.example is a user of Bank already'],
      [
        'a user who is not there is removed',
        () => removeUser(db(), 'ops', 'b@b.example'),
        'There is no user b@b.example.',
      ],
      [
        'a workspace of an app that is not there',
        () => addWorkspace(db(), 'ops', { app: 'Shop', name: 'One' }),
        'There is no app named Shop.',
      ],
      [
        'a workspace of a name that is taken',
        () => addWorkspace(db(), 'ops', { ...BANK, name: 'One' }),
        'The app Bank has a workspace named One already.',
      ],
      [
        'a workspace that is not there is removed',
        () => removeWorkspace(db(), 'ops', 999),
        'There is no workspace 999.',
      ],
      [
        'a grant in a workspace that is not there',
        () => addGrants(db(), 'ops', { workspaceId: 999, email: ada.email, roles: ['admin'] }),
        'There is no workspace 999',
      ],
      [
        'a grant that is not there is removed',
        () => removeGrants(db(), 'ops', { workspaceId: 999, email: ada.email }),
        'has no role in workspace 999.',
      ],
    ])('is refused with the reason: %s', async (_what, request, sentence) => {
      await bank();
      const before = await trail();

      expect(await reasonOf(request())).toContain(sentence);

      expect(await trail()).toEqual(before);
    });

    it('is refused for a grant to a user of another app', async () => {
      const { workspaceId } = await bank();
      await addApp(db(), 'ops', 'Shop');
      await addUser(db(), 'ops', { email: 'eve@shop.example', app: 'Shop' });

      const request = addGrants(db(), 'ops', { workspaceId, email: 'eve@shop.example', roles: ['admin'] });

      expect(await reasonOf(request)).toContain('eve@shop.example is not a user of its app');
    });

    it('keeps a workspace with roles or accounts', async () => {
      const { workspaceId } = await bank();
      expect(await reasonOf(removeWorkspace(db(), 'ops', workspaceId))).toContain(
        'still has roles, recipients or accounts',
      );
      await removeGrants(db(), 'ops', { workspaceId, email: ada.email });
      const account = {
        workspaceId,
        id: 1,
        productId: await anyProduct(),
        currencyId: 978,
        name: 'Ada',
        type: 'CACC',
        code: 'A',
      };
      await world.database.pipeline({ workspaces: [workspaceId] }, [openAccount(account)]);

      expect(await reasonOf(removeWorkspace(db(), 'ops', workspaceId))).toContain(
        'still has roles, recipients or accounts',
      );
    });

    it('adds no user with the subject of another one', async () => {
      await bank();
      const identity = { issuer: 'https://id.example', subject: 's' };
      await addUser(db(), 'ops', { ...BANK, email: 'robot@bank.example', identity });

      const request = addUser(db(), 'ops', { ...BANK, email: 'other@bank.example', identity });

      expect(await reasonOf(request)).toContain('that subject is bound to a user');
      expect(await allUsers(db())).toHaveLength(2);
    });
  });

  async function anyProduct(): Promise<number> {
    const { rows } = await world.owner.query<{ id: bigint }>('select id from product where currency_id = 978 limit 1');
    return Number(rows[0]!.id);
  }
});

const login = async () => (await world.owner.query<{ login: string }>('select session_user as login')).rows[0]!.login;

describe('the audit trail of the directory', () => {
  let workspaceId: number;

  beforeEach(async () => {
    await addApp(db(), 'ops', 'Bank');
    workspaceId = await addWorkspace(db(), 'ops', { app: 'Bank', name: 'One' });
    userId = await addUser(db(), 'ops', ada);
    await addGrants(db(), 'ops', { workspaceId, email: ada.email, roles: ['member'] });
  });

  const ada = { app: 'Bank', email: 'ada@bank.example' };

  it('names the login and the actor of each change', async () => {
    await removeUser(db(), 'root', ada.email);

    const lines = (await trail()).map(({ by, what }) => `${by}: ${what}`);

    const name = await login();
    expect(lines.slice(0, 6)).toEqual([
      `${name} ops: insert app`,
      `${name} ops: insert workspace`,
      `${name} ops: insert app_user`,
      `${name} ops: insert app_membership`,
      `${name} ops: insert member`,
      `${name} ops: insert workspace_role`,
    ]);
    expect(lines.slice(6).sort()).toEqual([
      `${name} root: delete app_membership`,
      `${name} root: delete app_user`,
      `${name} root: delete member`,
      `${name} root: delete workspace_role`,
    ]);
    expect((await trail()).find(({ what }) => what === 'insert workspace_role')?.record).toMatchObject({
      workspace_id: workspaceId,
      user_id: userId,
      role: 'member',
    });
  });

  it('names the login of a change by SQL', async () => {
    await world.owner.query(`update app set name = 'Bank of us'`);

    expect((await trail()).at(-1)).toEqual({
      by: `${await login()} null`,
      what: 'update app',
      record: expect.objectContaining({ name: 'Bank of us' }) as object,
    });
  });

  it('has no entry if nothing changes', async () => {
    const before = await trail();

    await db().pipeline({}, [sql('update app_user set updated_at = updated_at')]);

    expect(await trail()).toEqual(before);
  });

  it.each(['database', 'provisioning'] as const)('cannot be edited through %s, nor by its owner', async (role) => {
    await expect(world[role].pipeline({}, [sql('delete from directory_change')])).rejects.toMatchObject({
      code: SQLSTATE.insufficientPrivilege,
    });
    await expect(
      world[role].pipeline({}, [
        sql(`insert into directory_change (changed_by, relation, action, record) values ('x', 'x', 'x', '{}')`),
      ]),
    ).rejects.toMatchObject({ code: SQLSTATE.insufficientPrivilege });
    await expect(world.owner.query(`update directory_change set changed_by = 'forged'`)).rejects.toMatchObject({
      code: RULE_VIOLATION.recordChanged,
    });
  });
});

describe('audit', () => {
  const ROSA = 'rosa';
  let BY_ROSA: object;
  const APP = 'Bank';
  const EMAIL = 'ada@bank.example';
  const ISSUER = 'https://id.example';
  let one: number;
  let two: number;

  beforeEach(async () => {
    BY_ROSA = { type: 'operator', name: await login(), operatingSystemUser: ROSA };
    await addApp(db(), 'setup', APP);
    one = await addWorkspace(db(), 'setup', { app: APP, name: 'One' });
    two = await addWorkspace(db(), 'setup', { app: APP, name: 'Two' });
    await addWorkspace(db(), 'setup', { app: APP, name: 'Three' });
    userId = await addUser(db(), 'setup', { app: APP, email: EMAIL, status: 'pending' });
    for (const workspaceId of [one, two])
      await addGrants(db(), 'setup', { workspaceId, email: EMAIL, roles: ['member'] });
    await world.owner.query(`delete from audit_outbox`);
  });

  interface Noted {
    readonly workspaceId: number;
    readonly operation: string;
    readonly resource: string;
    readonly actor: unknown;
  }

  const byRosa = () => world.database.with({ 'app.operating_system_user': ROSA });

  /** The entries of the outbox in the order in which they were written. */
  async function noted(): Promise<readonly Noted[]> {
    const { rows } = await world.owner.query<Noted>(
      `select workspace_id::int as "workspaceId", e ->> 'operation' as operation,
            concat(e ->> 'resourceType', ' ', e ->> 'resourceId') as resource, e -> 'actor' as actor
     from audit_outbox cross join jsonb_array_elements(entries) e order by id`,
    );
    return rows;
  }

  const inBoth = (operation: string) =>
    [one, two].map((workspaceId) => ({ workspaceId, operation, resource: `user ${userId}`, actor: BY_ROSA }));

  describe('the audit trail of a workspace', () => {
    it('has its new name and the changes of its roles, with both names of the operator', async () => {
      const grant = { workspaceId: one, email: EMAIL };
      await renameWorkspace(db(), ROSA, one, 'First');
      await addGrants(db(), ROSA, { ...grant, roles: ['admin'] });
      await removeGrants(db(), ROSA, grant);
      await addGrants(db(), ROSA, { ...grant, roles: ['member'] });
      const four = await addWorkspace(db(), ROSA, { app: APP, name: 'Four' });

      const ofUser = { workspaceId: one, resource: `user ${userId}`, actor: BY_ROSA };
      expect(await noted()).toEqual([
        { workspaceId: one, operation: 'renameWorkspace', resource: `workspace ${one}`, actor: BY_ROSA },
        { ...ofUser, operation: 'addGrant' },
        { ...ofUser, operation: 'removeGrant' },
        { ...ofUser, operation: 'removeGrant' },
        { ...ofUser, operation: 'addGrant' },
        { workspaceId: four, operation: 'addWorkspace', resource: `workspace ${four}`, actor: BY_ROSA },
      ]);
    });

    it.each<[string, () => Promise<unknown>]>([
      ['completeUser', () => completeUser(db(), ROSA, EMAIL)],
      ['renameUser', () => renameUser(db(), ROSA, EMAIL, 'ada.stone@bank.example')],
      ['bindUser', () => bindUser(db(), ROSA, EMAIL, { issuer: ISSUER, subject: 'ada' })],
      ['removeGrant', () => removeUser(db(), ROSA, EMAIL)],
      ['issueToken', () => noteToken(byRosa(), userId)],
    ])('has %s in each workspace in which the user has a role, and in no other', async (operation, change) => {
      await change();

      expect(await noted()).toEqual(inBoth(operation));
    });

    it('has one entry of a command on a user with two roles', async () => {
      await addGrants(db(), ROSA, { workspaceId: one, email: EMAIL, roles: ['admin', 'viewer'] });
      const before = (await noted()).length;
      await completeUser(db(), ROSA, EMAIL);
      await noteToken(byRosa(), userId);

      expect((await noted()).slice(before)).toEqual([...inBoth('completeUser'), ...inBoth('issueToken')]);
    });

    it('has a suspension and its end', async () => {
      await completeUser(db(), 'setup', EMAIL);
      await suspendUser(db(), ROSA, EMAIL);
      await resumeUser(db(), ROSA, EMAIL);

      expect((await noted()).slice(2)).toEqual([...inBoth('suspendUser'), ...inBoth('resumeUser')]);
    });

    it('has the user whose first sign-in bound a subject', async () => {
      await world.owner.query('select bind_subject($1, $2, $3)', [ISSUER, 'ada', EMAIL]);

      expect((await noted()).map(({ operation, actor }) => ({ operation, actor }))).toEqual(
        [one, two].map(() => ({ operation: 'bindUser', actor: { type: 'user', issuer: ISSUER, subject: 'ada' } })),
      );
    });

    it('has nothing of an app, of a membership, of a removed workspace and of a refused change', async () => {
      await renameApp(db(), ROSA, APP, 'House');
      await addApp(db(), ROSA, 'Shop');
      await addUser(db(), ROSA, { app: 'Shop', email: EMAIL });
      const empty = await addWorkspace(db(), ROSA, { app: 'Shop', name: 'Empty' });
      const before = await noted();
      await removeWorkspace(db(), ROSA, empty);
      await expect(suspendUser(db(), ROSA, EMAIL)).rejects.toThrow('is pending');

      expect(before.map(({ operation }) => operation)).toEqual(['addWorkspace']);
      expect(await noted()).toEqual(before);
    });

    it('has an export with both names of the operator', async () => {
      await noteExport(byRosa(), 'exportBooks', one as WorkspaceId);

      expect(await noted()).toEqual([
        { workspaceId: one, operation: 'exportBooks', resource: `workspace ${one}`, actor: BY_ROSA },
      ]);
    });
  });

  describe('the audit trail of a workspace of several databases', () => {
    beforeEach(async () => {
      await world.owner.query(`
      insert into cell_identity (number, name) values (0, 'home');
      insert into cell (number, name) values (0, 'home'), (1, 'b');
      insert into workspace_place (workspace_id, cell_number) values (${one}, 0), (${two}, 1)`);
    });

    it('has a change of the directory if home serves the workspace', async () => {
      await completeUser(db(), ROSA, EMAIL);
      await noteToken(byRosa(), userId);
      await noteExport(byRosa(), 'exportBooks', two as WorkspaceId);
      await addGrants(db(), ROSA, { workspaceId: two, email: EMAIL, roles: ['admin'] });

      expect((await noted()).map(({ workspaceId, operation }) => [workspaceId, operation])).toEqual([
        [one, 'completeUser'],
        [one, 'issueToken'],
      ]);
    });

    it('has its addition at home, and none in another cell or while it is moved', async () => {
      const four = await addWorkspace(db(), ROSA, { app: APP, name: 'Four' });
      await addWorkspace(db(), ROSA, { app: APP, name: 'Five', cell: 'b' });
      await world.owner.query(`update cell_workspace set state = 'moving' where workspace_id = ${one}`);
      await renameWorkspace(db(), ROSA, one, 'First');

      expect((await noted()).map(({ workspaceId, operation }) => [workspaceId, operation])).toEqual([
        [four, 'addWorkspace'],
      ]);
    });
  });

  describe('the trail of the directory', () => {
    it('has both names of the operator', async () => {
      await renameApp(db(), ROSA, APP, 'House');
      await renameApp(db(), 'setup', 'House', APP);

      const { rows } = await world.owner.query(
        'select changed_by, operating_system_user from directory_change order by id desc limit 2',
      );
      expect(rows).toEqual([
        { changed_by: await login(), operating_system_user: 'setup' },
        { changed_by: await login(), operating_system_user: ROSA },
      ]);
    });
  });
});
