import type { AppId, User, UserId } from '@banking/domain';
import { listAppUsers } from './list-app-users.js';
import { addApp, addGrant, addUser, addWorkspace } from './provisioning/index.js';
import { emptyWorld, wordOf, type World } from './testing/worlds.js';

let world: World;
let bank: AppId;
const ids: Record<string, UserId> = {};
/** Each is the name of a user with that status. */
const WITHOUT_ROLES = ['pending', 'suspended', 'blocked'];

beforeAll(async () => {
  world = await emptyWorld();
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

/** Who is seen, and in which workspaces with which role. */
const seenBy = async (name: string) =>
  Object.fromEntries((await listAppUsers(world.database, ids[name]!, bank)).map(inShort));
const inShort = ({ email, edges }: User) => [
  email.split('@')[0],
  edges.roles?.map(({ role, edges: { workspace } }) => `${role} of ${workspace.name}`),
];

describe('Given an app with two workspaces', () => {
  it('When an admin of one of them asks, Then every user shows with all their roles in it', async () => {
    expect(await seenBy('admin')).toEqual({
      admin: ['admin of Two'],
      member: ['member of One'],
      mate: ['member of One', 'member of Two'],
      stranger: ['member of Two'],
      loner: [],
      ...Object.fromEntries(WITHOUT_ROLES.map((status) => [status, []])),
    });
  });

  it('When a member asks, Then they see those they share a workspace with, with the shared roles only', async () => {
    expect(await seenBy('member')).toEqual({ member: ['member of One'], mate: ['member of One'] });
  });

  it('When a user without a role asks, Then they see themselves', async () => {
    expect(await seenBy('loner')).toEqual({ loner: [] });
  });

  it.each(WITHOUT_ROLES)('When a user asks whose status is %s, Then their grants show them nothing', async (status) => {
    expect(await seenBy(status)).toEqual({ [status]: [] });
  });

  it('When an admin of another app asks who belongs to this one too, Then that role counts for nothing here', async () => {
    expect(await seenBy('mate')).toEqual({
      mate: ['member of One', 'member of Two'],
      member: ['member of One'],
      admin: ['admin of Two'],
      stranger: ['member of Two'],
    });
  });

  it('When somebody asks who does not belong to it, Then there is no such app', async () => {
    const ask = (actor: UserId, appId: AppId) => wordOf(listAppUsers(world.database, actor, appId));

    expect(await ask(ids['outsider']!, bank)).toBe('app_not_found');
    expect(await ask(ids['admin']!, 999_999 as AppId)).toBe('app_not_found');
    expect(await ask(999_999 as UserId, bank)).toBe('app_not_found');
  });
});
