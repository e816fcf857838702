import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { runEnd } from './end-with-run.js';

const CLI = join(__dirname, '../../../apps/cli/dist/main.js');

/** What a command such as `banking verify` printed. The exit code is null if it was killed. */
export interface BooksProof {
  readonly exitCode: number | null;
  readonly output: string;
}

/** A command of operators that runs. */
export interface BankingCommand {
  readonly done: Promise<BooksProof>;
  /** SIGKILL. */
  kill(): void;
}

/** Starts `banking`. */
export function startBanking(
  parameters: readonly string[],
  environment: Readonly<Record<string, string>>,
): BankingCommand {
  const env = { PATH: process.env['PATH'], ...environment };
  const child = spawn(process.execPath, [CLI, ...parameters], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const registered = child.pid === undefined ? undefined : { pid: child.pid };
  if (registered !== undefined) runEnd.add(registered);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  }
  const done = new Promise<BooksProof>((resolve) => {
    child.once('close', (exitCode) => {
      if (registered !== undefined) runEnd.remove(registered);
      resolve({ exitCode, output });
    });
  });
  return { done, kill: () => void child.kill('SIGKILL') };
}
