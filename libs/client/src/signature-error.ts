/** As with the errors of the main entry: `instanceof` holds for both copies in a process that imports and requires. */
const SIGNATURE_ERROR = Symbol.for('@banking/client/SignatureError');

/** Why a request cannot be signed, or why its signature proves nothing: one sentence, without any value of the request. */
export class SignatureError extends Error {
  override readonly name = 'SignatureError';

  /** What `instanceof SignatureError` asks for. */
  get [SIGNATURE_ERROR](): true {
    return true;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    if (this !== SignatureError) return super[Symbol.hasInstance](value);
    return (value as Partial<SignatureError> | null | undefined)?.[SIGNATURE_ERROR] === true;
  }
}
