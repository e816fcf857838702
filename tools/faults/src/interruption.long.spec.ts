import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const MAIN = join(__dirname, '../dist/main.js');
const RUN_MS = 180_000;
const GONE_MS = 60_000;

(process.platform === 'linux' ? describe : describe.skip)('interrupted run', () => {
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

  it.each<[NodeJS.Signals, number | null, string, RegExp]>([
    ['SIGINT', 130, 'P5', /rounds [1-9]/],
    ['SIGINT', 130, 'P1', /starting PostgreSQL/],
    ['SIGKILL', null, 'P8', /succeeded [1-9]/],
  ])(
    'leaves no process after %s, with exit code %s: %s at %s',
    async (signal, code, promise, pattern) => {
      const env = { ...process.env, TMPDIR: folder };
      run = spawn(process.execPath, [MAIN, promise, '--minutes', '5'], { env, stdio: ['ignore', 'ignore', 'pipe'] });
      const exited = once(run, 'exit');
      let text = '';
      await new Promise<void>((resolve) => {
        run.stderr?.on('data', (piece: Buffer) => pattern.test((text += String(piece))) && resolve());
      });

      run.kill(signal);

      expect((await exited)[0]).toBe(code);
      expect(await remaining(folder)).toEqual([]);
      if (code !== null) expect(readdirSync(folder)).toEqual([]);
    },
    RUN_MS,
  );
});

/** The processes of the run after the time in which they must end: their arguments or variables name the folder. */
async function remaining(folder: string): Promise<string[]> {
  const textOf = (pid: string) => ['cmdline', 'environ'].map((file) => readIfThere(`/proc/${pid}/${file}`)).join(' ');
  const pids = () => readdirSync('/proc').filter((pid) => /^[0-9]+$/.test(pid) && textOf(pid).includes(folder));
  const until = Date.now() + GONE_MS;
  while (pids().length > 0 && Date.now() < until) await sleep(100);
  return pids();
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
