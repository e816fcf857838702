import { openAccount } from '@banking/ledger';
import { addApp, addGrant, addUser, addWorkspace, allApps, allGrants, allUsers, allWorkspaces, removeApp, removeGrant, removeUser, removeWorkspace } from './index.js'; // prettier-ignore
import { emptyWorld, wordOf, type World } from '../testing/worlds.js';

let world: World;

beforeEach(async () => {
  world = await emptyWorld();
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

describe('Given a bank with a user in a workspace', () => {
  it('When everything is listed, Then it is as it was added, the e-mail case-folded', async () => {
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

  it('When the user is granted another role, Then it replaces the first', async () => {
    const { workspaceId, grantId } = await bank();

    expect(await addGrant(db(), 'ops', { workspaceId, email: ada.email, role: 'admin' })).toBe(grantId);

    expect(await allGrants(db())).toMatchObject([{ role: 'admin' }]);
  });

  it('When the user joins another app, Then they are the same user', async () => {
    const { userId } = await bank();
    await addApp(db(), 'ops', 'Shop');

    expect(await addUser(db(), 'ops', { email: 'ada@bank.example', app: 'Shop' })).toBe(userId);

    expect(await allUsers(db())).toMatchObject([{ apps: ['Bank', 'Shop'] }]);
  });

  it('When all is removed from the leaves up, Then nothing is left', async () => {
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

  it('When the user is removed, Then membership, subject and role go with them', async () => {
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

describe('Given a wish that cannot be fulfilled', () => {
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
  ])('When it is %s, Then the sentence says why', async (_what, wish, sentence) => {
    await bank();
    const before = await trail();

    expect(await wordOf(wish())).toContain(sentence);

    expect(await trail()).toEqual(before);
  });

  it('When a user of another app is granted a role, Then they are not one of its users', async () => {
    const { workspaceId } = await bank();
    await addApp(db(), 'ops', 'Shop');
    await addUser(db(), 'ops', { email: 'eve@shop.example', app: 'Shop' });

    const wish = addGrant(db(), 'ops', { workspaceId, email: 'eve@shop.example', role: 'admin' });

    expect(await wordOf(wish)).toContain('eve@shop.example is not a user of its app');
  });

  it('When a workspace with roles or with books is removed, Then it stays', async () => {
    const { workspaceId } = await bank();
    expect(await wordOf(removeWorkspace(db(), 'ops', workspaceId))).toContain(
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
    await world.database.flight({ workspaces: [workspaceId] }, [openAccount(account)]);

    expect(await wordOf(removeWorkspace(db(), 'ops', workspaceId))).toContain(
      'still has roles, recipients or accounts',
    );
  });

  it('When a subject is bound already, Then another user cannot have it, and is not added', async () => {
    await bank();
    const identity = { issuer: 'https://id.example', subject: 's' };
    await addUser(db(), 'ops', { ...BANK, email: 'robot@bank.example', identity });

    const wish = addUser(db(), 'ops', { ...BANK, email: 'other@bank.example', identity });

    expect(await wordOf(wish)).toContain('that subject is bound to a user');
    expect(await allUsers(db())).toHaveLength(2);
  });
});

async function anyProduct(): Promise<number> {
  const { rows } = await world.owner.query<{ id: bigint }>('select id from product where currency_id = 978 limit 1');
  return Number(rows[0]!.id);
}
