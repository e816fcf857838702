import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { LocalIssuer } from '@banking/local-issuer';

const MAIN = join(__dirname, '../../../apps/api/dist/main.js');
const START_MS = 60_000;

/** A process that answers, ours or a control. */
export interface Answering {
  readonly url: string;
  readonly pid: number;
  readonly headers: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

/** The service as it is run: a process of its own, access checks on, a log line a request into a file. */
export async function startService(dataDir: string, extraArgs: readonly string[] = []): Promise<Answering> {
  const port = await freePort();
  const logFile = join(dataDir, 'service.log');
  const log = openSync(logFile, 'w');
  const child = spawn(process.execPath, [...extraArgs, MAIN], {
    env: { PATH: process.env['PATH'], DATA_DIR: dataDir, PORT: String(port), LOG_FORMAT: 'json', WORKER: 'off' },
    stdio: ['ignore', log, log],
  });
  const ended = once(child, 'exit');
  const url = `http://127.0.0.1:${port}`;
  const deadline = Date.now() + START_MS;
  while (!(await answers(`${url}/health/ready`))) {
    if (child.exitCode !== null || Date.now() > deadline) {
      child.kill('SIGKILL');
      throw new Error(`the service did not start; what it said stands in ${logFile}`);
    }
    await sleep(50);
  }
  const issuer = await LocalIssuer.open(dataDir);
  const token = await issuer.sign({ email: 'ada@northwind.example', audience: 'banking-api', lifetimeSeconds: 24 * 3600 }); // prettier-ignore
  return {
    url,
    pid: child.pid as number,
    headers: { Authorization: `Bearer ${token}`, 'Workspace-ID': '1' },
    async stop() {
      child.kill('SIGINT');
      await ended;
    },
  };
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url)).ok;
  } catch {
    return false;
  }
}

async function freePort(): Promise<number> {
  const probe = createServer();
  await once(probe.listen(0, '127.0.0.1'), 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  if (address === null || typeof address === 'string') throw new Error('a listening server has a port');
  return address.port;
}
