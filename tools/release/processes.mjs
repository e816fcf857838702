import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { performance } from 'node:perf_hooks';

const READY = /^Ready on (http:\/\/\S+)/m;

/** Much longer than a start takes on a busy machine. */
const START_WITHIN_MS = 180_000;

/** Of the environment of this process only what programs need to be found: no setting of the service. */
export function cleanEnvironment(settings = {}) {
  const kept = Object.entries(process.env).filter(([name]) => ['PATH', 'HOME', 'TMPDIR', 'LANG'].includes(name));
  return { ...Object.fromEntries(kept), ...settings };
}

/**
 * Starts a service or a worker and waits until its output shows that it is ready.
 *
 * @param options those of `spawn`, and
 *   - `ready`: the line that shows it, by default that of the service;
 *   - `signalled`: the process that receives SIGTERM, by the started process.
 * @returns the URL of a service, the milliseconds until it was ready, and `stop`, which resolves to exit code and duration
 * @throws Error with its output if it ends before
 */
export async function startService(program, args, { ready = READY, signalled = (pid) => pid, ...options } = {}) {
  const startedAt = performance.now();
  const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const ended = once(child, 'close').finally(() => process.off('exit', kill));
  let output = '';
  const isReady = new Promise((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        output += text;
        if (ready.test(output)) resolve(true);
      });
    }
  });
  const timer = setTimeout(kill, START_WITHIN_MS);
  const started = await Promise.race([isReady, ended.then(() => false)]).finally(() => clearTimeout(timer));
  if (!started) throw new Error(`The program did not start:\n${output}`);
  const startMs = performance.now() - startedAt;
  const stop = async () => {
    const stoppedAt = performance.now();
    process.kill(signalled(child.pid), 'SIGTERM');
    const [exitCode] = await ended;
    return { exitCode, stopMs: performance.now() - stoppedAt, output };
  };
  return { url: READY.exec(output)?.[1], pid: child.pid, startMs, stop };
}

/** A port of 127.0.0.1 that is free now. */
export async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  probe.close();
  await once(probe, 'close');
  return port;
}
