import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { LogDestination } from './log-destination.js';

/** A device of Linux without space. */
const FULL = '/dev/full';

/** A process that logs a line and answers for each byte on standard input, and exits once that ends. */
const PROGRAM = `
  const { createLogger } = require(${JSON.stringify(join(__dirname, '..', 'dist', 'index.js'))});
  const log = createLogger({ logLevel: 'info', logPretty: process.env.PRETTY === 'on' });
  process.stdin.on('data', () => {
    log.info({ text: 'x'.repeat(32768) }, 'asked');
    process.stderr.write('.');
  });
  process.stdin.on('end', () => {
    log.info('stopped');
    process.exit(0);
  });
`;

describe('the log of a process', () => {
  let child: ChildProcess;
  afterEach(() => child.kill('SIGKILL'));

  function start(output: number | 'pipe', pretty = 'off'): void {
    child = spawn(process.execPath, ['-e', PROGRAM], {
      env: { PRETTY: pretty },
      stdio: ['pipe', output, 'pipe'],
    });
  }

  async function ask(): Promise<void> {
    child.stdin!.write('?');
    await once(child.stderr!, 'data');
  }

  async function exit(): Promise<unknown> {
    const exited = once(child, 'exit');
    child.stdin!.end();
    return (await exited)[0];
  }

  const onFullDevice = existsSync(FULL) ? it : it.skip;
  onFullDevice.each(['off', 'on'])('keeps the process running while the disk is full, readable: %s', async (pretty) => {
    const full = openSync(FULL, 'w');
    start(full, pretty);
    closeSync(full);

    for (let times = 0; times < 10; times += 1) await ask();

    expect(await exit()).toBe(0);
  });

  it.each(['off', 'on'])('lets the process exit after its reader has ended, readable: %s', async (pretty) => {
    start('pipe', pretty);
    await once(child, 'spawn');
    child.stdout!.destroy();

    expect(await exit()).toBe(0);
  });

  it('lets the process exit while its reader takes nothing', async () => {
    start('pipe');
    child.stdout!.pause();
    for (let times = 0; times < 40; times += 1) await ask();

    expect(await exit()).toBe(0);
  });
});

describe('a log destination', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  /** An output with space for a number of bytes, which fails without any. */
  function outputWith(space: number, waitingMax: number) {
    let written = '';
    const take = (bytes: Buffer) => {
      if (space === 0) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
      const taken = bytes.subarray(0, space);
      space -= taken.length;
      written += taken.toString();
      return taken.length;
    };
    const write = (_: number, bytes: Buffer, done: (error: Error | null, taken: number) => void) => {
      try {
        done(null, take(bytes));
      } catch (error) {
        done(error as Error, 0);
      }
    };
    const destination: LogDestination = new LogDestination(
      1,
      (lines) => destination.write(`dropped ${lines}\n`),
      waitingMax,
      { write, writeSync: (_, bytes) => take(bytes) },
    );
    const tick = () => jest.advanceTimersByTime(100);
    return { destination, tick, enlarge: (bytes: number) => (space += bytes), written: () => written };
  }

  it('writes lines together after a tenth of a second', () => {
    const { destination, tick, written } = outputWith(100, 100);

    destination.write('one\n');
    destination.write('two\n');

    expect(written()).toBe('');
    tick();
    expect(written()).toBe('one\ntwo\n');
  });

  it('completes the line that was cut, writes those that waited, and counts those dropped', () => {
    const { destination, tick, enlarge, written } = outputWith(6, 10);
    destination.write('one\ntwo\n');
    tick();
    expect(written()).toBe('one\ntw');

    for (const line of ['three\n', 'four\n', 'five\n', 'six\n']) destination.write(line);
    tick();
    enlarge(100);
    tick();
    tick();
    tick();

    expect(written()).toBe('one\ntwo\nthree\nsix\ndropped 2\n');
  });
});
