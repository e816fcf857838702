import type { Timestamp } from '@banking/domain';
import type { TransactionContent, TransferContent, TransferText } from '@banking/domain/proof';
import { bind, sqlStatement, type BoundStatement, type Database } from '@banking/postgres';
import { currencyCode } from './books.js';
import { digestOfDescription, digestOrNone } from './decide.js';
import { rangeKey, rangesOf, type RangeOptions } from './ranges.js';

/** Transactions of a range, which must fit into memory. */
const RANGE_TRANSACTIONS = 1_000;

/** A transaction as it is stored. */
export interface BookedTransaction {
  /** The content that its hash covers. */
  readonly content: TransactionContent & { readonly createdAt: Timestamp };
  /** The descriptions of its transfers, but for those that were erased. */
  readonly descriptions?: readonly TransferText[] | undefined;
  /** The hash that is stored. */
  readonly hash: string;
  readonly status: string;
  /** Whether its transfers have its time of booking. */
  readonly isOfOneTime: boolean;
  readonly updatedAt: Timestamp;
}

/** The columns of a transfer in the order of the query: an array is read faster than an object. */
type TransferRow = readonly [
  id: number,
  accountId: number,
  currencyId: number,
  direction: 'debit' | 'credit',
  amount: string,
  type: string,
  description: readonly [digest: string, salt: string | null, text: string | null] | null,
  purpose: string | null,
  feeAmount: string | null,
  recipientId: number | null,
  recipientDigest: string | null,
  accountVersion: number | null,
  balanceAfter: string | null,
];

export interface BookedRow {
  readonly id: bigint;
  readonly hash: string;
  readonly status: string;
  readonly created_at: Timestamp;
  readonly is_of_one_time: boolean;
  readonly updated_at: Timestamp;
  readonly returned_id: bigint | null;
  readonly order_digest: string | null;
  readonly conversion_digest: string | null;
  readonly transfers: readonly TransferRow[] | null;
  readonly previous: readonly { readonly accountId: number; readonly hash: string }[] | null;
}

/**
 * Transactions in the order of their ids, each with its transfers and the previous hash of each of its customers' accounts: that of the
 * transaction that wrote the version before.
 *
 * Looks the version before up as the highest one below. For an equality, the planner may read the whole account by another index for
 * each transaction.
 */
const booked = (name: string, which: string) =>
  sqlStatement<BookedRow>(
    name,
    `select x.id, encode(x.hash, 'hex') as hash, x.status, rfc3339(x.created_at) as created_at, rfc3339(x.updated_at) as updated_at,
          x.return_of as returned_id, encode(x.order_digest, 'hex') as order_digest, encode(x.conversion_digest, 'hex') as conversion_digest,
          not exists (
            select from transfer t where t.workspace_id = $1 and t.transaction_id = x.id and t.created_at <> x.created_at) as is_of_one_time,
          (select json_agg(json_build_array(
                    t.id, t.account_id, t.currency_id, t.direction, t.amount::text, t.type,
                    case when t.description_digest is not null then json_build_array(
                      encode(t.description_digest, 'hex'), encode(t.description_salt, 'hex'), t.description) end, t.purpose,
                    t.fee_amount::text, t.recipient_id, encode(t.recipient_digest, 'hex'), t.account_version, t.balance_after::text))
           from leg t where t.workspace_id = $1 and t.transaction_id = x.id) as transfers,
          (select json_agg(json_build_object('accountId', touched.account_id, 'hash', encode(coalesce(y.hash, ''), 'hex')))
           from (select account_id, min(account_version) as version from transfer
                 where workspace_id = $1 and transaction_id = x.id
                 group by account_id) touched
           left join lateral (
             select transaction_id, account_version from transfer
             where workspace_id = $1 and account_id = touched.account_id and account_version < touched.version
             order by account_version desc limit 1
           ) latest on latest.account_version = touched.version - 1
           left join transaction y on y.workspace_id = $1 and y.id = latest.transaction_id) as previous
   from transaction x
   where x.workspace_id = $1 and ${which}
   order by x.id`,
  );
const BOOKED = booked('booked_transactions', 'x.id > $2 and x.id <= $3');
/** One index lookup for each id: a range of ids may contain many other transactions. */
const BOOKED_OF = booked('booked_transactions_of', 'x.id = any($2::bigint[])');

const TRANSACTIONS = ['transactions', rangeKey('transaction')] as const;

/** Reads the transactions of a workspace in the order of their ids, each range in a snapshot of its own; see `rangesOf`. */
export async function* bookedTransactions(
  database: Database,
  workspaceId: number,
  { rangeRows = RANGE_TRANSACTIONS, onRange }: RangeOptions = {},
): AsyncGenerator<readonly BookedTransaction[], void, undefined> {
  for await (const { after, upto } of rangesOf(database, workspaceId, TRANSACTIONS, { rangeRows, onRange })) {
    const query = [bind(BOOKED, workspaceId, after, upto)] as const;
    const [rows] = await database.pipeline({ workspaces: [workspaceId] }, query);
    yield rows.map((row) => bookedOf(workspaceId, row));
  }
}

/** The query of transactions by their ids. Rows of ids that are not stored are missing. */
export function readBooked(workspaceId: number, transactionIds: readonly number[]): BoundStatement<BookedRow> {
  return bind(BOOKED_OF, workspaceId, transactionIds);
}

export function bookedOf(workspaceId: number, row: BookedRow): BookedTransaction {
  return {
    content: contentOf(workspaceId, row),
    hash: row.hash,
    descriptions: descriptionsOf(row),
    status: row.status,
    isOfOneTime: row.is_of_one_time,
    updatedAt: row.updated_at,
  };
}

function contentOf(workspaceId: number, row: BookedRow): BookedTransaction['content'] {
  return {
    workspaceId,
    transactionId: Number(row.id),
    ...(row.returned_id === null ? {} : { returnOf: Number(row.returned_id) }),
    createdAt: row.created_at,
    orderDigest: row.order_digest ?? undefined,
    conversionDigest: row.conversion_digest ?? undefined,
    transfers: (row.transfers ?? []).map(transferOf),
    previous: row.previous ?? [],
  };
}

/** The digest that the hash covers. An edited description is not of its digest, and the text that stands for it is none. */
function digestOfStored([digest, salt, description]: NonNullable<TransferRow[6]>): string {
  if (salt === null || digestOrNone(() => digestOfDescription(salt, description ?? '')) === digest) return digest;
  return 'edited';
}

function descriptionsOf({ transfers }: BookedRow): readonly TransferText[] | undefined {
  const texts = (transfers ?? []).flatMap((transfer): TransferText[] => {
    const [, salt = null, description = null] = transfer[6] ?? [];
    return salt === null || description === null ? [] : [{ transferId: transfer[0], salt, description }];
  });
  return texts.length === 0 ? undefined : texts;
}

function transferOf([id, accountId, currencyId, direction, amount, type, ...optional]: TransferRow): TransferContent {
  const [description, purpose, feeAmount, recipientId, recipientDigest, accountVersion, balanceAfter] = optional;
  return {
    id,
    accountId,
    currencyCode: currencyCode(currencyId),
    direction,
    amount,
    type,
    descriptionDigest: description ? digestOfStored(description) : undefined,
    purpose: purpose ?? undefined,
    feeAmount: feeAmount ?? undefined,
    recipientId: recipientId ?? undefined,
    recipientDigest: recipientDigest ?? undefined,
    accountVersion: accountVersion ?? undefined,
    balanceAfter: balanceAfter ?? undefined,
  };
}
