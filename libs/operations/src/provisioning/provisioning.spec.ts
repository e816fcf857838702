import { openAccount } from '@banking/ledger';
import { addApp, addWorkspace, allApps, allWorkspaces, removeApp, removeWorkspace } from './workspaces.js';
import { addGrant, addUser, allGrants, allUsers, removeGrant, removeUser } from './users.js';
import { emptyDatabase, type TestDatabase } from '../testing/test-databases.js';
import { reasonOf } from '@banking/postgres/testing';

let world: TestDatabase;

beforeEach(async () => {
  world = await emptyDatabase();
});
afterEach(() => world.close());

const db = () => world.provisioning;
const BANK = { app: 'Bank' };
const ada = { ...BANK, email: 'Ada@Bank.example' };

/** An app with a workspace and a user who has a role in it. */
async function bank(): Promise<{ appId: number; workspaceId: number; userId: number; grantId: number }> {
  const appId = await addApp(db(), 'ops', 'Bank');
  const workspaceId = await addWorkspace(db(), 'ops', { ...BANK, name: 'One' });
  const userId = await addUser(db(), 'ops', ada);
  const grantId = await addGrant(db(), 'ops', { workspaceId, email: ada.email, role: 'member' });
  return { appId, workspaceId, userId, grantId };
}

async function trail(): Promise<{ by: string; what: string; record: Record<string, unknown> }[]> {
  const { rows } = await world.owner.query<{ by: string; what: string; record: Record<string, unknown> }>(
    `select changed_by as by, action || ' ' || relation as what, record from directory_change order by id`,
  );
  return rows;
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
    expect(await allGrants(db())).toEqual([{ ...grant, id: grantId, createdAt }]);
  });

  it('replaces the role by a second grant', async () => {
    const { workspaceId, grantId } = await bank();

    expect(await addGrant(db(), 'ops', { workspaceId, email: ada.email, role: 'admin' })).toBe(grantId);

    expect(await allGrants(db())).toMatchObject([{ role: 'admin' }]);
  });

  it('has one user for two apps', async () => {
    const { userId } = await bank();
    await addApp(db(), 'ops', 'Shop');

    expect(await addUser(db(), 'ops', { email: 'ada@bank.example', app: 'Shop' })).toBe(userId);

    expect(await allUsers(db())).toMatchObject([{ apps: ['Bank', 'Shop'] }]);
  });

  it('is empty after everything is removed', async () => {
    const { workspaceId } = await bank();

    await removeGrant(db(), 'ops', { workspaceId, email: ada.email });
    await removeUser(db(), 'ops', ada.email);
    await removeWorkspace(db(), 'ops', workspaceId);
    await removeApp(db(), 'ops', 'Bank');

    expect([await allGrants(db()), await allUsers(db()), await allWorkspaces(db()), await allApps(db())]).toEqual([
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

    expect(await allGrants(db())).toEqual([]);
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
    ['a workspace that is not there is removed', () => removeWorkspace(db(), 'ops', 999), 'There is no workspace 999.'],
    [
      'a grant in a workspace that is not there',
      () => addGrant(db(), 'ops', { workspaceId: 999, email: ada.email, role: 'admin' }),
      'There is no workspace 999',
    ],
    [
      'a grant that is not there is removed',
      () => removeGrant(db(), 'ops', { workspaceId: 999, email: ada.email }),
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

    const request = addGrant(db(), 'ops', { workspaceId, email: 'eve@shop.example', role: 'admin' });

    expect(await reasonOf(request)).toContain('eve@shop.example is not a user of its app');
  });

  it('keeps a workspace with roles or accounts', async () => {
    const { workspaceId } = await bank();
    expect(await reasonOf(removeWorkspace(db(), 'ops', workspaceId))).toContain(
      'still has roles, recipients or accounts',
    );
    await removeGrant(db(), 'ops', { workspaceId, email: ada.email });
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
