import { setFlagsFromString } from 'node:v8';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { ConfigError } from './environment-reader.js';

/** Exit codes of every program of this repository. A program that a signal ends reports 128 and its number. */
export const EXIT = { ok: 0, failed: 1, misused: 2, requested: 3 } as const;

/** A terminal and npm both forward Ctrl-C: two signals within this time are one request. */
const SAME_SIGNAL_MS = 1_000;

/**
 * How much the old generation of the heap may grow between two full garbage collections, in percent of what the last one left. Under load,
 * objects of concurrent requests reach the old generation and are garbage soon after. By default the heap grows up to four times.
 */
const HEAP_GROWING_PERCENT = 175;

/** A service that has started. */
export interface RunningService {
  /**
   * Completes the work that was begun and closes what was opened.
   *
   * @param leftMs how much of `stopWithinMs` is left at the moment
   */
  stop(signal: NodeJS.Signals, leftMs: () => number): Promise<void>;
}

interface ServiceOptions {
  /** The text of `--help`. */
  readonly usage: string;
  /**
   * Reads the configuration and starts.
   *
   * @param signal aborted when the process is to stop. A start that throws its reason has closed what it opened; one that does not is
   *   stopped once it is completed
   */
  start(signal: AbortSignal): Promise<RunningService>;
  /** Called at the first signal, before `stop`. */
  readonly onStopping: (signal: NodeJS.Signals) => void;
  readonly onStopped: () => void;
  /** How long a stop may take before the process exits with code 1. */
  readonly stopWithinMs: number;
  /** What goes on when the process exits without a stop, and how to end it: a sentence for each. */
  leftRunning(): readonly string[];
  /** Whether the message of an error states what an operator can do. Other errors are printed with their stack. */
  isOperatorError(error: unknown): boolean;
}

/**
 * Runs a service until SIGTERM or SIGINT. A second signal, more than a second after the first, ends the process at once.
 *
 * Exit codes: 0 after a stop, 1 after a failure, 2 for a mistake in the command line or the configuration.
 */
export function runService(options: ServiceOptions): void {
  const usage = usageFor(process.argv.slice(2), options.usage);
  if (usage !== undefined) {
    (usage.exitCode === EXIT.ok ? process.stdout : process.stderr).write(usage.text);
    process.exitCode = usage.exitCode;
    return;
  }
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWING_PERCENT}`);
  const exitWith = (error: unknown) => exitAfter(error, options);
  const stopping = new AbortController();
  const started = options.start(stopping.signal).catch((error: unknown) => {
    if (stopping.signal.aborted && error === stopping.signal.reason) return undefined;
    return exitWith(error);
  });
  stopOnSignal(started, stopping, options, exitWith);
}

/** @param started undefined if the signal has ended the start */
function stopOnSignal(
  started: Promise<RunningService | undefined>,
  stopping: AbortController,
  { onStopping, onStopped, stopWithinMs, leftRunning }: ServiceOptions,
  exitWith: (error: unknown) => never,
): void {
  let requestedAtMs: number | undefined;
  const exitAtOnce = () => {
    for (const sentence of leftRunning()) console.error(sentence);
    process.exit(EXIT.failed);
  };
  const stop = async (signal: NodeJS.Signals) => {
    if (requestedAtMs !== undefined) {
      if (performance.now() - requestedAtMs > SAME_SIGNAL_MS) exitAtOnce();
      return;
    }
    const begunAtMs = performance.now();
    requestedAtMs = begunAtMs;
    onStopping(signal);
    stopping.abort();
    setTimeout(exitAtOnce, stopWithinMs).unref();
    await (await started)?.stop(signal, () => stopWithinMs - (performance.now() - begunAtMs));
    onStopped();
    process.exit(EXIT.ok);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      stop(signal).catch(exitWith);
    });
  }
}

function exitAfter(error: unknown, { isOperatorError }: ServiceOptions): never {
  const isExpected = error instanceof ConfigError || isOperatorError(error);
  console.error(isExpected ? (error as Error).message : error);
  process.exit(error instanceof ConfigError ? EXIT.misused : EXIT.failed);
}

/** Text for a person at a terminal, and the exit code it comes with. */
interface UsageText {
  readonly text: string;
  readonly exitCode: 0 | 2;
}

/**
 * The response of a program without arguments to its command line: the usage for `--help`, an error for anything else.
 *
 * @returns undefined if the program may start
 */
export function usageFor(args: readonly string[], usage: string): UsageText | undefined {
  const [first, ...more] = args;
  if (first === undefined) return undefined;
  if (isHelp(first) && more.length === 0) return { text: usage, exitCode: 0 };
  const unknown = args.find((arg) => arg.startsWith('-') && !isHelp(arg));
  const mistake = unknown === undefined ? 'too many arguments' : `unknown option '${unknown}'`;
  return { text: `error: ${mistake}\nThe option --help prints the usage.\n`, exitCode: 2 };
}

const isHelp = (arg: string) => arg === '--help' || arg === '-h';

export interface ServerAddress {
  readonly host: string;
  readonly port: number;
}

/** A response to a probe or a scraper. */
export interface OperatorResponse {
  readonly status: number;
  /** An object is sent as JSON. */
  readonly body: object | string;
  /** The media type of a text. */
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An HTTP server for supervisors, probes and scrapers. */
export interface OperatorServer {
  readonly port: number;
  close(): Promise<void>;
}

const REQUEST_TIMEOUT_MS = 5_000;
const CONNECTIONS_MAX = 64;

/**
 * Serves GET and HEAD of these paths. It has no authentication, so it listens on a loopback address or in a private network.
 *
 * @throws Error of `node:net` if the port cannot be listened on
 */
export async function serveOperators(
  { host, port }: ServerAddress,
  routes: Readonly<Record<string, () => Promise<OperatorResponse>>>,
): Promise<OperatorServer> {
  const server = createServer(
    { requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: REQUEST_TIMEOUT_MS },
    (request, response) => {
      void responseTo(request, routes).then((outcome) => send(response, outcome));
    },
  );
  server.maxConnections = CONNECTIONS_MAX;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      // A later error, such as too many open files, concerns one connection. Without a listener it would end the process.
      server.off('error', reject).on('error', () => undefined);
      resolve();
    });
  });
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function responseTo(
  { method, url }: IncomingMessage,
  routes: Readonly<Record<string, () => Promise<OperatorResponse>>>,
): Promise<OperatorResponse> {
  const path = url?.split('?')[0] ?? '';
  const route = Object.hasOwn(routes, path) ? routes[path] : undefined;
  if (!route) return { status: 404, body: { status: 'not_found' } };
  if (method !== 'GET' && method !== 'HEAD') {
    return { status: 405, body: { status: 'method_not_allowed' }, headers: { Allow: 'GET, HEAD' } };
  }
  // The error may contain a value that does not belong into a response.
  return route().catch(() => ({ status: 500, body: { status: 'failed' } }));
}

function send(response: ServerResponse, { status, body, type = 'application/json', headers }: OperatorResponse): void {
  response.writeHead(status, { 'Content-Type': type, 'Cache-Control': 'no-store', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}
