import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { LocalIssuer } from '@banking/process/local-issuer';
import type { ControlOptions } from './control-process.js';

const START_MS = 60_000;

/** The process under load: the service or a control. */
export interface BenchTarget {
  readonly url: string;
  readonly pid: number;
  /** Of the database server of the service; undefined for a control. */
  readonly postmasterPid?: number;
  readonly headers: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

/**
 * The service as it is run: a process of its own, access checks on, a log line for each request into a file.
 *
 * @param options.root a built checkout. Default: this one
 */
export async function startService(
  dataDir: string,
  {
    app = 'api',
    settings = {},
    root = join(__dirname, '../../..'),
  }: { readonly app?: 'api' | 'worker'; readonly settings?: object; readonly root?: string } = {},
): Promise<BenchTarget> {
  const port = await freePort();
  const logFile = join(dataDir, `${app}-${port}.log`);
  const log = openSync(logFile, 'w');
  const own = app === 'api' ? { PORT: String(port), WORKER: 'off' } : { HEALTH_PORT: String(port) };
  const child = spawn(process.execPath, [join(root, `apps/${app}/dist/main.js`)], {
    env: { PATH: process.env['PATH'], DATA_DIR: dataDir, LOG_FORMAT: 'json', ...own, ...settings },
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  const ended = once(child, 'exit');
  const url = `http://127.0.0.1:${port}`;
  const deadline = Date.now() + START_MS;
  while (!(await isReady(url))) {
    if (child.exitCode !== null || Date.now() > deadline) {
      child.kill('SIGKILL');
      throw new Error(`a process did not start; see ${logFile}`);
    }
    await sleep(50);
  }
  const token = await tokenOf(dataDir, 'ada@northwind.example');
  return {
    ...{ url, pid: child.pid!, headers: { Authorization: `Bearer ${token}`, 'Workspace-ID': '1' } },
    postmasterPid: postmasterOf(dataDir),
    async stop() {
      child.kill('SIGINT');
      await ended;
    },
  };
}

/** Starts a control, in a process of its own. */
export async function startControl(options: ControlOptions): Promise<BenchTarget> {
  const child = fork(join(__dirname, 'control-process.js'));
  // Not as an argument, because some have a token.
  child.send(options);
  const ended = once(child, 'exit');
  const ready = once(child, 'message').then(([url]) => url as string);
  const url = await Promise.race([ready, ended.then(() => undefined)]);
  if (url === undefined) throw new Error('the control did not start; its output stands above');
  return {
    ...{ url, pid: child.pid!, headers: {} },
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** A token of a user of the demo data, valid for a day. */
export async function tokenOf(dataDir: string, email: string): Promise<string> {
  const issuer = await LocalIssuer.open(dataDir);
  return issuer.sign({ email, audience: 'banking-api', lifetimeSeconds: 24 * 3600 });
}

/** The process of the embedded server of a data folder. */
export const postmasterOf = (dataDir: string): number =>
  Number.parseInt(readFileSync(join(dataDir, 'database/postmaster.pid'), 'latin1'), 10);

/** A process that does not listen yet is not ready. */
const isReady = (url: string): Promise<boolean> =>
  fetch(`${url}/health/ready`).then(
    ({ ok }) => ok,
    () => false,
  );

/** A port that no process listens on. */
async function freePort(): Promise<number> {
  const probe = createServer();
  await once(probe.listen(0, '127.0.0.1'), 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  if (address === null || typeof address === 'string') throw new Error('a listening server has a port');
  return address.port;
}
