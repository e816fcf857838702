import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmdirSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runEnd } from './end-with-run.js';

/** More than a run writes. Memory is used for what is written. */
const SIZE_BYTES = 4 * 1024 ** 3;

const FILL_TRIES = 50;

/** A disk in memory for the database of a run, which can become full. */
export class SmallDisk {
  private constructor(private readonly folder: string) {}

  /** @throws Error where this user may not mount */
  static mount(folder: string): SmallDisk {
    mount(`size=${SIZE_BYTES},mode=711`, folder);
    runEnd.add({ mount: folder });
    return new SmallDisk(folder);
  }

  /**
   * Makes the disk about as small as its content. A file that takes the rest would do the same, in memory.
   *
   * @throws Error if the content grows faster
   */
  fill(): void {
    for (let tries = 1; ; tries += 1) {
      try {
        const { blocks, bfree, bsize } = statfsSync(this.folder);
        mount(`remount,size=${(blocks - bfree + tries) * bsize}`, this.folder);
        return;
      } catch (error) {
        // PostgreSQL wrote since the size was read, so that the content no longer fits.
        if (tries >= FILL_TRIES) throw error;
      }
    }
  }

  /** Gives the disk its size again. */
  free(): void {
    mount(`remount,size=${SIZE_BYTES}`, this.folder);
  }

  unmount(): void {
    execFileSync('umount', ['-l', this.folder], { stdio: 'ignore' });
    runEnd.remove({ mount: this.folder });
  }
}

/** Why a run has no small disk: only root may mount, and in many containers root may not. */
export function whyNoDisk(): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'banking-disk-'));
  try {
    SmallDisk.mount(folder).unmount();
    return undefined;
  } catch {
    return 'this user may not mount a disk';
  } finally {
    rmdirSync(folder);
  }
}

function mount(options: string, folder: string): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder], { stdio: 'ignore' });
}
