import type { AppId, User, UserId } from '@banking/domain';
import { AppUsers } from './directory.js';
import { addApp, addGrants, addUser, addWorkspace, removeWorkspace } from '../provisioning/index.js';
import { reasonOf } from '@banking/postgres/testing';
import { Explaining, sentBy } from '../testing/aged-workspaces.js';
import { emptyDatabase, type TestDatabase } from '../testing/test-databases.js';

let world: TestDatabase;
let bank: AppId;
let two: number;
const ids: Record<string, UserId> = {};
/** Statuses, each also the name of a user with that status. */
const WITHOUT_ROLES = ['pending', 'suspended', 'blocked'];

beforeAll(async () => {
  world = await emptyDatabase();
  const { provisioning } = world;
  bank = (await addApp(provisioning, 'spec', 'Bank')) as AppId;
  await addApp(provisioning, 'spec', 'Elsewhere');
  const user = async (name: string, app = 'Bank', status = 'completed') => {
    ids[name] = (await addUser(provisioning, 'spec', { email: `${name}@bank.example`, app, status })) as UserId;
  };
  for (const name of ['admin', 'head', 'member', 'mate', 'stranger', 'loner']) await user(name);
  for (const status of WITHOUT_ROLES) await user(status, 'Bank', status);
  await user('outsider', 'Elsewhere');
  await user('mate', 'Elsewhere');
  const one = await addWorkspace(provisioning, 'spec', { app: 'Bank', name: 'One' });
  two = await addWorkspace(provisioning, 'spec', { app: 'Bank', name: 'Two' });
  const far = await addWorkspace(provisioning, 'spec', { app: 'Elsewhere', name: 'Far' });
  const grant = (name: string, workspaceId: number, role: 'member' | 'admin' = 'member') =>
    addGrants(provisioning, 'spec', { workspaceId, email: `${name}@bank.example`, roles: [role] });
  for (const workspaceId of [one, two]) await grant('admin', workspaceId, 'admin');
  await grant('head', two, 'admin');
  await grant('member', one);
  await grant('mate', one);
  await grant('mate', two);
  await grant('mate', far, 'admin');
  await grant('stranger', two);
  for (const status of WITHOUT_ROLES) await grant(status, one, 'admin');
});
afterAll(() => world.close());

/** The visible users, with their workspaces and roles. */
const seenBy = async (name: string) =>
  Object.fromEntries((await new AppUsers(world.database).list(ids[name]!, bank)).map(inShort));
const inShort = ({ email, edges }: User) => [
  email.split('@')[0],
  edges.roles?.map(({ role, edges: { workspace } }) => `${role} of ${workspace.name}`),
];

describe('the list of an app’s users', () => {
  it('shows an admin of every workspace all users with all roles in the app', async () => {
    expect(await seenBy('admin')).toEqual({
      admin: ['admin of One', 'admin of Two'],
      head: ['admin of Two'],
      member: ['member of One'],
      mate: ['member of One', 'member of Two'],
      stranger: ['member of Two'],
      loner: [],
      ...Object.fromEntries(WITHOUT_ROLES.map((status) => [status, []])),
    });
  });

  it('shows a member the users and roles of shared workspaces', async () => {
    expect(await seenBy('member')).toEqual({
      admin: ['admin of One'],
      member: ['member of One'],
      mate: ['member of One'],
    });
  });

  it('shows an admin of one workspace the users and roles of that workspace', async () => {
    expect(await seenBy('head')).toEqual({
      admin: ['admin of Two'],
      head: ['admin of Two'],
      mate: ['member of Two'],
      stranger: ['member of Two'],
    });
  });

  it('shows a user without a role the user alone', async () => {
    expect(await seenBy('loner')).toEqual({ loner: [] });
  });

  it('is empty for a user without a role who is removed meanwhile', async () => {
    const email = 'leaver@bank.example';
    const leaver = (await addUser(world.provisioning, 'spec', { email, app: 'Bank', status: 'completed' })) as UserId;
    const read = world.database.read.bind(world.database);
    const reading = jest.spyOn(world.database, 'read').mockImplementationOnce(async (scope, statement) => {
      const rights = await read(scope, statement);
      await world.owner.query('delete from app_membership where user_id = $1', [leaver]);
      await world.owner.query('delete from app_user where id = $1', [leaver]);
      return rights;
    });

    expect(await new AppUsers(world.database).list(leaver, bank)).toEqual([]);

    expect(reading).toHaveBeenCalledTimes(1);
    reading.mockRestore();
  });

  it.each(WITHOUT_ROLES)('ignores the grants of a user whose status is %s', async (status) => {
    expect(await seenBy(status)).toEqual({ [status]: [] });
  });

  it('ignores the roles of an actor in another app', async () => {
    expect(await seenBy('mate')).toEqual({
      mate: ['member of One', 'member of Two'],
      member: ['member of One'],
      admin: ['admin of One', 'admin of Two'],
      head: ['admin of Two'],
      stranger: ['member of Two'],
    });
  });

  it('is not found by a user of another app', async () => {
    const ask = (actor: UserId, appId: AppId) => reasonOf(new AppUsers(world.database).list(actor, appId));

    expect(await ask(ids['outsider']!, bank)).toBe('app_not_found');
    expect(await ask(ids['admin']!, 999_999 as AppId)).toBe('app_not_found');
    expect(await ask(999_999 as UserId, bank)).toBe('app_not_found');
  });
});

describe('the JSON of a list', () => {
  it('escapes names and statuses that an operator chose', async () => {
    const written = 'a "b" \\ c{},é';
    const email = "odd!#$%&'*+-/=?^_`{|}~@bank.example";
    const user = (await addUser(world.provisioning, 'spec', { email, app: 'Bank', status: 'completed' })) as UserId;
    const workspaceId = await addWorkspace(world.provisioning, 'spec', { app: 'Bank', name: 'Odd' });
    await addGrants(world.provisioning, 'spec', { workspaceId, email, roles: ['member'] });
    await world.owner.query('update workspace set name = $2 where id = $1', [workspaceId, written]);

    const [listed] = await new AppUsers(world.database).list(user, bank);
    await world.owner.query('update app_user set status = $2 where id = $1', [user, written]);
    const [alone] = await new AppUsers(world.database).list(user, bank);

    expect(listed).toMatchObject({ email, edges: { roles: [{ edges: { workspace: { name: written } } }] } });
    expect(alone).toMatchObject({ email, status: written, edges: { roles: [] } });
    await world.owner.query('delete from workspace_role where user_id = $1', [user]);
    await world.owner.query('delete from app_user where id = $1', [user]);
    await removeWorkspace(world.provisioning, 'spec', workspaceId);
  });
});

describe('concurrent lists of an app’s users', () => {
  afterEach(() => jest.restoreAllMocks());

  it('share what is read within a second among callers who see the same, and no others', async () => {
    const callers = ['member', 'member', 'mate', 'mate', 'admin', 'loner'];
    const apart: (readonly User[])[] = [];
    for (const name of callers) apart.push(await new AppUsers(world.database).list(ids[name]!, bank));
    let nowMs = 0;
    const users = new AppUsers(world.database, () => nowMs);
    const listed = (names: readonly string[]) => Promise.all(names.map((name) => users.list(ids[name]!, bank)));
    const readsOf = async (work: () => Promise<unknown>) =>
      (await sentBy(world.database, work))
        .map(({ statement }) => statement.name)
        .filter((name) => /^parts|^read_app/.test(name));

    const first = await readsOf(async () => expect(await listed(callers)).toEqual(apart));
    nowMs = 999;
    const second = await readsOf(() => listed(callers));
    nowMs = 1_001;
    const third = await readsOf(() => listed(['member']));

    expect(first.sort()).toEqual([
      'parts_of_app_users',
      'parts_of_workspace_users',
      'parts_of_workspace_users',
      ...Array<string>(3).fill('read_app_users'),
    ]);
    expect(second).toEqual([]);
    expect(third.sort()).toEqual(['parts_of_workspace_users', 'read_app_users']);
  });
});

// Last, because it adds users.
describe('in an app of 2,000 more users', () => {
  let explaining: Explaining;
  beforeAll(async () => {
    await world.owner.query(
      `with added as (insert into app_user (email) select 'more' || n || '@bank.example' from generate_series(1, 2000) n returning id),
            joined as (insert into app_membership (app_id, user_id) select ${bank}, id from added)
       insert into workspace_role (workspace_id, user_id, role) select ${two}, id, 'member' from added`,
    );
    await world.owner.query('analyze app_user, app_membership, workspace, workspace_role');
    explaining = await Explaining.open(world);
  });
  afterAll(() => explaining?.close());

  /** The rows that all reads of a caller's list touch. */
  const rowsReadBy = async (name: string) => {
    const sent = await sentBy(world.database, () => new AppUsers(world.database).list(ids[name]!, bank));
    const scope = sent.find(({ statement }) => statement.name === 'show_roles_of_app')!;
    let rows = 0;
    for (const read of sent.filter((one) => one.statement !== scope.statement))
      rows += (await explaining.explain(two, scope, read)).rows;
    return rows;
  };

  it('reads only the rows of the caller’s workspaces', async () => {
    expect(await rowsReadBy('member')).toBeLessThan(200);
    expect(await rowsReadBy('mate')).toBeGreaterThan(2_000);
  });

  it('is read in parts of 500 users, all users once and in order', async () => {
    const sizes: number[] = [];
    const read: number[] = [];
    for await (const text of new AppUsers(world.database).textsOf(ids['admin']!, bank)) {
      const part = JSON.parse(`[${text}]`) as User[];
      sizes.push(part.length);
      read.push(...part.map(({ id }) => id));
    }

    expect(sizes).toEqual([500, 500, 500, 500, 9]);
    expect(read).toEqual([...new Set(read)].sort((a, b) => a - b));
    expect((await new AppUsers(world.database).list(ids['mate']!, bank)).length).toBe(2_005);
  });

  it.each([
    { asked: 1, read: 1 },
    { asked: 2, read: 3 },
    { asked: 3, read: 4 },
    { asked: 5, read: 5 },
  ])(
    'reads $read parts for a caller who asks for $asked: the next one beside the second and later ones',
    async ({ asked, read }) => {
      const sent = await sentBy(world.database, async () => {
        const texts = new AppUsers(world.database).textsOf(ids['admin']!, bank);
        for (let part = 0; part < asked; part++) expect((await texts.next()).done).toBe(false);
        await texts.return();
      });

      expect(sent.filter(({ statement }) => statement.name === 'read_app_users')).toHaveLength(read);
    },
  );

  it('fails with a part that was read ahead when that is asked for', async () => {
    const { database } = world;
    const pipeline = database.pipeline.bind(database) as (...args: unknown[]) => Promise<unknown>;
    let reads = 0;
    const reading = jest.spyOn(database, 'pipeline').mockImplementation((async (
      scope: unknown,
      statements: readonly { readonly statement: { readonly name: string } }[],
    ) => {
      if (statements.at(-1)?.statement.name === 'read_app_users' && ++reads === 3) throw new Error('away');
      return pipeline(scope, statements);
    }) as never);
    const texts = new AppUsers(database).textsOf(ids['admin']!, bank);

    for (let part = 0; part < 2; part += 1) expect((await texts.next()).done).toBe(false);
    expect(reads).toBe(3);
    await expect(texts.next()).rejects.toThrow('away');
    reading.mockRestore();
  });
});
