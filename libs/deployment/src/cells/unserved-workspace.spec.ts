import type { ProductId, TransferAmount, WorkspaceId } from '@banking/domain';
import { recipientAbroad } from '@banking/operations/testing';
import { SCHEMA, VERIFIER_ROLE, withAdminSession } from '@banking/postgres';
import { openDatabase, reasonOf, until } from '@banking/postgres/testing';
import { addWorkspaces, type CellProcess, payerOf, startProcess } from '../testing/cell-world.js';
import { type MoveWorld, moveWorld } from '../testing/move-world.js';
import { inDatabase } from './compare-copy.js';
import { CopiesComparison } from './copies-comparison.js';
import { abandonMove, moveWorkspace } from './move-workspace.js';
import { describeUnserved, unservedWorkspaces } from './places.js';
import { archiveWorkspace, removeRows } from './remove-rows.js';

let world: MoveWorld;
let process: CellProcess;
let ids: Map<string, WorkspaceId>;
let moved: WorkspaceId;
const warnings: string[] = [];
let comparison: CopiesComparison;

beforeAll(async () => {
  world = await moveWorld();
  process = await startProcess(world);
  ids = await addWorkspaces(world, ['home', 'b']);
  moved = ids.get('home')!;
  comparison = new CopiesComparison(
    () => process.cells.all().map(({ number, name, use }) => ({ number, name, database: use?.database })),
    (line) => warnings.push(line),
  );
});
afterAll(async () => {
  await process?.close();
  await world?.close();
});

/** Work that is due in each of the ways in which a worker finds it: a payout, a payment to another cell, and an order for later. */
async function makeWork(): Promise<void> {
  const { banking } = process;
  const scope = { workspaceId: moved };
  const amount = '500000' as TransferAmount;
  const { resource: account } = await banking.openAccount(scope, { productID: 2 as ProductId });
  await banking.fundAccount(scope, { accountId: account.id, amount: '10000000' as TransferAmount });
  const recipientID = await recipientAbroad(banking, scope, 'DE89370400440532013000');
  const paid = { accountId: account.id, recipientID, amount, purposeCode: 'IR001' } as const;
  await banking.placeOrder(scope, { ...paid, type: 'instant' });
  const [payer, payee] = [await payerOf(process, moved), await payerOf(process, ids.get('b')!)];
  const { resource: elsewhere } = await banking.addInternalRecipient(scope, { accountCode: payee.to.code! });
  const crossing = { accountId: payer.from.id, recipientID: elsewhere.id, amount: '100' as TransferAmount } as const;
  await banking.placeOrder(scope, { ...crossing, type: 'instant' });
  await banking.placeOrder(scope, { ...crossing, type: 'scheduled', startAt: '2040-03-01T09:00:00Z' });
}

const work = (cell: string) =>
  world.query(
    cell,
    `select kind, subject_id, rail, parked_at, due_at > now() as is_later from work where workspace_id = ${moved} order by kind, subject_id`,
  );
const stateIn = async (cell: string) =>
  (await world.query<{ state: string }>(cell, `select state from cell_workspace where workspace_id = ${moved}`))[0]
    ?.state;

/** As a restore of the cell to a moment before the move. @param isNew whether home had not made the workspace yet */
async function restore(cell: string, isNew = false): Promise<void> {
  await world.query(cell, `update cell_workspace set state = 'gone' where workspace_id = ${moved}`);
  await withAdminSession(world.connectionOf(cell), (session) => removeRows(session, moved));
  await world.query(cell, `delete from cell_workspace where workspace_id = ${moved}`);
  if (!isNew) return;
  await world.query(
    cell,
    `set session_replication_role = replica; delete from workspace_role where workspace_id = ${moved};
     delete from member where workspace_id = ${moved}; delete from workspace_place where workspace_id = ${moved};
     delete from workspace where id = ${moved}`,
  );
  await world.add(cell);
}

/** Those that home places in the cell `b`. */
async function unserved(): Promise<readonly number[]> {
  const open = (name: string) =>
    openDatabase({ connection: world.connectionOf(name), role: VERIFIER_ROLE, schema: SCHEMA, poolSize: 1 });
  const [home, b] = [await open('home'), await open('b')];
  try {
    const found: number[] = [];
    for await (const some of unservedWorkspaces(inDatabase(home), inDatabase(b), 1)) found.push(...some);
    return found;
  } finally {
    await home.end();
    await b.end();
  }
}

/** The warnings of the worker, after it has compared everything once. */
async function compared(): Promise<readonly string[]> {
  warnings.length = 0;
  await comparison.compareNext();
  return warnings.filter((line) => line.includes('not served'));
}

const WAY_BACK = () =>
  `Home places workspace ${moved} in the cell "b", which does not serve it. Nothing is changed. Was a database restored? Recover the cell "b" ` +
  `to a later moment. Or let the cell "home" serve it again, which has its rows from before the move: banking cell move ${moved} --abandon. ` +
  `See docs/maintain.md, section "Several databases".`;

describe('a workspace whose cell was restored to a moment before the move', () => {
  let before: unknown;

  beforeAll(async () => {
    await makeWork();
    before = await work('home');
  });

  it('is served by no cell, and reported', async () => {
    await moveWorkspace({ ...world.command(moved), to: 'b' });
    expect([await unserved(), await compared(), comparison.unservedIn('b')]).toEqual([[], [], 0]);

    await restore('b');

    expect(await unserved()).toEqual([moved]);
    expect(await compared()).toEqual([`A workspace is not served: ${describeUnserved('b', moved)}.`]);
    expect([comparison.unservedIn('b'), comparison.unservedIn('home')]).toEqual([1, 0]);
    expect(await compared()).toEqual([]);
  });

  it('is named with what to do by each command that would move it, and its last rows stay', async () => {
    const rows = await world.rowsOf('home', moved);

    expect(await reasonOf(moveWorkspace({ ...world.command(moved), to: 'b' }))).toBe(WAY_BACK());
    expect(await reasonOf(moveWorkspace({ ...world.command(moved), to: 'home' }))).toBe(WAY_BACK());
    expect(await reasonOf(archiveWorkspace(world.command(moved)))).toMatch(/does not serve .* Nothing is removed\.$/);

    expect(await world.rowsOf('home', moved)).toEqual(rows);
  });

  it('is served again by its former cell, with the work that is due', async () => {
    await abandonMove(world.command(moved));

    expect([await stateIn('home'), await stateIn('b'), await unserved()]).toEqual(['open', undefined, []]);
    expect(await work('home')).toEqual(before);
    const { home } = process.cells;
    expect(await world.command(moved).verify(home.database.as(VERIFIER_ROLE), moved)).toEqual([]);
    const payer = await payerOf(process, moved);
    const balance = await payer.balance();
    await payer.pay();
    expect(await payer.balance()).toBe(balance - 100n);
    expect(await compared()).toEqual([]);
    expect(comparison.unservedIn('b')).toBe(0);
  });

  it('moves again', async () => {
    await moveWorkspace({ ...world.command(moved), to: 'b' });

    expect([await stateIn('home'), await stateIn('b')]).toEqual(['gone', 'open']);
    expect(await reasonOf(abandonMove(world.command(moved)))).toBe(
      `Workspace ${moved} is not being moved. See banking cell list.`,
    );
  });

  it('is not opened without its books where the cell had not known the workspace', async () => {
    await restore('b', true);
    await until(
      async () => (await world.query('b', `select from workspace_place where workspace_id = ${moved}`)).length === 1,
    );

    expect([await stateIn('b'), await unserved()]).toEqual([undefined, [moved]]);
    // As a command that was killed when home had the former place again.
    await world.query(
      'home',
      `update workspace_move set step = 'abandon' where workspace_id = ${moved};
       update workspace_place set cell_number = 0 where workspace_id = ${moved}`,
    );
    await abandonMove(world.command(moved));
    expect(await stateIn('home')).toBe('open');
    expect((await work('home')).length).toBeGreaterThan(0);
  });

  it('goes back also where the restore has interrupted the command that moves it', async () => {
    const interrupt = async (step: string) => {
      if (step === 'switched') await world.killCommands();
    };
    await expect(moveWorkspace({ ...world.command(moved), to: 'b', onClosed: interrupt })).rejects.toThrow(/was lost/);
    await restore('b');

    expect(await reasonOf(moveWorkspace({ ...world.command(moved), to: 'b' }))).toBe(WAY_BACK());
    await abandonMove(world.command(moved));

    expect([await stateIn('home'), await stateIn('b')]).toEqual(['open', undefined]);
    for (const cell of world.names) expect(await world.leftovers(cell)).toEqual([]);
  });

  it('has no way back to rows that are being archived', async () => {
    await moveWorkspace({ ...world.command(moved), to: 'b' });
    const archiving = archiveWorkspace({ ...world.command(moved), signal: AbortSignal.abort() });
    await expect(archiving).rejects.toThrow();
    await restore('b');

    expect(await reasonOf(moveWorkspace({ ...world.command(moved), to: 'b' }))).not.toMatch(/abandon/);
    expect(await reasonOf(abandonMove(world.command(moved)))).toMatch(/is not being moved/);
  });
});
