import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { bareEnvironment } from './config.js';

const MAIN = join(__dirname, '..', '..', 'cli', 'dist', 'main.js');

/** Longer than any command on a slow machine. */
const TIMEOUT_MS = 240_000;

/** Runs the command `banking` on a DATA_DIR and returns its standard output. @throws Error with its standard error */
export function banking(dataDir: string, ...args: string[]): Promise<string> {
  return bankingWith({ DATA_DIR: dataDir }, ...args);
}

/** Runs the command `banking` with further environment variables. */
export async function bankingWith(settings: Readonly<Record<string, string>>, ...args: string[]): Promise<string> {
  const env = { ...bareEnvironment(), ...settings };
  const { stdout } = await promisify(execFile)(process.execPath, [MAIN, ...args], { env, timeout: TIMEOUT_MS });
  return stdout;
}
