import { existsSync, renameSync, writeFileSync } from 'node:fs';

/** Where the package `faketime` of Debian installs its library. */
const LIBRARY = ['x86_64', 'aarch64']
  .map((machine) => `/usr/lib/${machine}-linux-gnu/faketime/libfaketimeMT.so.1`)
  .find((file) => existsSync(file));

/** Whether processes can have clocks of their own here. */
export const hasFaketime = LIBRARY !== undefined;

/** The wall clock of a process, which can be moved while the process runs. Its timers keep the real, monotonic time. */
export class ProcessClock {
  /** @param file contains the difference to the real time */
  constructor(private readonly file: string) {
    this.shift(0);
  }

  /** The environment of the process. */
  get environment(): Readonly<Record<string, string>> {
    if (LIBRARY === undefined) return {};
    return {
      LD_PRELOAD: LIBRARY,
      FAKETIME_TIMESTAMP_FILE: this.file,
      // The file is read for each call.
      FAKETIME_NO_CACHE: '1',
      // Timers of Node use the monotonic clock. The name differs between versions of the library.
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      DONT_FAKE_MONOTONIC: '1',
    };
  }

  /** Sets the difference to the real time. */
  shift(hours: number): void {
    // Renamed, so that the process never reads half of it.
    writeFileSync(`${this.file}.new`, `${hours < 0 ? '-' : '+'}${Math.abs(hours)}h\n`);
    renameSync(`${this.file}.new`, this.file);
  }
}
