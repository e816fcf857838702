import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

/** A process of the run, the file in which PostgreSQL writes the process of the server, or a mounted folder. */
type Ended = { readonly pid: number } | { readonly pidFile: string } | { readonly mount: string };

/**
 * Ends the processes of a run that was killed. This file runs as a program of its own too, which reads what this process registers, and
 * ends all of it when its standard input closes: SIGKILL leaves this process no time to do so itself.
 */
class RunEnd {
  private program: ChildProcess | undefined;

  /** Registers what is to end with the run, until it is removed. */
  add(ended: Ended): void {
    this.write({ ended, isRunning: true });
  }

  remove(ended: Ended): void {
    this.write({ ended, isRunning: false });
  }

  private write(line: { readonly ended: Ended; readonly isRunning: boolean }): void {
    this.program ??= this.start();
    this.program.stdin?.write(`${JSON.stringify(line)}\n`);
  }

  private start(): ChildProcess {
    // A session of its own, which Ctrl-C does not reach.
    const file = __filename.replace('/src/', '/dist/').replace(/ts$/, 'js');
    const program = spawn(process.execPath, [file], { stdio: ['pipe', 'ignore', 'ignore'], detached: true });
    for (const emitter of [program, program.stdin]) emitter.on('error', () => undefined);
    // Neither keeps the run from ending.
    program.unref();
    (program.stdin as unknown as { unref(): void }).unref();
    return program;
  }
}

/** One for this process. */
export const runEnd = new RunEnd();

/** A server that was being started when the run ended appears within this time. */
const WATCH_MS = 3_000;

async function endWithInput(): Promise<void> {
  // Standard input closes with the run. Signals to the run are no signals to this program.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
  const running = new Map<string, Ended>();
  for await (const line of createInterface({ input: process.stdin })) {
    const { ended, isRunning } = JSON.parse(line) as { ended: Ended; isRunning: boolean };
    if (isRunning) running.set(JSON.stringify(ended), ended);
    else running.delete(JSON.stringify(ended));
  }
  const all = [...running.values()];
  for (const one of all) if ('pid' in one) end(() => one.pid, 'SIGKILL');
  const files = all.flatMap((one) => ('pidFile' in one ? [one.pidFile] : []));
  const until = Date.now() + WATCH_MS;
  while (files.length > 0 && Date.now() < until) {
    // Without a checkpoint, as the data of the run is of no more use.
    for (const file of files) end(() => Number.parseInt(readFileSync(file, 'latin1'), 10), 'SIGQUIT');
    await sleep(100);
  }
  for (const one of all) if ('mount' in one) spawnSync('umount', ['-l', one.mount]);
}

/** A process that has ended, and a server that has not started, need nothing. */
function end(pidOf: () => number, signal: NodeJS.Signals): void {
  try {
    const pid = pidOf();
    if (pid > 1) process.kill(pid, signal);
  } catch (error) {
    if (!['ESRCH', 'ENOENT'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}

if (require.main === module) void endWithInput();
