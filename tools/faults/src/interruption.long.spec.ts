import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const MAIN = join(__dirname, '../dist/main.js');
const RUN_MS = 180_000;
const GONE_MS = 60_000;

const onLinux = process.platform === 'linux' ? describe : describe.skip;

onLinux('interrupted run', () => {
  let folder: string;
  let run: ChildProcess;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'banking-faults-spec-'));
    chmodSync(folder, 0o711);
  });
  afterEach(() => {
    run.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  });

  /** Resolves when the clients of the scenario send. */
  const start = async (promise: string, pattern: RegExp) => {
    run = spawn(process.execPath, [MAIN, promise, '--minutes', '5'], {
      env: { ...process.env, TMPDIR: folder },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let text = '';
    await new Promise<void>((resolve, reject) => {
      run.stderr?.on('data', (piece: Buffer) => pattern.test((text += String(piece))) && resolve());
      run.once('exit', () => reject(new Error(text)));
    });
  };

  it.each<[string, string, RegExp]>([
    ['while orders are placed', 'P8', /succeeded [1-9]/],
    ['while commits are interrupted', 'P5', /rounds [1-9]/],
    ['while processes start', 'P1', /starting PostgreSQL/],
  ])(
    'ends with exit code 130 after Ctrl-C, and leaves no process: %s',
    async (_, promise, pattern) => {
      await start(promise, pattern);
      const exited = once(run, 'exit');

      run.kill('SIGINT');

      expect(await exited).toEqual([130, null]);
      expect(await remaining(folder)).toEqual([]);
      expect(readdirSync(folder)).toEqual([]);
    },
    RUN_MS,
  );

  it(
    'leaves no process after it was killed',
    async () => {
      await start('P8', /succeeded [1-9]/);
      const exited = once(run, 'exit');

      run.kill('SIGKILL');

      await exited;
      expect(await remaining(folder)).toEqual([]);
    },
    RUN_MS,
  );
});

/** The processes of the run that are still there after the time in which they must end: their arguments or variables name the folder. */
async function remaining(folder: string): Promise<string[]> {
  const until = Date.now() + GONE_MS;
  let left = processesOf(folder);
  while (left.length > 0 && Date.now() < until) {
    await sleep(100);
    left = processesOf(folder);
  }
  return left;
}

function processesOf(folder: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^[0-9]+$/.test(name))
    .flatMap((pid) => {
      const texts = ['cmdline', 'environ'].map((file) => readIfThere(`/proc/${pid}/${file}`));
      return texts.some((text) => text.includes(folder)) ? [`${pid} ${texts[0]?.replaceAll('\0', ' ')}`] : [];
    });
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
