import { execFile } from 'node:child_process';
import { mkdirSync } from 'node:fs';

/** What npm hands on to its scripts. Another npm would take it for its own configuration. */
const OF_NPM = /^(?:npm_(?:package|lifecycle|config_local_prefix|config_workspace)|INIT_CWD$|NODE_OPTIONS$)/;

const OUTPUT_MAX_BYTES = 64 * 1024 * 1024;

/** Prints a line of progress to standard error, so that standard output holds the results only. */
export function report(line) {
  process.stderr.write(`${line}\n`);
}

/**
 * Runs a program to its end.
 *
 * @returns its standard output
 * @throws Error with its whole output if it fails
 */
export function command(program, args, { cwd, environment = {} } = {}) {
  const inherited = Object.entries(process.env).filter(([name]) => !OF_NPM.test(name));
  const env = { ...Object.fromEntries(inherited), ...environment };
  return new Promise((resolve, reject) => {
    execFile(program, args, { cwd, env, maxBuffer: OUTPUT_MAX_BYTES }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${program} ${args[0] ?? ''} failed: ${error.code ?? error.signal}\n${stdout}${stderr}`));
    });
  });
}

/** Unpacks an archive without the folder that contains all its files. */
export async function unpack(archive, folder) {
  mkdirSync(folder, { recursive: true });
  await command('tar', ['-xzf', archive, '--strip-components=1', '-C', folder]);
  return folder;
}
