// `instanceof` is true for two copies of the library, as for the errors in errors.ts.
const SESSION_ERROR = Symbol.for('@banking/client/SessionError');

/** A session cannot return an access token. The error of the store or the platform is the `cause`. */
export class SessionError extends Error {
  override readonly name = 'SessionError';
  /** Whether the user has to sign in again. If not, a later call may succeed. */
  readonly isOver: boolean;

  constructor(message: string, { isOver, ...options }: ErrorOptions & { readonly isOver: boolean }) {
    super(message, options);
    this.isOver = isOver;
  }

  /** Read by `instanceof SessionError`. */
  get [SESSION_ERROR](): true {
    return true;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    if (this !== SessionError) return super[Symbol.hasInstance](value);
    return (value as Partial<SessionError> | null | undefined)?.[SESSION_ERROR] === true;
  }
}
