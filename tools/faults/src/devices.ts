import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, renameSync, rmdirSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ReplicaServer } from '@banking/embedded-postgres/testing';
import { DatabaseProxy } from './database-proxy.js';
import { runEnd } from './run-end.js';
import type { DatabaseServer } from './servers.js';

/** Where the package `faketime` of Debian installs its library. */
const FAKETIME = ['x86_64', 'aarch64']
  .map((machine) => `/usr/lib/${machine}-linux-gnu/faketime/libfaketimeMT.so.1`)
  .find((file) => existsSync(file));

export const whyNoClocks = (): string | undefined => (FAKETIME ? undefined : 'faketime is not installed');

/** The wall clock of a process, which can be moved while the process runs. Its timers keep the real, monotonic time. */
export class ProcessClock {
  /** @param file contains the difference to the real time */
  constructor(private readonly file: string) {
    this.shift(0);
  }

  get environment(): Readonly<Record<string, string>> {
    if (FAKETIME === undefined) return {};
    return {
      LD_PRELOAD: FAKETIME,
      FAKETIME_TIMESTAMP_FILE: this.file,
      // The file is read for each call.
      FAKETIME_NO_CACHE: '1',
      // Timers of Node use the monotonic clock. The name differs between versions of the library.
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      DONT_FAKE_MONOTONIC: '1',
    };
  }

  shift(hours: number): void {
    // Renamed, so that the process never reads half of it.
    writeFileSync(`${this.file}.new`, `${hours < 0 ? '-' : '+'}${Math.abs(hours)}h\n`);
    renameSync(`${this.file}.new`, this.file);
  }
}

/** More than a run writes. Memory is used for what is written. */
const DISK_BYTES = 4 * 1024 ** 3;
const FILL_TRIES = 50;

/** A disk in memory for the database of a run, which can become full. */
export class SmallDisk {
  private constructor(private readonly folder: string) {}

  /** @throws Error where this user may not mount */
  static mount(folder: string): SmallDisk {
    mount(`size=${DISK_BYTES},mode=711`, folder);
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

  free(): void {
    mount(`remount,size=${DISK_BYTES}`, this.folder);
  }

  unmount(): void {
    execFileSync('umount', ['-l', this.folder], { stdio: 'ignore' });
    runEnd.remove({ mount: this.folder });
  }
}

function mount(options: string, folder: string): void {
  execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder], { stdio: 'ignore' });
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

/** Every commit is replayed at least this late, so that a list often finds the replica behind. */
const REPLICA_SETTINGS = { recovery_min_apply_delay: '5ms' };

/** A streaming replica of the server of a run, behind a proxy that all api processes share. */
export class Replica {
  private constructor(
    private readonly server: ReplicaServer,
    private readonly proxy: DatabaseProxy,
  ) {}

  static async start({ connection }: DatabaseServer): Promise<Replica> {
    const server = await ReplicaServer.of(connection, REPLICA_SETTINGS);
    runEnd.add({ pidFile: server.pidFile });
    const { host, port } = server.connection;
    return new Replica(server, await DatabaseProxy.start(`${host}/.s.PGSQL.${port}`));
  }

  get port(): number {
    return this.proxy.port;
  }

  /** Stops the replay for a time, and the replica answers with old rows; or ends the server as a crash does; or drops what is sent. */
  async disturb(how: 'pause' | 'crash' | 'silence', lastsMs: number): Promise<void> {
    if (how === 'pause') await this.server.pause();
    else if (how === 'crash') await this.server.stop();
    else this.proxy.silence();
    await sleep(lastsMs);
    if (how === 'pause') await this.server.resume();
    else if (how === 'crash') await this.server.start();
    else this.proxy.endSilence();
  }

  async stop(): Promise<void> {
    await this.proxy.close();
    await this.server.remove();
    runEnd.remove({ pidFile: this.server.pidFile });
  }
}
