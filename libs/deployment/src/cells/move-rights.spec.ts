import type { WorkspaceId } from '@banking/domain';
import { type AdminSession, withAdminSession } from '@banking/postgres';
import { reasonOf, until } from '@banking/postgres/testing';
import { addWorkspaces, type CellProcess, payerOf, startProcess } from '../testing/cell-world.js';
import { type MoveWorld, moveWorld } from '../testing/move-world.js';
import { unpublish, unsubscribe } from './move-replication.js';
import { abandonMove, moveWorkspace } from './move-workspace.js';
import { archiveWorkspace } from './remove-rows.js';

let world: MoveWorld;
let process: CellProcess;
let workspaceId: WorkspaceId;
let other: WorkspaceId;

beforeAll(async () => {
  world = await moveWorld(true);
  process = await startProcess(world);
  const ids = await addWorkspaces(world, ['home main', 'home other']);
  [workspaceId, other] = [ids.get('home main')!, ids.get('home other')!];
  await (await payerOf(process, workspaceId)).pay();
});
afterAll(async () => {
  await process?.close();
  await world?.close();
});

const codes = async (cell: string) =>
  (await world.query<{ code: string }>(cell, 'select code from account_code order by code')).map(({ code }) => code);

describe('an owner login with the documented rights only, which row-level security binds', () => {
  it('does not move a workspace whose roles the copy of the directory lacks', async () => {
    await world.query('b', 'alter subscription banking_directory disable');
    await world.query('home', `delete from workspace_role where workspace_id = ${workspaceId} and role = 'member'`);

    expect(await reasonOf(moveWorkspace({ ...world.command(workspaceId), to: 'b' }))).toMatch(
      /^The cells "home" and "b" differ in the roles of workspace/,
    );

    await world.query('b', 'alter subscription banking_directory enable');
    const roles = `select from workspace_role where workspace_id = ${workspaceId}`;
    await until(async () => (await world.query('b', roles)).length === 1);
  });

  it('moves a workspace from home, with all that leaves home', async () => {
    await world.query('home', 'select record_changes(1000)');
    const [rows, accounts] = [await world.rowsOf('home', workspaceId), await codes('home')];
    expect(accounts).toHaveLength(2);

    await moveWorkspace({ ...world.command(workspaceId), to: 'b' });

    expect({ ...(await world.rowsOf('b', workspaceId)), move_mark: [] }).toEqual({ ...rows, move_mark: [] });
    expect([await codes('home'), await codes('b')]).toEqual([[], accounts]);
    expect([await world.leftovers('home'), await world.leftovers('b')]).toEqual([[`gone ${workspaceId}`], []]);
  });

  it('waits for the end of a receiver that it may not end', async () => {
    const command = world.command(other);
    const cells = { workspaceId: other, source: 'home', target: 'b' };
    const stopped = (step: string) => {
      if (step === 'follow') throw new Error('stopped');
    };
    expect(await reasonOf(moveWorkspace({ ...command, to: 'b', onStep: stopped }))).toBe('stopped');
    const active = `select from pg_replication_slots where active and slot_name like '%banking_move_${other}'`;
    await until(async () => (await world.query('home', active)).length > 0);

    await withAdminSession(command.connectionOf('home'), (source) =>
      withAdminSession(command.connectionOf('b'), async (target) => {
        /** The receiver ends after the first attempt to end it. */
        const query: AdminSession['query'] = (text, values) =>
          source.query<never>(text, values).catch(async (error: unknown) => {
            await unsubscribe(target, cells);
            throw error;
          });
        await unpublish({ ...source, query }, cells);
      }),
    );

    await abandonMove(command);
    expect([await world.leftovers('home'), await world.leftovers('b')]).toEqual([[`gone ${workspaceId}`], []]);
  });

  it('is refused where it would remove no row of those that it may not see, with the rights that it lacks', async () => {
    await world.query('home', 'grant banking_owner to migrator with inherit true');
    await world.query('home', 'grant set on parameter session_replication_role to migrator');
    const refused = 'The login migrator of the cell "home" may not remove rows. Let an administrator run there:';
    expect(await reasonOf(archiveWorkspace(world.command(workspaceId)))).toBe(
      `${refused} alter role migrator bypassrls;`,
    );
    expect(await world.leftovers('home')).toEqual([`gone ${workspaceId}`]);

    await world.query('home', 'grant banking_owner to migrator with inherit false');
    await world.query('home', 'revoke set on parameter session_replication_role from migrator');
    const message = await reasonOf(archiveWorkspace(world.command(workspaceId)));
    expect(message).toBe(
      `${refused} alter role migrator bypassrls; grant banking_owner to migrator with inherit true; ` +
        'grant set on parameter session_replication_role to migrator;',
    );

    await world.query('home', message!.slice(refused.length));
    await archiveWorkspace(world.command(workspaceId));

    expect(Object.values(await world.rowsOf('home', workspaceId)).flat()).toEqual([]);
    expect(await world.leftovers('home')).toEqual([]);
  });
});
