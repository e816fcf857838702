import type { Violation } from '../check-orders.js';
import type { DatabaseServer } from '../database-server.js';
import type { Operation } from '../history.js';
import type { CellPair } from './crossing-world.js';

/** Money that came to a customer account with the key of an order, as a payment or as its return. */
interface KeyedCredit {
  readonly key: string;
  readonly accountId: number;
  readonly amount: string;
  readonly isReturn: boolean;
}

const RETURNED = 'Returned: ';
const CREDITS = `
  select regexp_replace(description, '^${RETURNED}', '') as key, account_id::float8 as "accountId", amount::text as amount,
         description like '${RETURNED}%' as "isReturn"
  from transfer
  where direction = 'credit' and account_version is not null and (description like $1 or description like '${RETURNED}' || $1)`;

/** The credits of the payments whose key begins with the prefix, of all databases. */
export async function readCredits(databases: readonly DatabaseServer[], prefix: string): Promise<KeyedCredit[]> {
  const credits: KeyedCredit[] = [];
  for (const database of databases) credits.push(...(await database.query<KeyedCredit>(CREDITS, [`${prefix}-%`])));
  return credits;
}

/** Each payment to another cell has arrived exactly once, or has come back exactly once if the payee takes none. */
export function checkCrossings(
  operations: readonly Operation[],
  booked: ReadonlySet<string>,
  credits: readonly KeyedCredit[],
  pairs: readonly CellPair[],
): Violation[] {
  const byKey = new Map<string, KeyedCredit[]>();
  for (const credit of credits) byKey.set(credit.key, [...(byKey.get(credit.key) ?? []), credit]);
  return operations.flatMap((operation) => {
    const pair = pairs.find(
      ({ payer, recipientId }) => payer.id === operation.accountId && recipientId === operation.recipientId,
    );
    if (pair === undefined) return [];
    const own = byKey.get(operation.key) ?? [];
    const fault = booked.has(operation.key)
      ? paidFault(operation, pair, own)
      : own.length > 0
        ? `has ${own.length} credits and no order`
        : undefined;
    return fault === undefined
      ? []
      : [{ check: 'crossings', detail: `${operation.key}, ${pair.from} to ${pair.to}, ${fault}` }];
  });
}

function paidFault(
  { amount }: Operation,
  { payer, payee, isClosed }: CellPair,
  own: readonly KeyedCredit[],
): string | undefined {
  const [arrived, returned] = [own.filter(({ isReturn }) => !isReturn), own.filter(({ isReturn }) => isReturn)];
  if (own.length !== 1) return `has arrived ${arrived.length} times and come back ${returned.length} times`;
  const [credit] = own as [KeyedCredit];
  if (credit.isReturn !== isClosed)
    return credit.isReturn ? 'has come back from an open account' : 'has arrived on a closed account';
  if (credit.accountId !== (isClosed ? payer : payee).id) return `is on account ${credit.accountId}`;
  return credit.amount === amount ? undefined : `has ${credit.amount} instead of ${amount}`;
}
