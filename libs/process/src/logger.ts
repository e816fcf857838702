import pino, { type Logger, type LoggerOptions } from 'pino';
import type { EnvironmentReader } from './environment-reader.js';
import { LogDestination } from './log-destination.js';

const LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];

export interface LogConfig {
  readonly logLevel: string;
  /** Readable lines for a terminal instead of JSON. */
  readonly logPretty: boolean;
}

/** Reads LOG_LEVEL and LOG_FORMAT. Lines are readable by default if the output is a terminal. */
export function readLogging({ oneOf }: EnvironmentReader, isTerminal: boolean): LogConfig {
  return {
    logLevel: oneOf('LOG_LEVEL', LEVELS, 'info'),
    logPretty: oneOf('LOG_FORMAT', ['json', 'pretty'], isTerminal ? 'pretty' : 'json') === 'pretty',
  };
}

let cachedAtMs = 0;
let cachedTime = '';

/** As pino's own. Many lines of a busy service share a millisecond, and formatting the time is much of the cost of a line. */
function isoTime(): string {
  const nowMs = Date.now();
  if (nowMs !== cachedAtMs) {
    cachedAtMs = nowMs;
    cachedTime = `,"time":"${new Date(nowMs).toISOString()}"`;
  }
  return cachedTime;
}

/**
 * The options of every log: one JSON line for an event, or a readable line on a terminal. Headers, query strings and bodies are
 * not logged, so no token and no personal data is.
 */
export const loggerOptions = (level: string): LoggerOptions => ({
  level,
  base: null,
  timestamp: isoTime,
  formatters: { level: (label: string) => ({ level: label }) },
  serializers: { req: () => undefined, res: () => undefined, err: (thrown: unknown): object => describeError(thrown) },
});

/** A process goes on without its log, as after a restart of the collector of logs. */
const ignoreError = () => undefined;

/** @param fieldsOf returns fields of every line, such as the ids of the active trace. A field of the line itself replaces them */
export function createLogger({ logLevel, logPretty }: LogConfig, fieldsOf?: () => object): Logger {
  const options = { ...loggerOptions(logLevel), ...(fieldsOf && { mixin: fieldsOf }) };
  if (!process.stdout.listeners('error').includes(ignoreError)) process.stdout.on('error', ignoreError);
  if (!logPretty) {
    const destination = new LogDestination(process.stdout.fd, (lines) => log.warn({ lines }, 'log lines dropped'));
    const log = pino(options, destination);
    return log;
  }
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- loading it takes 16 ms, and most processes write JSON
  const { prettyFactory } = require('pino-pretty') as typeof import('pino-pretty');
  const prettify = prettyFactory({ translateTime: 'SYS:HH:MM:ss', ignore: 'context', singleLine: true });
  // At once, not by a worker thread, so that lines are in order with those of the program, such as the ready line.
  return pino(options, { write: (line) => void process.stdout.write(prettify(line)) });
}

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
