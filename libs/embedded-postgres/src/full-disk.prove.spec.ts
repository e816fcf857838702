import { execFileSync } from 'node:child_process';
import { readdirSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { EmbeddedServerError } from './embedded-server-error.js';
import { isServed, World } from './testing/world.js';
const world = new World();
const mounted: string[] = [];

/** Mounts a disk of some megabytes at the folder. */
function mount(folder: string, megabytes: number): void {
  const options = `size=${megabytes}m,mode=755`;
  execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder], { stdio: 'ignore' });
  mounted.push(folder);
}

/** Only root may mount, and in many containers root may not. */
function mayMount(): boolean {
  try {
    mount(world.folder(), 1);
    return true;
  } catch {
    return false;
  }
}

const FULL = /^The disk under .* is full: free at least 200 MB and start again, or set DATA_DIR to a folder/;
const canTry = process.platform === 'linux' && mayMount();

afterAll(async () => {
  for (const folder of mounted) execFileSync('umount', ['-l', folder]);
  await world.end();
});

(canTry ? describe : describe.skip)('a small disk (where this user may mount one)', () => {
  it.each([1, 30])(
    'is refused with %i MB for a new database, with the space to free, and no files are left',
    async (size) => {
      const folder = world.folder();
      mount(folder, size);

      const refused = world.attach(folder);

      await expect(refused).rejects.toThrow(EmbeddedServerError);
      await expect(refused).rejects.toThrow(FULL);
      expect(readdirSync(folder).filter((name) => name.startsWith('database'))).toEqual([]);
    },
  );

  it('is refused once it is full, and the database starts once space is free', async () => {
    const folder = world.folder();
    mount(folder, 64);
    await (await world.attach(folder)).detach();
    const rest = join(folder, 'rest');
    fill(folder, rest);

    await expect(world.attach(folder)).rejects.toThrow(FULL);
    expect(isServed(folder)).toBe(false);

    writeFileSync(rest, '');
    const server = await world.attach(folder);
    expect(server.started).toBe(true);
    await server.detach();
  });
});

/** Takes all free space. */
function fill(folder: string, file: string): void {
  const { bavail, bsize } = statfsSync(folder);
  writeFileSync(file, Buffer.alloc(bavail * bsize));
}
