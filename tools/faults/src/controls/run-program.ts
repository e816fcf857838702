import { spawn } from 'node:child_process';
import { once } from 'node:events';

export interface ProgramResult {
  /** Null if a signal ended it. */
  readonly exitCode: number | null;
  /** The end of what it printed, of both streams. */
  readonly output: string;
  readonly isTimedOut: boolean;
}

export interface ProgramOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly limitMs: number;
  /** Ends the program. */
  readonly signal: AbortSignal;
}

const OUTPUT_MAX = 20_000;
/** How long a program may take to end after SIGTERM. */
const END_MS = 15_000;

/** Runs a program of Node in a process group of its own, so that its end is the end of all processes that it started. */
export async function runProgram(
  args: readonly string[],
  { cwd, env, limitMs, signal }: ProgramOptions,
): Promise<ProgramResult> {
  signal.throwIfAborted();
  const child = spawn(process.execPath, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => (output = (output + chunk).slice(-OUTPUT_MAX)));
  }
  let isTimedOut = false;
  let killing: NodeJS.Timeout | undefined;
  const end = () => {
    endGroup(child.pid, 'SIGTERM');
    killing ??= setTimeout(() => endGroup(child.pid, 'SIGKILL'), END_MS);
  };
  const limit = setTimeout(() => {
    isTimedOut = true;
    end();
  }, limitMs);
  signal.addEventListener('abort', end, { once: true });
  try {
    const [exitCode] = (await once(child, 'close')) as [number | null];
    signal.throwIfAborted();
    return { exitCode, output, isTimedOut };
  } finally {
    signal.removeEventListener('abort', end);
    clearTimeout(limit);
    clearTimeout(killing);
    // Processes that the program has left behind.
    endGroup(child.pid, 'SIGKILL');
  }
}

function endGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
