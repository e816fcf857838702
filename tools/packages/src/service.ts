import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { command } from './command.js';
import { ROOT } from './consumer.js';

/** Long enough for a first start, which creates a database cluster and the demo data, on a busy machine. */
const START_MS = 120_000;

/** The built service with the demo data, in a separate process. */
export interface Service {
  readonly url: string;
  /** A token of Ada's. */
  readonly token: string;
  stop(): Promise<void>;
}

/** @throws Error with all the service said, when it ends before it is ready */
export async function startService(options: {
  readonly dataDir: string;
  readonly corsOrigin: string;
}): Promise<Service> {
  const kept = Object.entries(process.env).filter(([name]) => ['PATH', 'HOME', 'TMPDIR', 'LANG'].includes(name));
  const environment = { ...Object.fromEntries(kept), DATA_DIR: options.dataDir };
  const child = spawn(process.execPath, [join(ROOT, 'apps/api/dist/main.js')], {
    env: { ...environment, PORT: '0', CORS_ORIGINS: options.corsOrigin },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const killWithUs = () => child.kill('SIGKILL');
  process.once('exit', killWithUs);
  const ended = once(child, 'close').finally(() => process.off('exit', killWithUs));

  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
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

  const arguments_ = [join(ROOT, 'apps/cli/dist/main.js'), 'token', 'ada@northwind.example'];
  try {
    const token = await command(process.execPath, arguments_, {
      cwd: ROOT,
      environment: { DATA_DIR: options.dataDir },
    });
    return { url, token: token.trim(), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
