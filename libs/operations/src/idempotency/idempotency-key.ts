import { createHash } from 'node:crypto';
import { isIdempotencyKey, Refusal } from '@banking/domain';
import { canonicalJson, type CanonicalValue } from '@banking/domain/proof';

/** A request to create something: an operation with the values of its path, and the content of the request. */
export interface CreationRequest {
  readonly workspaceId: number;
  /** Unique with the values of the path, such as `placeOrder/17`. */
  readonly operation: string;
  /** All of the request but the values of the path. */
  readonly content: object;
}

/** A caller's key with the hash of the request it stands for. One key has one request per operation and workspace. */
export interface IdempotencyKey {
  readonly workspaceId: number;
  readonly operation: string;
  readonly key: string;
  /** SHA-256 of the canonical JSON of the request's content. */
  readonly fingerprint: Buffer;
}

/** How long the response of a key is stored: an SQL interval. */
export const RETENTION = `interval '30 days'`;

/**
 * The key of a request, or undefined if the caller sent none.
 *
 * @throws Refusal `idempotency_key_invalid`
 */
export function keyOf(
  { workspaceId, operation, content }: CreationRequest,
  key: string | undefined,
): IdempotencyKey | undefined {
  if (key === undefined) return undefined;
  if (!isIdempotencyKey(key)) throw new Refusal('idempotency_key_invalid');
  const fingerprint = createHash('sha256')
    .update(canonicalJson(content as CanonicalValue))
    .digest();
  return { workspaceId, operation, key, fingerprint };
}
