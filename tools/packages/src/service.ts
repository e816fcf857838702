import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { command } from './command.js';
import { ROOT } from './consumer.js';

/** Long enough for a first start, which creates a database cluster and the demo data, on a busy machine. */
const START_MS = 120_000;

/** A built service with the demo data, in a separate process. */
export interface Service {
  readonly url: string;
  /** A token of Ada's. */
  readonly token: string;
  /** Stops it as a supervisor does. @returns its exit code, or null if a signal ended it */
  stop(): Promise<number | null>;
}

interface ServiceOptions {
  readonly dataDir: string;
  readonly corsOrigin?: string;
  /** The folder with the built programs, by default this workspace. */
  readonly root?: string;
  /** The Node that runs them, by default the one of this process. */
  readonly node?: string;
}

/** @throws Error with all the service said, when it ends before it is ready */
export async function startService({
  dataDir,
  corsOrigin = '',
  root = ROOT,
  node = process.execPath,
}: ServiceOptions): Promise<Service> {
  const kept = Object.entries(process.env).filter(([name]) => ['PATH', 'HOME', 'TMPDIR', 'LANG'].includes(name));
  const environment = { ...Object.fromEntries(kept), DATA_DIR: dataDir };
  const child = spawn(node, [join(root, 'apps/api/dist/main.js')], {
    env: { ...environment, PORT: '0', CORS_ORIGINS: corsOrigin },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const killWithUs = () => child.kill('SIGKILL');
  process.once('exit', killWithUs);
  const ended = once(child, 'close').finally(() => process.off('exit', killWithUs)) as Promise<[number | null]>;

  const stop = async () => {
    child.kill('SIGTERM');
    const [exitCode] = await ended;
    return exitCode;
  };

  let said = '';
  const ready = new Promise<string>((resolve) => {
    const take = (text: string) => {
      said += text;
      const url = /^Ready on (http:\/\/[\d.:]+)/m.exec(said)?.[1];
      if (url !== undefined) resolve(url);
    };
    child.stdout.setEncoding('utf8').on('data', take);
    child.stderr.setEncoding('utf8').on('data', take);
  });
  const deadline = setTimeout(killWithUs, START_MS);
  const url = await Promise.race([ready, ended.then(() => undefined)]).finally(() => clearTimeout(deadline));
  if (url === undefined) throw new Error(`the service did not start:\n${said}`);

  const arguments_ = [join(root, 'apps/cli/dist/main.js'), 'token', 'ada@northwind.example'];
  try {
    const token = await command(node, arguments_, { cwd: root, environment: { DATA_DIR: dataDir } });
    return { url, token: token.trim(), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
