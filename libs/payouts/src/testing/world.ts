import { parseAmount } from '@banking/domain';
import {
  decide,
  lockAndRead,
  openAccount,
  openBooks,
  post,
  preparePosting,
  requirePosted,
  verifyBooks,
  write,
  type Books,
  type Leg,
} from '@banking/ledger';
import { freshDatabase, type FreshDatabase } from '@banking/postgres/testing';
import { openPayouts, openTracking } from '../open-payouts.js';

/** Two workspaces that know nothing of each other. */
export const NORTH = 1;
export const SOUTH = 2;

export const AMOUNT = parseAmount('100.00', 'USD');
export const FEE = parseAmount('4.00', 'USD');
const RUPEES = parseAmount('8300.00', 'INR');

/** Books from which payments leave: one account of dollars in each workspace, with a million in it. */
export interface World extends FreshDatabase {
  readonly books: Books;
  /** By workspace. */
  readonly accounts: Readonly<Record<number, number>>;
}

export async function openWorld(): Promise<World> {
  const fresh = await freshDatabase();
  await fresh.owner.query(`
    insert into app (id, name) values (1, 'Harbour');
    insert into workspace (id, app_id, name) values (${NORTH}, 1, 'North'), (${SOUTH}, 1, 'South');
    insert into currency (id, code, name, decimals) values (840, 'USD', 'US Dollar', 2), (356, 'INR', 'Indian Rupee', 2);
    insert into product (id, name, currency_id) values (1, 'Current account', 840)`);
  const books = openBooks(fresh.database);
  const accounts: Record<number, number> = {};
  for (const workspaceId of [NORTH, SOUTH]) accounts[workspaceId] = await fundedAccount(books, workspaceId);
  return { ...fresh, books, accounts };
}

async function fundedAccount(books: Books, workspaceId: number): Promise<number> {
  const id = 1_000 + workspaceId;
  const account = { workspaceId, id, productId: 1, currencyId: 840, name: 'Ada', type: 'CACC', code: `A${id}` };
  await books.database.pipeline({ workspaces: [workspaceId] }, [openAccount(account)]);
  const funding = { currencyId: 840, amount: parseAmount('1000000.00', 'USD'), type: 'funding' };
  const legs: Leg[] = [
    { ...funding, account: id, direction: 'credit' },
    { ...funding, account: 'settlement', direction: 'debit' },
  ];
  await post(books, [{ entries: [{ workspaceId, status: 'completed', valueDate: '2026-11-21', legs }] }]);
  return id;
}

/** Through which of our own accounts a hundred dollars leave: as they are, or converted to rupees. */
const WAYS: Readonly<Record<'payout' | 'spot', readonly Leg[]>> = {
  payout: [{ account: 'settlement', currencyId: 840, direction: 'credit', amount: AMOUNT, type: 'payout' }],
  spot: [
    { account: 'fx', currencyId: 840, direction: 'credit', amount: AMOUNT, type: 'spot' },
    { account: 'fx', currencyId: 356, direction: 'debit', amount: RUPEES, type: 'spot' },
    { account: 'settlement', currencyId: 356, direction: 'credit', amount: RUPEES, type: 'spot' },
  ],
};

/** Posts pending payouts of a hundred dollars with their fees, in one batch. `open` writes what goes with them. */
export async function payOut(
  world: World,
  {
    workspaceId = NORTH,
    count = 1,
    by = 'payout' as keyof typeof WAYS,
    open = openPayouts as typeof openPayouts | typeof openTracking,
  } = {},
): Promise<number[]> {
  const account = world.accounts[workspaceId]!;
  const legs: Leg[] = [
    { account, currencyId: 840, direction: 'debit', amount: AMOUNT, type: by, description: 'Invoice', feeAmount: FEE },
    ...WAYS[by],
    { account, currencyId: 840, direction: 'debit', amount: FEE, type: 'fee' },
    { account: 'fees', currencyId: 840, direction: 'credit', amount: FEE, type: 'fee' },
  ];
  const entry = { workspaceId, status: 'pending', valueDate: '2026-11-21', legs } as const;
  const proposals = Array.from({ length: count }, () => ({ entries: [entry] }));
  const posting = await preparePosting(world.books, proposals);
  return world.database.transaction({ workspaces: [workspaceId] }, async (tx) => {
    const { context } = await lockAndRead(tx, posting);
    const posted = proposals.flatMap((proposal) => requirePosted(decide(context, proposal)));
    const ids = posted.map(({ id }) => id);
    await write(tx, posted, open(ids.map((transactionId) => ({ workspaceId, transactionId }))));
    return ids;
  });
}

/** What is wrong with the books: nothing, after every test. */
export async function faults(world: World): Promise<unknown> {
  return (await verifyBooks(world.database, [NORTH, SOUTH])).findings;
}

/** Lets so much time pass for our queue alone: what is due, and leases. */
export async function passTimeHere(world: World, ms: number): Promise<void> {
  await world.owner.query(
    `update work set due_at = due_at - interval '${ms} ms', leased_until = leased_until - interval '${ms} ms'`,
  );
}

/** Lets so much time pass for everything that waits: our queue, and what the network will say. */
export async function passTime(world: World, ms: number): Promise<void> {
  await passTimeHere(world, ms);
  await world.owner.query(`
    update sandbox_rail_event set due_at = due_at - interval '${ms} ms', handed_until = handed_until - interval '${ms} ms'`);
}
