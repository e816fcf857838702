// `instanceof` is true for two copies of the library, as for the errors in errors.ts.
const SIGNATURE_ERROR = Symbol.for('@banking/client/SignatureError');

/** A request cannot be signed, or its signature is not valid. The message contains no value of the request. */
export class SignatureError extends Error {
  override readonly name = 'SignatureError';

  /** Read by `instanceof SignatureError`. */
  get [SIGNATURE_ERROR](): true {
    return true;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    if (this !== SignatureError) return super[Symbol.hasInstance](value);
    return (value as Partial<SignatureError> | null | undefined)?.[SIGNATURE_ERROR] === true;
  }
}
