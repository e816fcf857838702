/** In the registry of all symbols, so that every copy of this library in a process has the same one. */
const KINDS = Symbol.for('@banking/domain/kinds');

/** What a {@link BankingError} has beside its message. */
export interface BankingErrorFields {
  /** Stable: callers may branch on it. For a refusal, its reason. */
  readonly code: string;
  /** The HTTP status (RFC 9110) of the response, or the one that a service would send. Undefined without either. */
  readonly status?: number | undefined;
  /** Give it to support. Undefined if the request was not sent, or has none that is known. */
  readonly requestId?: string | undefined;
  /** Whole seconds until a retry is useful. */
  readonly retryAfterSeconds?: number | undefined;
  readonly cause?: unknown;
}

/**
 * The base of all errors of the libraries.
 *
 * A process that both imports and requires a library has two copies of each class. `instanceof` is true for both,
 * because it compares the names in `kind`. A subclass of a caller has no `kind`, and is compared by its prototype.
 */
export class BankingError extends Error {
  /** The name of the class. A bundler may rename the class itself. */
  static readonly kind: string = 'BankingError';

  override readonly name: string;
  readonly code: string;
  readonly status?: number;
  readonly requestId?: string;
  readonly retryAfterSeconds?: number;

  constructor(message: string, { code, status, requestId, retryAfterSeconds, ...options }: BankingErrorFields) {
    super(message, options);
    this.name = new.target.kind;
    this.code = code;
    if (status !== undefined) this.status = status;
    if (requestId !== undefined) this.requestId = requestId;
    if (retryAfterSeconds !== undefined) this.retryAfterSeconds = retryAfterSeconds;
  }

  /** Read by `instanceof`: the kinds of this error, those of its base classes last. */
  get [KINDS](): readonly string[] {
    const kinds: string[] = [];
    for (let of = this.constructor as typeof BankingError; 'kind' in of; of = Object.getPrototypeOf(of)) {
      kinds.push(of.kind);
    }
    return kinds;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    if (!Object.hasOwn(this, 'kind')) return super[Symbol.hasInstance](value);
    const kinds = (value as { readonly [KINDS]?: readonly string[] } | null | undefined)?.[KINDS];
    return kinds?.includes(this.kind) === true;
  }
}
