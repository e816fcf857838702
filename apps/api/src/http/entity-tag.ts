import { createHash } from 'node:crypto';

/** A strong validator (RFC 9110, section 8.8.3): the same bytes have the same tag in every process. */
export function entityTagOf(bytes: Uint8Array): string {
  return `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
}

/** Whether `If-Match` (RFC 9110, section 13.1.1) names the tag. A strong tag of ours is never equal to a weak one. */
export const isMatched = (ifMatch: string | undefined, etag: string): boolean =>
  ifMatch === undefined || ifMatch.trim() === '*' || ifMatch.split(',').some((tag) => tag.trim() === etag);

/** Weak comparison, as RFC 9110, section 13.1.2 requires: a cache between may have weakened a tag. */
export function isUnchanged(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch.trim() === '*' || ifNoneMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}
