import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Registration } from './end-with-run.js';

/** A server that was being started when the run ended appears within this time. */
const WATCH_MS = 3_000;

const pids = new Set<number>();
const pidFiles = new Set<string>();
const mounts = new Set<string>();

function register(registration: Registration): void {
  const { isRunning } = registration;
  if ('pid' in registration) pids[isRunning ? 'add' : 'delete'](registration.pid);
  else if ('mount' in registration) mounts[isRunning ? 'add' : 'delete'](registration.mount);
  else pidFiles[isRunning ? 'add' : 'delete'](registration.pidFile);
}

function end(pid: number, signal: NodeJS.Signals): void {
  try {
    if (pid > 1) process.kill(pid, signal);
  } catch {
    // It has ended.
  }
}

/** Without a checkpoint, as the data of the run is of no more use. */
function endServers(): void {
  for (const file of pidFiles) {
    try {
      end(Number.parseInt(readFileSync(file, 'latin1'), 10), 'SIGQUIT');
    } catch {
      // The server has not started, or has ended.
    }
  }
}

async function main(): Promise<void> {
  // Standard input closes with the run. Signals to the run are no signals to this program.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
  for await (const line of createInterface({ input: process.stdin })) register(JSON.parse(line) as Registration);
  for (const pid of pids) end(pid, 'SIGKILL');
  const until = Date.now() + WATCH_MS;
  while (pidFiles.size > 0 && Date.now() < until) {
    endServers();
    await sleep(100);
  }
  for (const folder of mounts) spawnSync('umount', ['-l', folder]);
}

void main();
