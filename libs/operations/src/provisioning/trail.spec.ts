import { RULE_VIOLATION, SQLSTATE } from '@banking/postgres';
import { addApp, addWorkspace } from './workspaces.js';
import { addGrant, addUser, removeUser } from './users.js';
import { emptyDatabase, type TestDatabase } from '../testing/test-databases.js';
import { sql } from '@banking/postgres/testing';

let world: TestDatabase;
let workspaceId: number;
let userId: number;

beforeEach(async () => {
  world = await emptyDatabase();
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

describe('the audit trail of the directory', () => {
  it('names the actor of each change', async () => {
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

  it('names the login of a change by SQL', async () => {
    await world.owner.query(`update app set name = 'Bank of us'`);

    const { rows } = await world.owner.query<{ login: string }>('select session_user as login');
    expect((await trail()).at(-1)).toEqual({
      by: rows[0]!.login,
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
