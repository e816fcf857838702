import { Refusal } from '@banking/domain';
import type { IdempotencyKey } from './idempotency-key.js';

/** The refusal of a key that another request used first, or undefined if the first request was the same. */
export function keyConflict(
  { fingerprint }: IdempotencyKey,
  first: Pick<IdempotencyKey, 'fingerprint'>,
): Refusal | undefined {
  return fingerprint.equals(first.fingerprint) ? undefined : new Refusal('idempotency_key_reused');
}
