import { createHash } from 'node:crypto';
import { parsePayoutKey, payoutKey } from '@banking/payouts';

/** ISO 20022 Max35Text. */
const LENGTH_MAX = 35;

const SHORT = /^P([0-9A-Z]{1,11})-([0-9A-Z]{1,11})-([0-9A-Z]{10})$/;
const WRITABLE = /^[A-Za-z0-9-]{1,35}$/;

/**
 * The `EndToEndId` of a payment: its key where that has at most 35 characters. A longer key of a payout is written in base 36, so that the
 * key can be read from a file. Any other is a digest.
 */
export function endToEndIdOf(key: string): string {
  if (WRITABLE.test(key) && !SHORT.test(key)) return key;
  const payout = parsePayoutKey(key);
  if (!payout) return createHash('sha256').update(`end to end ${key}`).digest('hex').slice(0, LENGTH_MAX);
  const { workspaceId, transactionId, nonce } = payout;
  const digits = (value: number) => value.toString(36).toUpperCase();
  return `P${digits(workspaceId)}-${digits(transactionId)}-${digits(Number.parseInt(nonce, 16)).padStart(10, '0')}`;
}

/** The key of a payout that an `EndToEndId` was made of; undefined for one of another payment. */
export function keyOfEndToEndId(endToEndId: string): string | undefined {
  if (parsePayoutKey(endToEndId)) return endToEndId;
  const [, workspace, transaction, nonce] = SHORT.exec(endToEndId) ?? [];
  if (workspace === undefined || transaction === undefined || nonce === undefined) return undefined;
  const key = payoutKey({
    workspaceId: Number.parseInt(workspace, 36),
    transactionId: Number.parseInt(transaction, 36),
    nonce: Number.parseInt(nonce, 36).toString(16).padStart(12, '0'),
  });
  return parsePayoutKey(key) && key;
}
