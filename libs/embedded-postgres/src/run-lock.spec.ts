import { existsSync, lstatSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { EmbeddedServerError } from './embedded-server-error.js';
import { underLock } from './run-lock.js';
import { ownIdentity, writeIdentity } from './process-identity.js';
import { World } from './testing/world.js';

const world = new World();
afterEach(() => world.end());
const log = () => undefined;

describe('underLock', () => {
  it('runs one call at a time', async () => {
    const run = world.folder();
    let [inside, most] = [0, 0];
    const work = async () => {
      most = Math.max(most, ++inside);
      await new Promise((done) => setImmediate(done));
      inside -= 1;
    };

    await Promise.all(Array.from({ length: 20 }, () => underLock(run, { log }, work)));

    expect(most).toBe(1);
    expect(readdirSync(run)).toEqual([]);
  });

  it('releases the lock when the work fails', async () => {
    const run = world.folder();

    await expect(underLock(run, { log }, () => Promise.reject(new Error('no')))).rejects.toThrow('no');

    expect(readdirSync(run)).toEqual([]);
  });

  it.each([
    ['of a dead process', (path: string) => symlinkSync(`${process.pid}-1.dead-00`, path)],
    ['that names no process', (path: string) => symlinkSync('no-process', path)],
    ['that is a file', (path: string) => writeFileSync(path, '')],
  ])('removes a lock %s, and runs one call at a time', async (_which, make) => {
    const run = world.folder();
    make(join(run, 'lock'));
    make(join(run, 'lock-breaking'));
    let [inside, most] = [0, 0];
    const work = async () => {
      most = Math.max(most, ++inside);
      await new Promise((done) => setImmediate(done));
      inside -= 1;
    };

    await Promise.all(Array.from({ length: 10 }, () => underLock(run, { log }, work)));

    expect(most).toBe(1);
    expect(existsSync(join(run, 'lock'))).toBe(false);
  });

  it('names the living process whose lock it has waited for', async () => {
    const run = world.folder();
    symlinkSync(`${writeIdentity(ownIdentity())}-00`, join(run, 'lock'));

    const waited = underLock(run, { log, waitMs: 50 }, () => Promise.resolve());

    await expect(waited).rejects.toThrow(EmbeddedServerError);
    await expect(waited).rejects.toThrow(`process ${process.pid}`);
    expect(lstatSync(join(run, 'lock')).isSymbolicLink()).toBe(true);
  });
});
