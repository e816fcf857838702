import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

const MAIN = join(__dirname, '../../dist/main.js');

/** Runs the built command with these arguments, to its end. */
export function bench(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...args], { encoding: 'utf8' });
  return { status, stdout, stderr };
}
