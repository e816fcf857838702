import { spawn } from 'node:child_process';

export interface CommandResult {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandPlace {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** The variables that a child process needs. Those that configure the service are left out. */
const INHERITED = ['PATH', 'HOME', 'LANG', 'npm_config_cache', 'npm_config_registry', 'npm_config_userconfig'];

/** Runs a program to its end. */
export async function runCommand(
  program: string,
  args: readonly string[],
  { cwd, env = {} }: CommandPlace,
): Promise<CommandResult> {
  const inherited = INHERITED.flatMap((name) => (process.env[name] ? [[name, process.env[name]] as const] : []));
  const child = spawn(program, args, {
    cwd,
    env: { ...Object.fromEntries(inherited), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const killWithUs = () => child.kill('SIGKILL');
  process.once('exit', killWithUs);
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => (output[name] += text));
  }
  const exitCode = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  process.off('exit', killWithUs);
  return { exitCode, ...output };
}

/** Runs a program that must succeed. @throws Error with the end of its output */
export async function requireCommand(program: string, args: readonly string[], place: CommandPlace): Promise<string> {
  const { exitCode, stdout, stderr } = await runCommand(program, args, place);
  if (exitCode === 0) return stdout;
  throw new Error(`${program} ${args.join(' ')} ended with ${exitCode}: ${(stdout + stderr).slice(-2_000)}`);
}
