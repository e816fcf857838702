import { createHash } from 'node:crypto';
import { canonicalTransaction, type TransactionContent } from '@banking/domain/proof';

/** SHA-256 of a text, as `digestOf` of the domain library, which is asynchronous in browsers. */
export function digestNow(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** The hash of a transaction, as `transactionHash` of the domain library. */
export function hashOf(content: TransactionContent): string {
  return digestNow(canonicalTransaction(content));
}
