import { currencies } from '@banking/domain';
import { bind, type BoundStatement, type Database, IdBlocks, sqlStatement } from '@banking/postgres';
import { customerAccountsOf, type OwnAccountKind, type Proposal } from './proposal.js';

/** Open books: their database, and reserved ids for the next rows. */
export interface Books {
  readonly database: Database;
  readonly transactionIds: IdBlocks;
  /** A transfer and the balance after it share one id. */
  readonly transferIds: IdBlocks;
  /** Ids of the workspaces' own accounts by `ownAccountKey`: a cache. An id never changes. */
  readonly ownAccounts: Map<string, number>;
}

/** A batch of 64 payments with fee takes 256 ids. A block of several batches is fetched while they are posted. */
const TRANSFER_IDS = 2_048;

export function openBooks(database: Database): Books {
  return {
    database,
    transactionIds: new IdBlocks(database, 'transaction_id_seq'),
    transferIds: new IdBlocks(database, 'transfer_id_seq', TRANSFER_IDS),
    ownAccounts: new Map(),
  };
}

/** The same books over connections that take on another role. */
export const booksAs = (books: Books, role: string): Books => ({ ...books, database: books.database.as(role) });

/**
 * Inserts in one order. Two batches that open the same accounts wait for each other and cannot deadlock. `on conflict` covers both
 * unique keys, the code and the kind.
 */
const OPEN_OWN_ACCOUNTS = sqlStatement(
  'open_own_accounts',
  `insert into account (workspace_id, kind, currency_id, name, type, code)
   select w, k, c, 'Bank', 'SACC', 'own-' || k || '-' || c
   from unnest($1::bigint[], $2::text[], $3::int[]) u(w, k, c)
   order by w, c, k
   on conflict do nothing`,
);

const FIND_OWN_ACCOUNTS = sqlStatement<{ workspace_id: bigint; currency_id: number; kind: OwnAccountKind; id: bigint }>(
  'find_own_accounts',
  `select a.workspace_id, a.currency_id, a.kind, a.id
   from account a
   join unnest($1::bigint[], $2::text[], $3::int[]) u(w, k, c) on (a.workspace_id, a.kind, a.currency_id) = (u.w, u.k, u.c)`,
);

export function ownAccountKey(workspaceId: number, currencyId: number, kind: OwnAccountKind): string {
  return `${workspaceId}/${currencyId}/${kind}`;
}

/**
 * Opens the own accounts that the proposals touch and reads their ids into the cache.
 *
 * Own accounts may be below zero and are never locked. An account stays open, at zero, if the posting is refused.
 */
async function ensureOwnAccounts(books: Books, proposals: readonly Proposal[]): Promise<void> {
  const missing = new Map<string, { workspaceId: number; currencyId: number; kind: OwnAccountKind }>();
  for (const { entries } of proposals) {
    for (const { workspaceId, legs } of entries) {
      for (const { account: kind, currencyId } of legs) {
        if (typeof kind !== 'string') continue;
        const key = ownAccountKey(workspaceId, currencyId, kind);
        if (!books.ownAccounts.has(key)) missing.set(key, { workspaceId, currencyId, kind });
      }
    }
  }
  if (missing.size === 0) return;

  const wanted = [...missing.values()];
  const values = [
    wanted.map(({ workspaceId }) => workspaceId),
    wanted.map(({ kind }) => kind),
    wanted.map(({ currencyId }) => currencyId),
  ];
  const workspaces = [...new Set(wanted.map(({ workspaceId }) => workspaceId))];
  const [, found] = await books.database.pipeline({ workspaces }, [
    bind(OPEN_OWN_ACCOUNTS, ...values),
    bind(FIND_OWN_ACCOUNTS, ...values),
  ] as const);
  for (const { workspace_id, currency_id, kind, id } of found) {
    books.ownAccounts.set(ownAccountKey(Number(workspace_id), currency_id, kind), Number(id));
  }
}

const CODES: ReadonlyMap<number, string> = new Map(currencies().map(({ numeric, code }) => [numeric, code]));

/**
 * The ISO code of a currency by its id, which is the ISO numeric code. For an id that ISO 4217 does not have, a text that is no code:
 * whatever is stored can be verified.
 */
export const currencyCode = (currencyId: number): string => CODES.get(currencyId) ?? `#${currencyId}`;

/** A customer's account before its first movement. */
export interface NewAccount {
  readonly workspaceId: number;
  /** Reserved from the sequence `account_id_seq`. */
  readonly id: number;
  readonly productId: number;
  /** ISO 4217 numeric. */
  readonly currencyId: number;
  /** The holder's name. */
  readonly name: string;
  readonly alias?: string | undefined;
  /** ISO 20022 cash account type, such as `CACC`. */
  readonly type: string;
  /** The account number that payers use. Unique over all workspaces. */
  readonly code: string;
}

/** The database sets balance and version. An account starts at zero with a first snapshot. */
const OPEN_ACCOUNT = sqlStatement(
  'open_account',
  `insert into account (workspace_id, id, product_id, currency_id, name, alias, type, code)
   values ($1, $2, $3, $4, $5, $6, $7, $8)`,
);

/** The statement that opens an account. The caller sends it in a database transaction. */
export function openAccount(account: NewAccount): BoundStatement<unknown> {
  const { workspaceId, id, productId, currencyId, name, alias, type, code } = account;
  return bind(OPEN_ACCOUNT, workspaceId, id, productId, currencyId, name, alias ?? null, type, code);
}

/** A batch with reserved ids and open own accounts. Its database transaction needs no other connection. */
export interface PreparedPosting {
  readonly proposals: readonly Proposal[];
  /** The row-level-security scope that its database transaction needs. */
  readonly workspaces: readonly number[];
  /** One id for each entry. */
  readonly transactionIds: readonly number[];
  /** One id for each leg. */
  readonly transferIds: readonly number[];
  /** Ids of the workspaces' own accounts by `ownAccountKey`. */
  readonly ownAccounts: ReadonlyMap<string, number>;
}

/**
 * Prepares a batch for `lockAndRead`, `decide` and `write`. Call it before the database transaction begins.
 *
 * @throws Refusal `unavailable` if the database cannot be reached
 */
export async function preparePosting(books: Books, proposals: readonly Proposal[]): Promise<PreparedPosting> {
  const entries = proposals.flatMap((proposal) => proposal.entries);
  const accounts = proposals.flatMap(customerAccountsOf);
  const workspaces = [...new Set([...entries, ...accounts].map(({ workspaceId }) => workspaceId))];
  // The first snapshot of a new account takes a transfer id. Opening accounts first makes the ids of a lone caller repeatable.
  await ensureOwnAccounts(books, proposals);
  const [transactionIds, transferIds] = await Promise.all([
    reserve(books.transactionIds, entries.length),
    reserve(
      books.transferIds,
      entries.reduce((count, { legs }) => count + legs.length, 0),
    ),
  ]);
  return { proposals, workspaces, transactionIds, transferIds, ownAccounts: books.ownAccounts };
}

/** Takes all ids in one synchronous step. No other batch can take one of them in between. */
async function reserve(blocks: IdBlocks, count: number): Promise<readonly number[]> {
  await blocks.ready(count);
  return Array.from({ length: count }, () => blocks.take());
}
