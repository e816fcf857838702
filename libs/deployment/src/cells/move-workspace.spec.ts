import { createHash } from 'node:crypto';
import { verifyPayments } from '@banking/operations/verification';
import { makeDemoData } from '@banking/operations/demo';
import type { Order, TransferAmount, WorkspaceId } from '@banking/domain';
import { openBooks, verifyBooks } from '@banking/ledger';
import {
  isUnavailable,
  PROVISIONING_ROLE,
  RULE_VIOLATION,
  SCHEMA,
  VERIFIER_ROLE,
  WORKER_ROLE,
} from '@banking/postgres';
import { reasonOf, sql, until, openDatabase } from '@banking/postgres/testing';
import { recordAudit } from '@banking/operations';
import { addApp, addWorkspace, removeWorkspace } from '@banking/operations/provisioning';
import { type CellProcess, payerOf, startProcess } from '../testing/cell-world.js';
import { eventsOf, sequencesWithGap } from '../testing/events-of-cell.js';
import { type MoveWorld, moveWorld } from '../testing/move-world.js';
import { archiveWorkspace } from './remove-rows.js';
import { abandonMove, moveWorkspace } from './move-workspace.js';
import { CELLS_MAX } from './step-sequences.js';

let world: MoveWorld;
/** One that serves while workspaces move, with its workers. */
let process: CellProcess;
/** One with the demo data, in home. */
let northwind: WorkspaceId;
let quiet: WorkspaceId;

beforeAll(async () => {
  world = await moveWorld();
  process = await startProcess(world);
  const { home } = process.cells;
  await makeDemoData({ ...home, books: openBooks(home.database), role: WORKER_ROLE });
  const workspaces = await world.query<{ id: bigint }>('home', 'select id from workspace order by id');
  [northwind, quiet] = workspaces.map(({ id }) => Number(id)) as [WorkspaceId, WorkspaceId];
});
afterAll(async () => {
  await process?.close();
  await world?.close();
});

const rowCount = (rows: Readonly<Record<string, readonly string[]>>) => Object.values(rows).flat().length;

/** Makes events of all changes, as a worker does: the outbox does not move. */
const record = (cell: string) =>
  until(async () => (await world.query<{ left: number }>(cell, 'select record_changes(1000) as left'))[0]?.left === 0);

/** A digest of everything that a caller can read of a workspace. */
async function answers(workspaceId: WorkspaceId): Promise<string> {
  const { banking } = process;
  const scope = { workspaceId };
  const accounts = await banking.listAccounts(scope);
  const all = [
    accounts,
    await banking.listTransfers(scope, { limit: 100 }),
    await banking.listOrders(scope, { limit: 100 }),
    await banking.listRecipients(scope),
    ...(await Promise.all(
      accounts.items.map(({ id }) =>
        banking.getStatement(scope, { accountId: id, from: '2020-01-01', to: '2100-01-01' }),
      ),
    )),
  ];
  return createHash('sha256').update(JSON.stringify(all)).digest('hex');
}

describe('a workspace that is moved to another database and back', () => {
  it('has the same rows and the same answers there', async () => {
    await record('home');
    const [rows, read] = [await world.rowsOf('home', northwind), await answers(northwind)];
    expect(rowCount(rows)).toBeGreaterThan(50);

    await moveWorkspace({ ...world.command(northwind), to: 'b' });

    expect({ ...(await world.rowsOf('b', northwind)), move_mark: [] }).toEqual({ ...rows, move_mark: [] });
    expect(await answers(northwind)).toEqual(read);
  });

  it('is refused by its former database, and no other workspace is', async () => {
    const read = (workspaces: number[]) =>
      process.cells.get(0).database.read({ workspaces }, sql('select count(*) from account'));

    await expect(read([northwind])).rejects.toMatchObject({ code: RULE_VIOLATION.workspaceElsewhere });
    await expect(read([quiet])).resolves.toBeDefined();
  });

  it('gives ids of its new database', async () => {
    const { from } = await payerOf(process, northwind);

    expect(from.id % CELLS_MAX).toBe(1);
  });

  it('leaves closed rows until they are archived, and does not come back before', async () => {
    expect(await world.leftovers('home')).toEqual([`gone ${northwind}`]);
    expect(await reasonOf(moveWorkspace({ ...world.command(northwind), to: 'home' }))).toMatch(
      /^The cell "home" still has rows of workspace \d+, from before it left\. Run banking cell archive/,
    );

    await world.query(
      'home',
      `set session_replication_role = replica;
       insert into idempotency (workspace_id, operation, key, fingerprint, answer)
       select ${northwind}, 'many', n::text, sha256(n::text::bytea), '{}' from generate_series(1, 12000) n`,
    );
    const [archived] = await archiveWorkspace(world.command(northwind));

    expect([archived?.cell, archived!.rows > 12_000]).toEqual(['home', true]);
    expect(rowCount(await world.rowsOf('home', northwind))).toBe(0);
    expect(rowCount(await world.rowsOf('home', quiet))).toBeGreaterThan(0);
    expect(await world.leftovers('home')).toEqual([]);
    expect(await archiveWorkspace(world.command(northwind))).toEqual([]);
  });

  it('comes back with what it did there', async () => {
    await record('b');
    const [rows, read] = [await world.rowsOf('b', northwind), await answers(northwind)];

    await moveWorkspace({ ...world.command(northwind), to: 'home' });
    await archiveWorkspace(world.command(northwind));

    expect({ ...(await world.rowsOf('home', northwind)), move_mark: [] }).toEqual({ ...rows, move_mark: [] });
    expect(await answers(northwind)).toEqual(read);
    expect((await verifyBooks(process.cells.home.database, [northwind, quiet])).findings).toEqual([]);
    for (const cell of world.names) expect(await world.leftovers(cell)).toEqual([]);
  });
});

describe('a workspace whose events were deleted', () => {
  it('has ids of events behind them after a move, and behind the cursors of its endpoints', async () => {
    const highest = 10_000_000_000n;
    await world.query(
      'home',
      `set session_replication_role = replica;
       insert into event_deletion (workspace_id, last_id, last_at, last_row_at)
         values (${quiet}, ${highest}, now() - interval '1 day', now() - interval '1 day')
         on conflict (workspace_id) do update set last_id = excluded.last_id;
       insert into webhook_endpoint (workspace_id, url, sealed_secret, status, disabled_reason, cursor_event_id)
         values (${quiet}, 'https://example.com', '\\x00', 'disabled', 'user', ${highest})`,
    );

    await moveWorkspace({ ...world.command(quiet), to: 'b' });
    const { from } = await payerOf(process, quiet);
    await record('b');

    const [{ first } = { first: 0n }] = await world.query<{ first: bigint }>(
      'b',
      `select min(id) as first from event where workspace_id = ${quiet} and resource_type = 'account' and resource_id = ${from.id}`,
    );
    expect(first).toBeGreaterThan(highest);
    await archiveWorkspace(world.command(quiet));
    await moveWorkspace({ ...world.command(quiet), to: 'home' });
    await archiveWorkspace(world.command(quiet));
  });
});

describe('orders during a move', () => {
  it('are placed once each, and those of other workspaces are not refused', async () => {
    const [moving, other] = [await payerOf(process, northwind), await payerOf(process, quiet)];
    for (const [workspaceId, { from }] of [
      [northwind, moving],
      [quiet, other],
    ] as const) {
      const funding = { accountId: from.id, amount: '100000000' as TransferAmount };
      await process.banking.fundAccount({ workspaceId }, funding);
    }
    const scope = { workspaceId: northwind };
    const recipient = await process.banking.addInternalRecipient(scope, { accountCode: moving.to.code! });
    const place = async (externalReference: string) => {
      const payment = { accountId: moving.from.id, recipientID: recipient.resource.id, externalReference };
      const input = { ...payment, amount: '100' as TransferAmount, type: 'instant' } as const;
      return (await process.banking.placeOrder(scope, input, { idempotencyKey: externalReference })).resource;
    };
    const before = await moving.balance();
    await record('home');
    const known = await eventsOf(world, 'home', northwind);
    const placed = new Map<string, Order>();
    let [isOver, refused] = [false, 0];
    let begin = () => undefined as void;
    /** Ends before the workspace is closed. */
    const copying = new Promise<void>((resolve) => (begin = resolve));
    /** How many orders a client places while the rows are copied. */
    const BEFORE = 20;
    /** Repeats each order until it has an answer. */
    const client = async (name: string) => {
      for (let at = 1; !isOver || at <= 3; at += 1) {
        if (at === BEFORE) await copying;
        const key = `${name}-${at}`;
        const result = await until(
          () => place(key).catch((error: unknown) => error),
          (found) => {
            if (isUnavailable(found)) refused += 1;
            return !isUnavailable(found);
          },
        );
        if (result instanceof Error) throw result;
        placed.set(key, result as Order);
      }
    };
    const others = async () => {
      for (let at = 1; !isOver; at += 1) {
        if (at === BEFORE) await copying;
        await other.pay();
      }
    };
    const clients = Promise.all([client('a'), client('b'), client('c'), others()]);
    clients.catch(() => undefined);
    try {
      await moveWorkspace({
        ...world.command(northwind),
        to: 'b',
        onStep: async (step) => {
          if (step === 'close') begin();
        },
        onClosed: async (part) => {
          if (part === 'closed') await until(() => refused > 3);
        },
      });
    } finally {
      isOver = true;
      begin();
    }
    await clients;

    const debited = 100n * BigInt(placed.size);
    expect(await moving.balance()).toBe(before - debited);
    const [stored] = await world.query<{ count: number }>(
      'b',
      `select count(*)::int from customer_order where external_reference ~ '^[abc]-[0-9]+$'`,
    );
    expect(stored!.count).toBe(placed.size);
    // Entries that the source had not recorded have moved too.
    while ((await recordAudit(process.cells.get(1).database.as(WORKER_ROLE))) > 0);
    const [audited] = await world.query<{ count: number }>(
      'b',
      `select count(*)::int from audit_event e join customer_order o on o.workspace_id = e.workspace_id and o.id = e.resource_id
       where e.operation = 'placeOrder' and o.external_reference ~ '^[abc]-[0-9]+$'`,
    );
    expect(audited!.count).toBe(placed.size);
    const findings = await verifyPayments(process.cells.get(1).database.as(VERIFIER_ROLE), [northwind]);
    expect(findings.filter(({ check }) => check.includes('one chain of hashes'))).toEqual([]);
    const some = [...placed].filter((_, index) => index % 10 === 0);
    for (const [key, order] of some) expect(JSON.stringify(await place(key))).toBe(JSON.stringify(order));
    expect(await moving.balance()).toBe(before - debited);
    expect((await verifyBooks(process.cells.get(1).database, [northwind])).findings).toEqual([]);

    await record('b');
    const events = await eventsOf(world, 'b', northwind);
    expect(events.slice(0, known.length)).toEqual(known);
    // Six events of each order: two of the order, one of its run and its transaction, and two of transfers.
    expect(sequencesWithGap(events)).toEqual([]);
    expect(events.length - known.length).toBe(6 * placed.size);
    expect(events.at(-1)!.id % BigInt(CELLS_MAX)).toBe(1n);
  });
});

describe('an empty workspace of another database', () => {
  it('can be removed when it has moved home', async () => {
    const connection = world.connectionOf('home');
    const provisioning = await openDatabase({ connection, role: PROVISIONING_ROLE, schema: SCHEMA, poolSize: 1 });
    try {
      await addApp(provisioning, 'spec', 'Harbour');
      const id = await addWorkspace(provisioning, 'spec', { app: 'Harbour', name: 'Empty', cell: 'b' });
      const open = `select from cell_workspace where workspace_id = ${id}`;
      await until(async () => (await world.query('b', open)).length > 0);
      await expect(removeWorkspace(provisioning, 'spec', id)).rejects.toThrow(/is in another cell/);

      await moveWorkspace({ ...world.command(id), to: 'home' });
      await expect(removeWorkspace(provisioning, 'spec', id)).rejects.toThrow(/is in another cell/);
      await archiveWorkspace(world.command(id));

      await removeWorkspace(provisioning, 'spec', id);
    } finally {
      await provisioning.end();
    }
  });
});

describe('the command', () => {
  it('does one move of a workspace at a time', async () => {
    const reasons: string[] = [];
    await moveWorkspace({
      ...world.command(quiet),
      to: 'b',
      onStep: async (step) => {
        if (step !== 'follow') return;
        reasons.push((await reasonOf(moveWorkspace({ ...world.command(quiet), to: 'b' }))) ?? '');
        reasons.push((await reasonOf(abandonMove(world.command(quiet)))) ?? '');
        reasons.push((await reasonOf(archiveWorkspace(world.command(quiet)))) ?? '');
      },
    });

    expect(reasons).toHaveLength(3);
    for (const reason of reasons) expect(reason).toMatch(/^Another command moves or archives workspace/);
  });
});
