import { execFile } from 'node:child_process';

/** Longer than anything here takes on a busy machine. */
const COMMAND_MS = 180_000;

interface CommandOptions {
  readonly cwd: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

/**
 * Runs a program to its end and answers what it printed.
 *
 * @throws Error with everything it said, when it fails or takes too long.
 */
export function command(
  program: string,
  args: readonly string[],
  { cwd, environment = {}, timeoutMs = COMMAND_MS }: CommandOptions,
): Promise<string> {
  const env = { ...withoutTheCaller(process.env), ...environment };
  const options = { cwd, env, timeout: timeoutMs, maxBuffer: 64 * 1024 * 1024 };
  return new Promise((resolve, reject) => {
    execFile(program, args, options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${program} ${args.join(' ')}\n${error.message}\n${stdout}\n${stderr}`));
    });
  });
}

/** What npm, Nx and Jest tell their children about themselves would make another npm or Nx work in our own folder. */
function withoutTheCaller(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const ofTheCaller =
    /^(?:npm_(?:package|lifecycle|config_local_prefix)|INIT_CWD$|NODE_OPTIONS$|NODE_ENV$|JEST_|NX_|GIT_)/;
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !ofTheCaller.test(name)));
}
