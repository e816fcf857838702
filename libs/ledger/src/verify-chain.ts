import { bind, statement, type Tx } from '@banking/postgres';
import { hashOf } from './decide.js';
import { currencyCode } from './own-accounts.js';

export const HASH_CHECK = 'every transaction has the hash of its content and of what came before it';

/** Transactions read at a time, so that books of any size fit into memory. */
const PORTION = 1_000;

interface ChainRow {
  readonly id: bigint;
  readonly hash: string;
  readonly value_date: string;
  readonly returned_id: bigint | null;
  readonly transfers:
    | readonly {
        readonly id: number;
        readonly accountId: number;
        readonly currencyId: number;
        readonly direction: 'debit' | 'credit';
        readonly amount: string;
        readonly type: string;
        readonly description: string | null;
        readonly purpose: string | null;
        readonly feeAmount: string | null;
        readonly recipientId: number | null;
        readonly accountVersion: number | null;
        readonly balanceAfter: string | null;
      }[]
    | null;
  readonly previous: readonly { readonly accountId: number; readonly hash: string }[] | null;
}

/**
 * Transactions in the order of their ids, each with its transfers and with the hash each of its customer accounts stood at before
 * it: that of the transaction which wrote the version before.
 */
const CHAIN = statement<ChainRow>(
  'verify_chain',
  `select x.id, x.hash, x.value_date::text as value_date, x.return_of as returned_id,
          (select json_agg(json_build_object(
                    'id', t.id, 'accountId', t.account_id, 'currencyId', t.currency_id, 'direction', t.direction,
                    'amount', t.amount::text, 'type', t.type,
                    'description', t.description, 'purpose', t.purpose, 'feeAmount', t.fee_amount::text,
                    'recipientId', t.recipient_id,
                    'accountVersion', t.account_version, 'balanceAfter', t.balance_after::text))
           from transfer t where t.workspace_id = $1 and t.transaction_id = x.id) as transfers,
          (select json_agg(json_build_object('accountId', touched.account_id, 'hash', coalesce(y.hash, '')))
           from (select account_id, min(account_version) as version from transfer
                 where workspace_id = $1 and transaction_id = x.id and account_version is not null
                 group by account_id) touched
           left join transfer before
             on before.workspace_id = $1 and before.account_id = touched.account_id and before.account_version = touched.version - 1
           left join transaction y on y.workspace_id = $1 and y.id = before.transaction_id) as previous
   from transaction x
   where x.workspace_id = $1 and x.id > $2
   order by x.id limit $3`,
);

/** Accounts whose head is not the hash of the latest transaction that touched them. */
const HEADS = statement<{ detail: string }>(
  'verify_heads',
  `select format('account %s does not end its chain of hashes', a.id) as detail
   from account a
   left join lateral (
     select t.transaction_id from transfer t
     where t.workspace_id = $1 and t.account_id = a.id and t.account_version is not null
     order by t.account_version desc limit 1
   ) latest on true
   left join transaction x on x.workspace_id = $1 and x.id = latest.transaction_id
   where a.workspace_id = $1 and a.kind = 'customer' and a.head <> coalesce(x.hash, '')`,
);

/** Makes every hash of a workspace again from the rows of this snapshot, and says which differ. */
export async function wrongHashes(tx: Tx, workspaceId: number): Promise<string[]> {
  const [heads] = await tx.flight([bind(HEADS, workspaceId)] as const);
  const wrong = heads.map(({ detail }) => detail);
  let last = 0n;
  let rows: readonly ChainRow[];
  do {
    [rows] = await tx.flight([bind(CHAIN, workspaceId, last, PORTION)] as const);
    for (const row of rows) {
      if (row.hash !== hashAgain(workspaceId, row)) wrong.push(`transaction ${row.id} does not have its hash`);
      last = row.id;
    }
  } while (rows.length === PORTION);
  return wrong;
}

function hashAgain(workspaceId: number, row: ChainRow): string {
  return hashOf({
    workspaceId,
    transactionId: Number(row.id),
    valueDate: row.value_date,
    ...(row.returned_id === null ? {} : { returnOf: Number(row.returned_id) }),
    transfers: (row.transfers ?? []).map(({ currencyId, ...transfer }) => ({
      ...transfer,
      currencyCode: currencyCode(currencyId),
      description: transfer.description ?? undefined,
      purpose: transfer.purpose ?? undefined,
      feeAmount: transfer.feeAmount ?? undefined,
      recipientId: transfer.recipientId ?? undefined,
      accountVersion: transfer.accountVersion ?? undefined,
      balanceAfter: transfer.balanceAfter ?? undefined,
    })),
    previous: row.previous ?? [],
  });
}
