/** The options of a request that creates a resource. The key makes a retry safe. */
export interface RequestOptions {
  /**
   * 1 to 255 visible ASCII characters. Generated once for a request and sent with every attempt. Without a key, a retry after a lost
   * response may execute the request twice.
   */
  readonly idempotencyKey?: string | undefined;
}

/** A created resource, and whether an earlier request created it. */
export interface Created<T> {
  readonly resource: T;
  /** True if an earlier request with the same key created it; `resource` is the response to that request. */
  readonly isReplay: boolean;
}

const KEY = /^[\x21-\x7e]{1,255}$/;

const APPROVED_KEY = /^approval-[0-9a-f]{64}$/;

/** The key with which an approved request is carried out. @param digest of its approval */
export const approvedKey = (digest: string): string => `approval-${digest}`;

/** Whether a key is one of approved requests. A caller may not send one. */
export const isReservedKey = (key: string): boolean => APPROVED_KEY.test(key);

/** Whether a text is a valid idempotency key. */
export function isIdempotencyKey(text: string): boolean {
  return typeof text === 'string' && KEY.test(text);
}
