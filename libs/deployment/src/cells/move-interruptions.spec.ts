import type { WorkspaceId } from '@banking/domain';
import { verifyBooks } from '@banking/ledger';
import { administer, sql, testOrProve } from '@banking/postgres/testing';
import { addWorkspaces, type CellProcess, payerOf, startProcess } from '../testing/cell-world.js';
import { type MoveWorld, moveWorld } from '../testing/move-world.js';
import { archiveWorkspace } from './remove-rows.js';
import { abandonMove, type MoveOptions, moveWorkspace } from './move-workspace.js';

let world: MoveWorld;
let process: CellProcess;
let workspaceId: WorkspaceId;
let payer: Awaited<ReturnType<typeof payerOf>>;
/** Where the workspace is, and where it is not. */
let [here, there] = ['home', 'b'];

beforeAll(async () => {
  world = await moveWorld();
  process = await startProcess(world);
  workspaceId = (await addWorkspaces(world, ['home'])).get('home')!;
  payer = await payerOf(process, workspaceId);
});
afterAll(async () => {
  await process?.close();
  await world?.close();
});

type Part = Parameters<NonNullable<MoveOptions['onStep']>>[0] | Parameters<NonNullable<MoveOptions['onClosed']>>[0];

/** Runs the command until a part of the move, and kills it there. */
async function killAt(part: Part, hook: 'onStep' | 'onClosed'): Promise<void> {
  let isKilled = false;
  const kill = async (reached: Part) => {
    if (reached !== part) return;
    await world.killCommands();
    isKilled = true;
  };
  await expect(moveWorkspace({ ...world.command(workspaceId), to: there, [hook]: kill })).rejects.toThrow(
    /^The connection to a cell was lost\. Run the command again/,
  );
  expect(isKilled).toBe(true);
}

const states = async (): Promise<Record<string, string>> => {
  const states: Record<string, string> = {};
  for (const cell of world.names) {
    const text = `select state from cell_workspace where workspace_id = ${workspaceId}`;
    states[cell] = (await world.query<{ state: string }>(cell, text))[0]?.state ?? 'none';
  }
  return states;
};

/** The workspace is at its place and does its work, and the other database has nothing of it but closed rows. */
async function expectServed(cell: string, other: string): Promise<void> {
  const before = await payer.balance();
  await payer.pay();
  expect(await payer.balance()).toBe(before - 100n);
  expect((await states())[cell]).toBe('open');
  expect((await states())[other]).not.toBe('open');
  const number = cell === 'home' ? 0 : 1;
  const { database } = process.cells.get(number);
  await expect(
    process.cells.get(1 - number).database.read({ workspaces: [workspaceId] }, sql('select 1')),
  ).rejects.toThrow();
  expect((await verifyBooks(database, [workspaceId])).findings).toEqual([]);
}

/** Continues a move, archives what is left, and expects the workspace at its new place. */
async function finish(): Promise<void> {
  await moveWorkspace({ ...world.command(workspaceId), to: there });
  await expectServed(there, here);
  await archiveWorkspace(world.command(workspaceId));
  [here, there] = [there, here];
}

type Place = readonly [Part, 'onStep' | 'onClosed'];
const STEPS: readonly Place[] = [
  ['prepare', 'onStep'],
  ['follow', 'onStep'],
  ['close', 'onStep'],
  ['closed', 'onClosed'],
  ['followed', 'onClosed'],
  ['proved', 'onClosed'],
];
const AFTER_SWITCH: readonly Place[] = [
  ['switched', 'onClosed'],
  ['switched', 'onStep'],
];
/** All of them take half a minute. */
const some = (places: readonly Place[], parts: readonly Part[]) =>
  testOrProve(
    places.filter(([part, hook]) => parts.includes(part) && hook === 'onClosed'),
    places,
  );

describe('a move that is killed', () => {
  it.each([...some(STEPS, ['followed']), ...testOrProve<readonly Place[]>([], AFTER_SWITCH)])(
    'at %s (%s) is continued by the same command',
    async (part, hook) => {
      await killAt(part, hook);
      expect(Object.values(await states()).filter((state) => state === 'open').length).toBeLessThanOrEqual(1);

      await finish();
      for (const cell of world.names) expect(await world.leftovers(cell)).toEqual([]);
    },
  );

  it.each(some(STEPS, ['closed']))('at %s (%s) is abandoned without a trace', async (part, hook) => {
    await killAt(part, hook);

    await abandonMove(world.command(workspaceId));

    await expectServed(here, there);
    expect(Object.values(await world.rowsOf(there, workspaceId)).flat()).toEqual([]);
    for (const cell of world.names) expect(await world.leftovers(cell)).toEqual([]);
    expect(await world.query('home', `select from workspace_move where step <> 'done'`)).toEqual([]);
  });

  it('at home alone, before it closes the workspace, cannot close it behind the command that abandons the move', async () => {
    const loseHome = async (step: Part) => {
      if (step !== 'close') return;
      // The connection to home that has the lock of the move; the others work in the cells.
      await world.query(
        'home',
        `select pg_terminate_backend(a.pid) from pg_stat_activity a join pg_locks l on l.pid = a.pid and l.locktype = 'advisory'
         where a.application_name = 'banking-admin' and (l.classid::bigint << 32 | l.objid::bigint) < -6e18
           and (l.classid::bigint << 32 | l.objid::bigint) > -7e18`,
      );
      await abandonMove(world.command(workspaceId));
    };

    await expect(moveWorkspace({ ...world.command(workspaceId), to: there, onStep: loseHome })).rejects.toThrow();

    await expectServed(here, there);
    for (const cell of world.names) expect(await world.leftovers(cell)).toEqual([]);
  });

  it.each(some(AFTER_SWITCH, ['switched']))('at %s (%s) is not abandoned, and is continued', async (part, hook) => {
    await killAt(part, hook);

    await expect(abandonMove(world.command(workspaceId))).rejects.toThrow(
      /is in the cell "\w+" already\. Finish the move/,
    );

    await finish();
  });
});

describe('a move whose workspace cannot be closed in time', () => {
  it('leaves it open, and continues later', async () => {
    const { database } = process.cells.get(here === 'home' ? 0 : 1);
    let end = () => undefined as void;
    const ended = new Promise<void>((resolve) => (end = resolve));
    const scope = database.transaction({ workspaces: [workspaceId] }, async (tx) => {
      // Else PostgreSQL ends the session after ten seconds, and on a busy machine before the last attempt to close.
      await tx.pipeline([sql(`select set_config('idle_in_transaction_session_timeout', '0', true)`)]);
      await ended;
    });

    const moving = moveWorkspace({ ...world.command(workspaceId), to: there, windowMs: 50 });
    const refused = await moving.then(String, String).finally(end);
    await scope;
    expect(refused).toMatch(/could not be switched within 50 ms: the sessions with the process ids \d+ still work/);
    await expectServed(here, there);

    await finish();
  });
});

/** Its time is that of connections that end, and no money depends on it. */
const inProve = testOrProve<(name: string, tests: () => void) => void>(() => undefined, describe);

inProve('a database that falls silent while the workspace is closed', () => {
  it('delays it until the window is over, and the move is tried again', async () => {
    const lines: string[] = [];
    let release = () => undefined as void;
    const released = new Promise<void>((resolve) => (release = resolve));
    let holding: Promise<void> | undefined;
    /** The proof then waits inside of a database transaction, on the connection that opens the workspace again. */
    const holdMarks = () =>
      new Promise<void>((held, failed) => {
        holding = administer(world.connectionOf(here), async (client) => {
          await client.query('begin; lock table banking.move_mark in exclusive mode');
          held();
          await released;
        });
        holding.catch(failed);
      });
    const onClosed = async (part: Part) => {
      if (part === 'closed' && holding === undefined) await holdMarks();
    };
    const log = (line: string) => {
      lines.push(line);
      if (line.includes('is open at its cell again')) release();
    };
    const command = { ...world.command(workspaceId), to: there, log };
    // A wait without that line ends too, far above every expected one.
    const end = setTimeout(release, 60_000);

    await expect(moveWorkspace({ ...command, windowMs: 1, onClosed })).rejects.toThrow(
      /could not be switched within 1 ms/,
    );
    clearTimeout(end);
    await holding;
    expect((await states())[here]).toBe('open');
    await moveWorkspace(command);

    expect(lines.join()).toContain('a database does not respond');
    await expectServed(there, here);
    await archiveWorkspace(world.command(workspaceId));
    [here, there] = [there, here];
  });
});

describe('a switch that home has lost', () => {
  it('is not taken back: neither the same command nor --abandon opens the workspace in two cells', async () => {
    await killAt('switched', 'onStep');
    const number = here === 'home' ? 0 : 1;
    await world.query(
      'home',
      `update workspace_move set step = 'close'; update workspace_place set cell_number = ${number} where workspace_id = ${workspaceId}`,
    );
    const served = /serves workspace \d+, and home has no record of its switch\. Nothing is changed\./;

    await expect(moveWorkspace({ ...world.command(workspaceId), to: there })).rejects.toThrow(served);
    await expect(abandonMove(world.command(workspaceId))).rejects.toThrow(served);

    expect((await states())[here]).toBe('moving');
    await world.query(
      'home',
      `update workspace_move set step = 'switched'; update workspace_place set cell_number = ${1 - number} where workspace_id = ${workspaceId}`,
    );
    await finish();
  });
});

describe('a copy that differs', () => {
  it('is abandoned, and the workspace stays', async () => {
    const damage = async (part: string) => {
      if (part !== 'closed') return;
      await world.query(
        there,
        `set session_replication_role = replica; update account set alias = 'Other' where workspace_id = ${workspaceId}`,
      );
    };
    const moving = moveWorkspace({ ...world.command(workspaceId), to: there, onClosed: damage });

    await expect(moving).rejects.toThrow(/differ between the cells in: account\. /);

    await expectServed(here, there);
    for (const cell of world.names) expect(await world.leftovers(cell)).toEqual([]);
  });
});
