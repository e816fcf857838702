import { execFileSync } from 'node:child_process';
import { readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type FreshDatabase, freshDatabase } from '@banking/postgres/testing';
import { OutageError } from '@banking/work-queue';
import { filePayment, fileRailConfig, filesIn } from '../testing/file-rails.js';
import { Iso20022Rail } from './iso20022-rail.js';
import { paymentsOfFile } from './sent-files.js';

const config = fileRailConfig({ closeAfterSeconds: 0 });

/** Only root may mount, and in many containers root may not. */
function mountSmall(): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', config.folder], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

const isMounted = process.platform === 'linux' && mountSmall();
let world: FreshDatabase;

beforeAll(async () => {
  world = await freshDatabase();
});
afterAll(async () => {
  if (isMounted) execFileSync('umount', ['-l', config.folder]);
  rmSync(config.folder, { recursive: true });
  await world.close();
});

(isMounted ? describe : describe.skip)('a folder whose disk is full (where this user may mount one)', () => {
  it('delays files in plain words, has no part of one, and lets each leave once space is free', async () => {
    const rail = new Iso20022Rail(config, world.database, { leaseMs: 0 });
    const filler = join(config.folder, 'filler');
    const { bavail, bsize } = statfsSync(config.folder);
    writeFileSync(filler, Buffer.alloc((bavail - 1) * bsize));
    for (let number = 1; number <= 20; number += 1) await rail.submit(filePayment(number));

    const error = await rail.chores[0]!.run().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OutageError);
    expect(error).toMatchObject({
      message: 'the rail bank-a cannot write its files: the disk of its folder is full (ENOSPC): free space',
    });
    expect(['out', 'ready', 'sent'].flatMap((name) => readdirSync(join(config.folder, name)))).toEqual([]);

    rmSync(filler);
    while ((await rail.chores[0]!.run()) > 0);
    expect([...filesIn(config, 'out').values()].flatMap((text) => paymentsOfFile(text) ?? [])).toHaveLength(20);
  });
});
