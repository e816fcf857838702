import {
  byOutgoing,
  findContradictedPayouts,
  findPayouts,
  findPositions,
  nameOfOutgoing,
  type Outgoing,
  parsePayoutKey,
} from '@banking/payouts';
import { bind, type Database, sqlStatement } from '@banking/postgres';

/** A bank account of a rail of files. */
export interface ReconciledAccount {
  /** The name of the rail. */
  readonly rail: string;
  readonly bankAccount: string;
  /** ISO 4217. */
  readonly currency: string;
}

/** The last entry of a payment, which the books contradict. */
interface ContradictedEntry {
  readonly id: bigint;
  readonly kind: 'payment_debited' | 'payment_returned';
  readonly day: string;
  readonly direction: 'credit' | 'debit';
  readonly amount: bigint;
  /** The key of the payment. */
  readonly reference: string;
}

interface LastEntryRow extends Omit<ContradictedEntry, 'kind'> {
  outcome: 'payout' | 'return';
}

/** Of a payment that left and came back, the return. A moment is left to the worker that records it. */
const LAST_ENTRIES = sqlStatement<LastEntryRow>(
  'last_entries_of_payments',
  `select e.id, coalesce(e.booked_on, e.received_at::date)::text as day, e.direction, e.amount, e.payout_key as reference, e.outcome
   from unnest($3::text[]) key cross join lateral (
     select * from bank_entry b where b.payout_key = key and b.status = 'booked' order by b.outcome = 'return' desc limit 1) e
   where e.bank_account = $1 and e.currency = $2 and e.received_at < statement_timestamp() - interval '1 minute'`,
);

/**
 * Events of payments of files that the books cannot record, such as a return whose money the account cannot take. Also those of a rail that had
 * the bank account before.
 */
const UNRECORDED = sqlStatement<{ key: string }>(
  'keys_of_unrecorded_rail_events',
  `select e.key from rail_event e
   where e.received_at < statement_timestamp() - interval '1 minute'
     and exists (select from file_payment p where p.rail = e.rail and p.key = e.key)
   order by e.id limit 1000`,
);

/** Payouts that are compared at a time, and so the workspaces of a scope. */
const BATCH = 1_000;

/**
 * Finds the payments whose money is at another place at the bank than in the books: the bank has debited one that the books have returned, or
 * has returned one that the books have not.
 *
 * Only a discrepancy or an event that is not recorded lets the two differ, so that only their payouts are compared.
 *
 * @param days how long a payout is compared whose money an operator returned
 */
export async function findContradictions(
  database: Database,
  account: ReconciledAccount,
  days: number,
): Promise<readonly ContradictedEntry[]> {
  const contradicted = await findContradictedPayouts(database, days);
  const [unrecorded] = await database.pipeline({}, [bind(UNRECORDED)] as const);
  const payouts = new Map<string, Outgoing>();
  for (const payout of [...contradicted, ...unrecorded.flatMap(({ key }) => parsePayoutKey(key) ?? [])]) {
    payouts.set(nameOfOutgoing(payout), payout);
  }
  const all = [...payouts.values()];
  const found: (readonly ContradictedEntry[])[] = [];
  for (let first = 0; first < all.length; first += BATCH) {
    found.push(await compare(database, account, all.slice(first, first + BATCH)));
  }
  return found.flat();
}

async function compare(
  database: Database,
  { bankAccount, currency }: ReconciledAccount,
  payouts: readonly Outgoing[],
): Promise<readonly ContradictedEntry[]> {
  const booked = await findPayouts(database, payouts);
  const workspaces = [...new Set(payouts.map(({ workspaceId }) => workspaceId))];
  const [entries, positions] = await database.pipeline({ workspaces }, [
    bind(LAST_ENTRIES, bankAccount, currency, [...booked.keys()]),
    findPositions(payouts),
  ] as const);
  const places = byOutgoing(positions);
  return entries.flatMap(({ outcome, ...entry }) => {
    const payout = booked.get(entry.reference);
    const place = payout && places.get(nameOfOutgoing(payout));
    const isDebited = outcome === 'payout';
    if (place?.isBack !== isDebited) return [];
    return { ...entry, kind: isDebited ? ('payment_debited' as const) : ('payment_returned' as const) };
  });
}
