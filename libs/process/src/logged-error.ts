/** The fields of an error in the log. `detail` and `where` are omitted, because PostgreSQL quotes rows there. */
interface LoggedError {
  readonly type: string;
  /** Omitted if it may quote a value. */
  readonly message?: string | undefined;
  readonly stack?: string | undefined;
  readonly code?: string | undefined;
  readonly statement?: string | undefined;
  readonly constraint?: string | undefined;
  readonly cause?: LoggedError | undefined;
}

const CAUSES_MAX = 4;

/** Errors of the JavaScript engine: `JSON.parse`, `BigInt`, `in` and others quote the value at fault. */
const NATIVE = new Set(['EvalError', 'RangeError', 'ReferenceError', 'SyntaxError', 'TypeError', 'URIError']);

/** SQLSTATE class 22, data exception: the message quotes the value at fault. */
const DATA_EXCEPTION = /^22[0-9A-Z]{3}$/;

/** Describes an error for the log, without values of the request. */
export function describeError(thrown: unknown, causesLeft = CAUSES_MAX): LoggedError {
  if (!(thrown instanceof Error)) return { type: typeof thrown, message: 'the value thrown is not an error' };
  const { code, statement, constraint } = thrown as Error & Record<'code' | 'statement' | 'constraint', unknown>;
  const text = (value: unknown) => (typeof value === 'string' ? value : undefined);
  const quotesValue = NATIVE.has(thrown.name) || DATA_EXCEPTION.test(text(code) ?? '');
  return {
    type: thrown.name,
    message: quotesValue ? undefined : thrown.message,
    stack: quotesValue ? framesOf(thrown) : thrown.stack,
    code: text(code),
    statement: text(statement),
    constraint: text(constraint),
    cause: thrown.cause === undefined || causesLeft === 0 ? undefined : describeError(thrown.cause, causesLeft - 1),
  };
}

/** The stack without the message. The message is removed as a whole, because its lines may look like frames. */
function framesOf({ stack = '', message }: Error): string | undefined {
  const at = stack.indexOf(message);
  const frames = at < 0 ? '' : stack.slice(at + message.length);
  return frames.startsWith('\n    at ') ? frames.slice(1) : undefined;
}
