import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { ownEnvironment } from '../config.js';
import { Refused } from '../print.js';

const API = resolve(__dirname, '../../../api/dist/main.js');
const CLI = resolve(__dirname, '../../dist/main.js');
/** A first start makes the databases and the demo data. */
const START_MS = 180_000;

/** A service on embedded databases in a temporary folder, which ends with the story. */
export interface OwnService {
  readonly url: string;
  readonly dataDir: string;
  /** Runs another command on the same databases and returns its output. @throws Refused with its standard error */
  banking(...args: string[]): Promise<string>;
  close(): Promise<void>;
}

/**
 * @param settings environment variables beside those of its folder and address
 * @throws Refused with its output if it does not start
 */
export async function startOwnService(
  signal: AbortSignal,
  settings: Readonly<Record<string, string>>,
): Promise<OwnService> {
  const dataDir = await mkdtemp(join(tmpdir(), 'banking-story-'));
  const env = ownEnvironment({ DATA_DIR: dataDir, ...settings, PORT: '0', HOST: '127.0.0.1' });
  // In a process group of its own, so that Ctrl-C reaches it once, from here.
  const service = spawn(process.execPath, [API], { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const ended = new Promise<void>((end) => service.once('close', () => end()));
  const close = async () => {
    service.kill('SIGINT');
    await ended;
    await rm(dataDir, { recursive: true, force: true });
  };
  try {
    const url = await untilReady(service, ended, signal);
    return { url, dataDir, banking: (...args) => runBanking(env, args), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function untilReady(service: ChildProcess, ended: Promise<void>, signal: AbortSignal): Promise<string> {
  let output = '';
  const ready = new Promise<string>((found) => {
    const take = (text: string) => {
      output += text;
      const [, url] = /^Ready on (http\S+)/m.exec(output) ?? [];
      if (url !== undefined) found(url);
    };
    for (const stream of [service.stdout, service.stderr]) stream?.setEncoding('utf8').on('data', take);
  });
  const limit = AbortSignal.any([signal, AbortSignal.timeout(START_MS)]);
  const stopped = new Promise<undefined>((stop) =>
    limit.addEventListener('abort', () => stop(undefined), { once: true }),
  );
  const url = await Promise.race([ready, ended.then(() => undefined), stopped]);
  signal.throwIfAborted();
  if (url === undefined) throw new Refused(`The service of the story did not start:\n${output}`);
  return url;
}

async function runBanking(env: Readonly<Record<string, string>>, args: readonly string[]): Promise<string> {
  try {
    return (await promisify(execFile)(process.execPath, [CLI, ...args], { env })).stdout;
  } catch (error) {
    throw new Refused((error as { readonly stderr?: string }).stderr ?? 'A command of the story failed.');
  }
}
