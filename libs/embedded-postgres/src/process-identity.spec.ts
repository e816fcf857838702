import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { identityOf, isAlive, ownIdentity, parseIdentity, writeIdentity } from './process-identity.js';
import { until } from './testing/until.js';

describe('the identity of a process', () => {
  it('is alive while the process runs, unlike an earlier process with its number', () => {
    const own = ownIdentity();

    expect(own.pid).toBe(process.pid);
    expect(isAlive(own)).toBe(true);
    expect(isAlive({ ...own, started: `1${own.started}` })).toBe(false);
  });

  it('is not alive after the process has ended', async () => {
    const child = spawn(process.execPath, ['-e', ''], { stdio: 'ignore' });
    const identity = identityOf(child.pid ?? 0);

    await new Promise((done) => child.once('exit', done));

    expect(identity && isAlive(identity)).toBe(false);
  });

  it('is undefined for a zombie, which still accepts signals', async () => {
    if (process.platform !== 'linux') return console.log('skipped: zombies are made for Linux only');
    // A shell that becomes `sleep` never waits for its child.
    const parent = spawn('/bin/sh', ['-c', 'sleep 0.2 & echo $!; exec sleep 60'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const pid = Number(await new Promise<Buffer>((done) => parent.stdout.once('data', done)));

    await until(() => / Z /.test(readFileSync(`/proc/${pid}/stat`, 'latin1')));

    expect(process.kill(pid, 0)).toBe(true);
    expect(identityOf(pid)).toBeUndefined();
    parent.kill('SIGKILL');
    await new Promise((done) => parent.once('exit', done));
  });

  it('is read from the start of a text', () => {
    const own = ownIdentity();

    expect(parseIdentity(writeIdentity(own))).toEqual(own);
    expect(parseIdentity(`${writeIdentity(own)}-0a1b2c`)).toEqual(own);
    expect(['', 'x', '12', '12-', '0-1', '-1-2', '12-/a'].map(parseIdentity)).toEqual(Array(7).fill(undefined));
  });
});
