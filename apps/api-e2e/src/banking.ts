import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { bareEnvironment } from './config.js';

const MAIN = join(__dirname, '..', '..', 'cli', 'dist', 'main.js');

/** Runs the operator's program on a DATA_DIR and answers what it prints. @throws Error with what it complains of */
export function banking(dataDir: string, ...args: string[]): Promise<string> {
  return bankingWith({ DATA_DIR: dataDir }, ...args);
}

/** The same with further settings. */
export async function bankingWith(settings: Readonly<Record<string, string>>, ...args: string[]): Promise<string> {
  const env = { ...bareEnvironment(), ...settings };
  const { stdout } = await promisify(execFile)(process.execPath, [MAIN, ...args], { env, timeout: 60_000 });
  return stdout;
}
