import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { LocalIssuer } from '@banking/local-issuer';
import { WATCHED } from './watched-child.js';

const APPS = join(__dirname, '../../../apps');
const MAIN = join(APPS, 'api/dist/main.js');
const WORKER = join(APPS, 'worker/dist/main.js');
const START_MS = 60_000;

/** The process under load: the service or a control. */
export interface BenchTarget {
  readonly url: string;
  readonly pid: number;
  readonly headers: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

/** Options of a service that differs from the default. */
interface Starting {
  /** Added to the default settings. */
  readonly settings?: Readonly<Record<string, string>>;
  /** The name of its log file in the data folder. */
  readonly name?: string;
  /** Whether its heap is measured. */
  readonly isWatched?: boolean;
}

interface Service extends BenchTarget {
  readonly child: ChildProcess;
}

/** The service as it is run: a process of its own, access checks on, a log line a request into a file. */
export async function startService(
  dataDir: string,
  { settings, name = 'service', isWatched = false }: Starting = {},
): Promise<Service> {
  const port = await freePort();
  const logFile = join(dataDir, `${name}.log`);
  const log = openSync(logFile, 'w');
  const child = spawn(process.execPath, [...(isWatched ? WATCHED : []), MAIN], {
    env: {
      PATH: process.env['PATH'],
      DATA_DIR: dataDir,
      PORT: String(port),
      LOG_FORMAT: 'json',
      WORKER: 'off',
      ...settings,
    },
    stdio: ['ignore', log, log, ...(isWatched ? ['ipc' as const] : [])],
  });
  const url = `http://127.0.0.1:${port}`;
  const stop = await untilReady(child, url, logFile);
  return {
    url,
    pid: child.pid as number,
    headers: { Authorization: `Bearer ${await tokenOf(dataDir, 'ada@northwind.example')}`, 'Workspace-ID': '1' },
    child,
    stop,
  };
}

/** A worker in a process of its own, beside a service of the same data folder. */
export async function startWorker(dataDir: string): Promise<{ readonly pid: number; stop(): Promise<void> }> {
  const port = await freePort();
  const logFile = join(dataDir, 'worker.log');
  const log = openSync(logFile, 'w');
  const child = spawn(process.execPath, [WORKER], {
    env: { PATH: process.env['PATH'], DATA_DIR: dataDir, HEALTH_PORT: String(port), LOG_FORMAT: 'json' },
    stdio: ['ignore', log, log],
  });
  return { stop: await untilReady(child, `http://127.0.0.1:${port}`, logFile), pid: child.pid ?? 0 };
}

/** Waits until a process is ready. Returns what stops it. @throws Error if it does not start */
async function untilReady(child: ChildProcess, url: string, logFile: string): Promise<() => Promise<void>> {
  const ended = once(child, 'exit');
  const deadline = Date.now() + START_MS;
  while (!(await answers(`${url}/health/ready`))) {
    if (child.exitCode !== null || Date.now() > deadline) {
      child.kill('SIGKILL');
      throw new Error(`a process did not start; see ${logFile}`);
    }
    await sleep(50);
  }
  return async () => {
    child.kill('SIGINT');
    await ended;
  };
}

/** A token of a user of the demo data, valid for a day. */
export async function tokenOf(dataDir: string, email: string): Promise<string> {
  const issuer = await LocalIssuer.open(dataDir);
  return issuer.sign({ email, audience: 'banking-api', lifetimeSeconds: 24 * 3600 });
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).ok;
  } catch {
    return false;
  }
}

/** A port that no process listens on. */
export async function freePort(): Promise<number> {
  const probe = createServer();
  await once(probe.listen(0, '127.0.0.1'), 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  if (address === null || typeof address === 'string') throw new Error('a listening server has a port');
  return address.port;
}
