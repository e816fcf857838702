import { execFileSync } from 'node:child_process';

/** Runs node in a folder, with the environment of this run but its settings of caches, and returns its output. */
export function node(folder: string, args: readonly string[], input = ''): string {
  const own = Object.entries(process.env).filter(([name]) => !/^(?:NX_|JEST_|NODE_OPTIONS$|FORCE_COLOR$)/.test(name));
  const env = { ...Object.fromEntries(own), NX_DAEMON: 'false', CI: 'true', NO_COLOR: '1' };
  return execFileSync(process.execPath, args, { cwd: folder, input, encoding: 'utf8', env });
}
