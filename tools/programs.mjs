import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';

export const ROOT = resolve(import.meta.dirname, '..');

/** The folders of all projects, from the top of the workspace. */
export const projectFolders = () =>
  ['apps', 'libs', 'tools'].flatMap((group) =>
    readdirSync(join(ROOT, group))
      .map((name) => `${group}/${name}`)
      .filter((folder) => existsSync(join(ROOT, folder, 'package.json'))),
  );

/**
 * Runs a program of node_modules and returns its exit code.
 *
 * @param options.heading collects the output and prints it below this heading at the end, for programs that run at once.
 */
export function run(program, args, { heading } = {}) {
  const child = spawn(process.execPath, [join(ROOT, 'node_modules', program), ...args], {
    cwd: ROOT,
    env: { ...process.env, NX_DAEMON: 'false' },
    stdio: ['ignore', ...(heading === undefined ? ['inherit', 'inherit'] : ['pipe', 'pipe'])],
  });
  const output = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => output.push(chunk));
  const stops = Object.entries({ SIGINT: 130, SIGTERM: 143 }).map(([signal, code]) => {
    const stop = () => {
      child.kill(signal);
      child.once('exit', () => process.exit(code));
    };
    process.once(signal, stop);
    return () => process.off(signal, stop);
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      for (const remove of stops) remove();
      if (heading !== undefined) process.stdout.write(`\n${heading}\n${Buffer.concat(output)}`);
      resolve(code ?? 1);
    });
  });
}
