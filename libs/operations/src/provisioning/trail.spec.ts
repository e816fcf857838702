import { addApp, addGrant, addUser, addWorkspace, removeUser } from './index.js';
import { emptyWorld, sql, type World } from '../testing/worlds.js';

let world: World;
let workspaceId: number;
let userId: number;

beforeEach(async () => {
  world = await emptyWorld();
  await addApp(db(), 'ops', 'Bank');
  workspaceId = await addWorkspace(db(), 'ops', { app: 'Bank', name: 'One' });
  userId = await addUser(db(), 'ops', ada);
  await addGrant(db(), 'ops', { workspaceId, email: ada.email, role: 'member' });
});
afterEach(() => world.close());

const db = () => world.provisioning;
const ada = { app: 'Bank', email: 'ada@bank.example' };

async function trail(): Promise<{ by: string; what: string; record: Record<string, unknown> }[]> {
  const { rows } = await world.owner.query<{ by: string; what: string; record: Record<string, unknown> }>(
    `select changed_by as by, action || ' ' || relation as what, record from directory_change order by id`,
  );
  return rows;
}

describe('Given a directory that has been filled', () => {
  it('When the directory is changed by our verbs, Then the trail says who did what', async () => {
    await removeUser(db(), 'root', ada.email);

    const lines = (await trail()).map(({ by, what }) => `${by}: ${what}`);

    expect(lines.slice(0, 5)).toEqual([
      'ops: insert app',
      'ops: insert workspace',
      'ops: insert app_user',
      'ops: insert app_membership',
      'ops: insert workspace_role',
    ]);
    expect(lines.slice(5).sort()).toEqual([
      'root: delete app_membership',
      'root: delete app_user',
      'root: delete workspace_role',
    ]);
    expect((await trail()).find(({ what }) => what === 'insert workspace_role')?.record).toMatchObject({
      workspace_id: workspaceId,
      user_id: userId,
      role: 'member',
    });
  });

  it('When somebody changes it by SQL, Then the trail names their login', async () => {
    await world.owner.query(`update app set name = 'Bank of us'`);

    const { rows } = await world.owner.query<{ login: string }>('select session_user as login');
    expect((await trail()).at(-1)).toEqual({
      by: rows[0]!.login,
      what: 'update app',
      record: expect.objectContaining({ name: 'Bank of us' }) as object,
    });
  });

  it('When nothing changed, Then the trail says nothing', async () => {
    const before = await trail();

    await db().flight({}, [sql('update app_user set updated_at = updated_at')]);

    expect(await trail()).toEqual(before);
  });

  it.each(['database', 'provisioning'] as const)(
    'When the trail is edited through %s, Then there is no right to; nor has its owner one',
    async (role) => {
      await expect(world[role].flight({}, [sql('delete from directory_change')])).rejects.toMatchObject({
        code: '42501',
      });
      await expect(
        world[role].flight({}, [
          sql(`insert into directory_change (changed_by, relation, action, record) values ('x', 'x', 'x', '{}')`),
        ]),
      ).rejects.toMatchObject({ code: '42501' });
      await expect(world.owner.query(`update directory_change set changed_by = 'nobody'`)).rejects.toMatchObject({
        code: 'BK003',
      });
    },
  );
});
