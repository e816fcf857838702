import type { AppId, User, UserId } from '@banking/domain';
import { listAppUsers } from './list-app-users.js';
import { addApp, addGrant, addUser, addWorkspace } from '../provisioning/index.js';
import { reasonOf } from '@banking/postgres/testing';
import { emptyDatabase, type TestDatabase } from '../testing/test-databases.js';

let world: TestDatabase;
let bank: AppId;
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
  for (const name of ['admin', 'member', 'mate', 'stranger', 'loner']) await user(name);
  for (const status of WITHOUT_ROLES) await user(status, 'Bank', status);
  await user('outsider', 'Elsewhere');
  await user('mate', 'Elsewhere');
  const [one, two] = [
    await addWorkspace(provisioning, 'spec', { app: 'Bank', name: 'One' }),
    await addWorkspace(provisioning, 'spec', { app: 'Bank', name: 'Two' }),
  ];
  const far = await addWorkspace(provisioning, 'spec', { app: 'Elsewhere', name: 'Far' });
  const grant = (name: string, workspaceId: number, role: 'member' | 'admin' = 'member') =>
    addGrant(provisioning, 'spec', { workspaceId, email: `${name}@bank.example`, role });
  await grant('admin', two, 'admin');
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
  Object.fromEntries((await listAppUsers(world.database, ids[name]!, bank)).map(inShort));
const inShort = ({ email, edges }: User) => [
  email.split('@')[0],
  edges.roles?.map(({ role, edges: { workspace } }) => `${role} of ${workspace.name}`),
];

describe('the list of an app’s users', () => {
  it('shows an admin of one workspace all users with all roles in the app', async () => {
    expect(await seenBy('admin')).toEqual({
      admin: ['admin of Two'],
      member: ['member of One'],
      mate: ['member of One', 'member of Two'],
      stranger: ['member of Two'],
      loner: [],
      ...Object.fromEntries(WITHOUT_ROLES.map((status) => [status, []])),
    });
  });

  it('shows a member the users and roles of shared workspaces', async () => {
    expect(await seenBy('member')).toEqual({ member: ['member of One'], mate: ['member of One'] });
  });

  it('shows a user without a role the user alone', async () => {
    expect(await seenBy('loner')).toEqual({ loner: [] });
  });

  it.each(WITHOUT_ROLES)('ignores the grants of a user whose status is %s', async (status) => {
    expect(await seenBy(status)).toEqual({ [status]: [] });
  });

  it('ignores the roles of an actor in another app', async () => {
    expect(await seenBy('mate')).toEqual({
      mate: ['member of One', 'member of Two'],
      member: ['member of One'],
      admin: ['admin of Two'],
      stranger: ['member of Two'],
    });
  });

  it('is not found by a user of another app', async () => {
    const ask = (actor: UserId, appId: AppId) => reasonOf(listAppUsers(world.database, actor, appId));

    expect(await ask(ids['outsider']!, bank)).toBe('app_not_found');
    expect(await ask(ids['admin']!, 999_999 as AppId)).toBe('app_not_found');
    expect(await ask(999_999 as UserId, bank)).toBe('app_not_found');
  });
});
