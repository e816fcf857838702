/** What makes two requests one: the caller's name for what they mean to do. */
export interface Intent {
  /**
   * 1 to 255 visible ASCII characters, made once for what is meant and sent with every try. Without it, a request that is repeated
   * because its answer was lost may be carried out twice.
   */
  readonly idempotencyKey?: string | undefined;
}

/** What was made, and whether this request made it. */
export interface Created<T> {
  readonly resource: T;
  /** True for the answer of an earlier request with the same key, as it was then. */
  readonly isReplay: boolean;
}

const KEY = /^[\x21-\x7e]{1,255}$/;

/** Whether a text can be an idempotency key. */
export function isIdempotencyKey(text: string): boolean {
  return typeof text === 'string' && KEY.test(text);
}
