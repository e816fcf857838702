import type { Timestamp } from '@banking/domain';
import { bind, statement, type Database } from '@banking/postgres';
import type { BookedTransaction } from './booked-transactions.js';
import type { OwnAccountKind } from './proposal.js';

/** Accounts read at a time. */
const PORTION = 10_000;

/** An account as it stood at an instant. Balances of our own accounts are not stored: theirs is the sum of their transfers. */
export interface AccountAt {
  readonly id: number;
  readonly kind: OwnAccountKind | 'customer';
  readonly currencyId: number;
  readonly balance: bigint;
  readonly version: number;
  readonly head: string;
}

/**
 * How far the books of a workspace went at an instant. The books are append-only, so the rest is read later, in ranges: a transaction
 * was there if the versions it wrote on its customers' accounts were reached.
 */
export interface BooksAt {
  readonly workspaceId: number;
  readonly at: Timestamp;
  readonly accounts: number;
  /** The version of every customer's account. */
  readonly versions: ReadonlyMap<number, number>;
  /** What the customers' accounts held, by currency. */
  readonly held: ReadonlyMap<number, bigint>;
  readonly ownAccounts: ReadonlyMap<number, Pick<AccountAt, 'kind' | 'currencyId'>>;
}

interface AccountRow extends Omit<AccountAt, 'id' | 'currencyId' | 'version'> {
  readonly id: bigint;
  readonly currency_id: number;
  readonly version: bigint;
  readonly at: Timestamp;
}

const NOW = statement<{ at: Timestamp }>('books_at_now', 'select rfc3339(now()) as at');
const ACCOUNTS = statement<AccountRow>(
  'books_at_accounts',
  `select id, kind, currency_id, balance, version, head
   from account where workspace_id = $1 and id > $2 order by id limit $3`,
);

/**
 * Reads the accounts of a workspace in one short snapshot.
 *
 * @param onAccount is told every account, in the order of their ids
 */
export async function booksAt(
  database: Database,
  workspaceId: number,
  onAccount: (account: AccountAt) => void = () => {},
): Promise<BooksAt> {
  const versions = new Map<number, number>();
  const held = new Map<number, bigint>();
  const ownAccounts = new Map<number, Pick<AccountAt, 'kind' | 'currencyId'>>();
  const take = ({ id, currency_id, version, ...row }: AccountRow) => {
    const account = { ...row, id: Number(id), currencyId: currency_id, version: Number(version) };
    if (account.kind === 'customer') {
      versions.set(account.id, account.version);
      held.set(account.currencyId, (held.get(account.currencyId) ?? 0n) + account.balance);
    } else ownAccounts.set(account.id, account);
    onAccount(account);
  };

  const at = await database.transaction(
    { workspaces: [workspaceId] },
    async (tx) => {
      const [[now]] = await tx.flight([bind(NOW)] as const);
      let rows: readonly AccountRow[];
      let last = 0n;
      do {
        [rows] = await tx.flight([bind(ACCOUNTS, workspaceId, last, PORTION)] as const);
        rows.forEach(take);
        last = rows.at(-1)?.id ?? last;
      } while (rows.length === PORTION);
      return now!.at;
    },
    { snapshot: true },
  );
  return { workspaceId, at, accounts: versions.size + ownAccounts.size, versions, held, ownAccounts };
}

/** Whether a transaction was there. One of our own accounts alone has no version: the time of its row decides. */
export function wasBooked({ versions, at }: BooksAt, { content, createdAt }: BookedTransaction): boolean {
  const steps = content.transfers.filter(({ accountVersion }) => accountVersion !== undefined);
  if (steps.length === 0) return createdAt <= at;
  return steps.every(({ accountId, accountVersion = 0 }) => accountVersion <= (versions.get(accountId) ?? 0));
}
