import { bind, statement, type Tx } from '@banking/postgres';
import { bookedTransactions } from './booked-transactions.js';
import { hashOf } from './decide.js';

export const HASH_CHECK = 'every transaction has the hash of its content and of what came before it';

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
  for await (const portion of bookedTransactions(tx, workspaceId)) {
    for (const { content, hash } of portion) {
      if (hash !== hashOf(content)) wrong.push(`transaction ${content.transactionId} does not have its hash`);
    }
  }
  return wrong;
}
