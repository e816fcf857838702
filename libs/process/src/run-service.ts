import { setFlagsFromString } from 'node:v8';
import { usageFor } from './command-line.js';
import { ConfigError } from './environment-reader.js';

/** Exit codes of every program of this repository. A program that a signal ends reports 128 and its number. */
export const EXIT = { ok: 0, failed: 1, misused: 2 } as const;

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

export interface ServiceOptions {
  /** The text of `--help`. */
  readonly usage: string;
  /** Reads the configuration and starts. A start under way when a signal arrives is completed first, then stopped. */
  start(): Promise<RunningService>;
  /** Called at the first signal, before `stop`. */
  readonly onStopping: (signal: NodeJS.Signals) => void;
  readonly onStopped: () => void;
  /** How long a stop may take before the process exits with code 1. */
  readonly stopWithinMs: number;
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
  const started = options.start();
  stopOnSignal(started, options, exitWith);
  started.catch(exitWith);
}

function stopOnSignal(
  started: Promise<RunningService>,
  { onStopping, onStopped, stopWithinMs }: ServiceOptions,
  exitWith: (error: unknown) => never,
): void {
  let requestedAtMs: number | undefined;
  const stop = async (signal: NodeJS.Signals) => {
    if (requestedAtMs !== undefined) {
      if (performance.now() - requestedAtMs > SAME_SIGNAL_MS) process.exit(EXIT.failed);
      return;
    }
    const begunAtMs = performance.now();
    requestedAtMs = begunAtMs;
    onStopping(signal);
    setTimeout(() => process.exit(EXIT.failed), stopWithinMs).unref();
    await (await started).stop(signal, () => stopWithinMs - (performance.now() - begunAtMs));
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
