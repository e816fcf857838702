import { minorUnits, parseAmount } from '@banking/domain';
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
import { payoutKey } from '../payout-key.js';

/** Two separate workspaces. */
export const NORTH = 1;
export const SOUTH = 2;

export const AMOUNT = parseAmount('100.00', 'USD');
export const FEE = parseAmount('4.00', 'USD');
const RUPEES = parseAmount('8300.00', 'INR');

/** Books for payouts: an account with a million dollars in each workspace. */
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
  await fund(books, workspaceId, parseAmount('1000000.00', 'USD'));
  return id;
}

/** Credits the account of a workspace from outside: minor units, and below zero a debit. */
export async function fund(books: Books, workspaceId: number, amount: bigint): Promise<void> {
  const leg = { currencyId: 840, amount: minorUnits(amount < 0n ? -amount : amount), type: 'funding' };
  const legs: Leg[] = [
    { ...leg, account: 1_000 + workspaceId, direction: amount < 0n ? 'debit' : 'credit' },
    { ...leg, account: 'settlement', direction: amount < 0n ? 'credit' : 'debit' },
  ];
  const [outcome] = await post(books, [{ entries: [{ workspaceId, status: 'completed', legs }] }]);
  requirePosted(outcome!);
}

/** The legs of a payout of a hundred dollars, in dollars or converted to rupees. */
const WAYS: Readonly<Record<'payout' | 'spot', readonly Leg[]>> = {
  payout: [{ account: 'settlement', currencyId: 840, direction: 'credit', amount: AMOUNT, type: 'payout' }],
  spot: [
    { account: 'fx', currencyId: 840, direction: 'credit', amount: AMOUNT, type: 'spot' },
    { account: 'fx', currencyId: 356, direction: 'debit', amount: RUPEES, type: 'spot' },
    { account: 'settlement', currencyId: 356, direction: 'credit', amount: RUPEES, type: 'spot' },
  ],
};

/** Posts pending payouts of a hundred dollars with their fees, in one batch. `open` adds further writes. */
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
  const entry = { workspaceId, status: 'pending', legs } as const;
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

/** The key of a payout at the network. */
export async function keyOf(world: World, transactionId: number): Promise<string> {
  const { rows } = await world.owner.query<{ workspace_id: string; key_nonce: string }>(
    'select workspace_id::text, key_nonce from payout where transaction_id = $1',
    [transactionId],
  );
  const [{ workspace_id, key_nonce }] = rows as [(typeof rows)[number]];
  return payoutKey({ workspaceId: Number(workspace_id), transactionId, nonce: key_nonce });
}

/** The findings of a verification, of which no test may leave any. */
export async function faults(world: World): Promise<unknown> {
  return (await verifyBooks(world.database, [NORTH, SOUTH])).findings;
}

/** Moves the due times and leases of the queue into the past. */
export async function passTimeHere(world: World, ms: number): Promise<void> {
  await world.owner.query(
    `update work set due_at = due_at - interval '${ms} ms', leased_until = leased_until - interval '${ms} ms'`,
  );
}

/** Moves the times of the queue and of the events of the network into the past. */
export async function passTime(world: World, ms: number): Promise<void> {
  await passTimeHere(world, ms);
  await world.owner.query(`
    update sandbox_rail_event set due_at = due_at - interval '${ms} ms', handed_until = handed_until - interval '${ms} ms'`);
}
