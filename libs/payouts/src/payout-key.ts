/** The payout of a key. */
export interface PayoutName {
  readonly workspaceId: number;
  readonly transactionId: number;
  /**
   * Random, from the row of the payout. Ids alone do not name a payment: after a restore the sequences give ids of lost transactions
   * again.
   */
  readonly nonce: string;
}

const KEY = /^payout-([1-9]\d{0,15})-([1-9]\d{0,15})-([0-9a-f]{12})$/;

/** The idempotency key of a payout: the same for every try and every worker, and never that of another payout. */
export function payoutKey({ workspaceId, transactionId, nonce }: PayoutName): string {
  return `payout-${workspaceId}-${transactionId}-${nonce}`;
}

/** The payout that a key names, which the books may not have; undefined for a key of another service. */
export function parsePayoutKey(key: string): PayoutName | undefined {
  const [, workspace, transaction, nonce = ''] = KEY.exec(key) ?? [];
  const [workspaceId, transactionId] = [Number(workspace), Number(transaction)];
  if (!Number.isSafeInteger(workspaceId) || !Number.isSafeInteger(transactionId)) return undefined;
  return { workspaceId, transactionId, nonce };
}
