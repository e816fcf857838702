import { randomBytes } from 'node:crypto';
import { constants, readdirSync, rmSync, statSync } from 'node:fs';
import { copyFile, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolders } from '@banking/process';
import { OutageError } from '@banking/work-queue';
import { syncFile, syncFolder } from './durable-files.js';
import { ensureFolder, exists } from './ensure-folder.js';

/** The folders that the client of the bank empties and fills, and where files end that were read. */
const EXCHANGED = ['out', 'in', 'done', 'refused'] as const;

/** The end of the name of the reason beside a refused file. */
export const REASON = '.reason.txt';

/** A file of payments by its message, and by the worker that prepared it. */
export interface PreparedName {
  readonly messageId: string;
  /** As `payment_file.prepared_as`. */
  readonly preparedAs: string;
}

/** A copy of a file that was handed over, or was about to be. */
export interface SentFile extends PreparedName {
  /** The day on which its row was written (UTC): ISO 8601. */
  readonly day: string;
  readonly path: string;
}

const PREPARED = /^([A-Za-z0-9-]{1,30})\.([0-9a-f]{8})\.xml$/;

/** The end of the name of a file that is being written, and after how long it is not any more. */
const PART = '.tmp';
const PART_MS = 60 * 60_000;

const preparedName = ({ messageId, preparedAs }: PreparedName) => `${messageId}.${preparedAs}.xml`;

/** The end of the name of a file in `ready` that is never handed over, because it was prepared anew. */
const WITHDRAWN = '.withdrawn';

/**
 * The folder of a rail. A file is complete in `ready` before it is moved to `out` by one rename, so the client of the bank never sees a part
 * of a file, and no file twice. A file whose day is over is withdrawn there before another try counts. `sent` has a copy of each, by day.
 *
 * Errors of the file system are `OutageError`s: nothing is half visible, and the step is repeated later.
 */
export class FileFolder {
  constructor(
    private readonly rail: string,
    private readonly path: string,
  ) {}

  /** Creates what is missing, and removes parts of files that killed workers have left. Errors are those of the first use. */
  ensure(): void {
    try {
      for (const name of [...EXCHANGED, 'ready']) makeFolders(join(this.path, name));
      for (const name of readdirSync(join(this.path, 'ready'))) {
        const part = join(this.path, 'ready', name);
        if (name.endsWith(PART) && statSync(part).mtimeMs < Date.now() - PART_MS) rmSync(part, { force: true });
      }
    } catch {
      // The chore and every call of the rail report it with their own errors.
    }
  }

  /** Writes a file that nothing hands over yet, and makes it durable. */
  prepare(name: PreparedName, text: string): Promise<void> {
    return this.guarded('write', async () => {
      const ready = join(this.path, 'ready');
      await ensureFolder(ready);
      await writeDurably(join(ready, preparedName(name)), async (temporary) => {
        const file = await open(temporary, 'wx', 0o640);
        try {
          await file.writeFile(text);
        } finally {
          await file.close();
        }
      });
      await syncFolder(ready);
    });
  }

  /** Removes a file that another worker has prepared as well. */
  discard(name: PreparedName): Promise<void> {
    return this.guarded('write', () => rm(join(this.path, 'ready', preparedName(name)), { force: true }));
  }

  /** The text of a prepared file; undefined for one that was handed over or withdrawn. */
  readPrepared(name: PreparedName): Promise<string | undefined> {
    return this.guarded('read', async () => {
      try {
        return await readFile(join(this.path, 'ready', preparedName(name)), 'utf8');
      } catch (error) {
        if (codeOf(error) === 'ENOENT') return undefined;
        throw error;
      }
    });
  }

  isWithdrawn(name: PreparedName): Promise<boolean> {
    return this.guarded('read', () => exists(this.withdrawnPath(name)));
  }

  /**
   * Takes a prepared file back, so that nothing hands it over any more. One rename decides between this and a worker that hands it over.
   * The renamed file stays until another try has left: it says that this one, which is gone, was not handed over.
   *
   * @param day of its row
   * @returns false if it was handed over
   */
  withdraw(name: PreparedName, day: string): Promise<boolean> {
    return this.guarded('write', async () => {
      const ready = join(this.path, 'ready');
      try {
        await rename(join(ready, preparedName(name)), this.withdrawnPath(name));
      } catch (error) {
        if (codeOf(error) !== 'ENOENT') throw error;
        if (!(await exists(this.withdrawnPath(name)))) return false;
      }
      await syncFolder(ready);
      await this.removeCopy(name, day);
      return true;
    });
  }

  private withdrawnPath(name: PreparedName): string {
    return join(this.path, 'ready', `${preparedName(name)}${WITHDRAWN}`);
  }

  /** A copy says that its file may have left. */
  private async removeCopy(name: PreparedName, day: string): Promise<void> {
    const sent = join(this.path, 'sent', day);
    if (!(await exists(join(sent, preparedName(name))))) return;
    await rm(join(sent, preparedName(name)), { force: true });
    await syncFolder(sent);
  }

  /**
   * Hands a prepared file over, after a copy of it is durable. A file that is gone was handed over before, perhaps by a worker that was
   * killed afterwards. What other tries have left of it is removed.
   *
   * @param day of its row
   * @returns false if it was withdrawn
   */
  handOver(name: PreparedName, day: string): Promise<boolean> {
    return this.guarded('hand over', async () => {
      if (!(await this.move(name, day))) {
        // It was copied while it was withdrawn.
        await this.removeCopy(name, day);
        return false;
      }
      const ready = join(this.path, 'ready');
      for (const one of await readdir(ready)) {
        const [, messageId, preparedAs] = PREPARED.exec(one.replace(WITHDRAWN, '')) ?? [];
        // A part of a file may be written at this moment.
        if (messageId !== name.messageId || preparedAs === undefined || preparedAs === name.preparedAs) continue;
        if (one.endsWith(WITHDRAWN)) await this.removeCopy({ messageId, preparedAs }, day);
        await rm(join(ready, one), { force: true });
      }
      return true;
    });
  }

  private async move(name: PreparedName, day: string): Promise<boolean> {
    const ready = join(this.path, 'ready', preparedName(name));
    const sent = join(this.path, 'sent', day);
    const copy = join(sent, preparedName(name));
    if (!(await exists(ready))) {
      if (await exists(this.withdrawnPath(name))) return false;
      if (await exists(copy)) return true;
      if ((await this.findOtherCopy(name, day)) !== undefined) return false;
      throw new OutageError(
        `the folder of the rail ${this.rail} lacks a file that is to leave: restore ready and sent, or mount their disk`,
      );
    }
    if (!(await exists(copy))) {
      const isNew = await ensureFolder(sent);
      if (isNew) for (const folder of [this.path, join(this.path, 'sent')]) await syncFolder(folder);
      try {
        await writeDurably(copy, (temporary) => copyFile(ready, temporary, constants.COPYFILE_EXCL));
      } catch (error) {
        // Another worker has withdrawn it, or copied it and handed it over meanwhile.
        if (codeOf(error) === 'ENOENT' && (await exists(this.withdrawnPath(name)))) return false;
        if (codeOf(error) === 'ENOENT' && (await exists(copy))) return true;
        throw error;
      }
      await syncFolder(sent);
    }
    const out = join(this.path, 'out');
    await ensureFolder(out);
    try {
      await rename(ready, join(out, `${name.messageId}.xml`));
    } catch (error) {
      if (codeOf(error) !== 'ENOENT' || (await exists(ready))) throw error;
      return !(await exists(this.withdrawnPath(name)));
    }
    await syncFolder(out);
    await syncFolder(join(this.path, 'ready'));
    return true;
  }

  /**
   * The try of a file of which a copy is there, if it is another one than is given: the caller knows the row as it was before, or the
   * database was restored to then.
   *
   * @param day of its row
   */
  findOtherCopy({ messageId, preparedAs }: PreparedName, day: string): Promise<string | undefined> {
    return this.guarded('read', async () => {
      const sent = join(this.path, 'sent', day);
      const names = (await exists(sent)) ? await readdir(sent) : [];
      const withdrawn = await this.listWithdrawn();
      const tries = names
        .filter((name) => !withdrawn.has(name))
        .flatMap((name) => {
          const [, id, tried] = PREPARED.exec(name) ?? [];
          return id === messageId && tried !== undefined ? [tried] : [];
        });
      return tries.includes(preparedAs) ? undefined : tries[0];
    });
  }

  /** The names of withdrawn files. A copy of one may be there, if it was made while the file was withdrawn. */
  private async listWithdrawn(): Promise<ReadonlySet<string>> {
    const ready = join(this.path, 'ready');
    const names = (await exists(ready)) ? await readdir(ready) : [];
    return new Set(names.flatMap((name) => (name.endsWith(WITHDRAWN) ? [name.slice(0, -WITHDRAWN.length)] : [])));
  }

  /**
   * The copies of files from a day on, the earliest first.
   *
   * @param since ISO 8601 date; undefined for all
   * @param isExpected whether there must be some: an empty place is that of another disk then
   * @throws OutageError if they cannot be listed
   */
  listSent(since: string | undefined, isExpected: boolean): Promise<readonly SentFile[]> {
    return this.guarded('read', async () => {
      const sent = join(this.path, 'sent');
      if (!(await exists(sent))) {
        if (isExpected) {
          throw new OutageError(
            `the folder of the rail ${this.rail} has no sent, where the copies of its files are: restore it, as files could leave twice`,
          );
        }
        await ensureFolder(sent);
      }
      const days = (await readdir(sent)).filter((day) => /^\d{4}-\d{2}-\d{2}$/.test(day)).sort();
      const files: SentFile[] = [];
      for (const day of days) {
        if (since !== undefined && day < since) continue;
        for (const name of (await readdir(join(sent, day))).sort()) {
          const [, messageId, preparedAs] = PREPARED.exec(name) ?? [];
          if (messageId === undefined || preparedAs === undefined) continue;
          files.push({ messageId, preparedAs, day, path: join(sent, day, name) });
        }
      }
      if (files.length === 0) return files;
      const withdrawn = await this.listWithdrawn();
      return files.filter((file) => !withdrawn.has(preparedName(file)));
    });
  }

  /** A copy of a file, and when it was made in milliseconds. */
  readSent({ path }: SentFile): Promise<{ readonly text: string; readonly madeAtMs: number }> {
    return this.guarded('read', async () => {
      const [text, { mtimeMs }] = await Promise.all([readFile(path, 'utf8'), stat(path)]);
      return { text, madeAtMs: Math.floor(mtimeMs) };
    });
  }

  /** How many files wait in a folder; undefined where this process cannot read the folders of the bank. */
  async count(name: (typeof EXCHANGED)[number]): Promise<number | undefined> {
    try {
      // A worker makes them.
      if (!(await readdir(this.path)).includes(name)) return 0;
      const entries = await readdir(join(this.path, name), { withFileTypes: true });
      const names = new Set(entries.filter((entry) => entry.isFile()).map(({ name }) => name));
      // A reason may stay behind its file. A refused file that is named like a reason has one too.
      const isReason = (name: string) => name.endsWith(REASON) && !names.has(`${name}${REASON}`);
      return [...names].filter((name) => !name.startsWith('.') && !name.endsWith(PART) && !isReason(name)).length;
    } catch (error) {
      if (codeOf(error) === undefined) throw error;
      return undefined;
    }
  }

  private async guarded<T>(action: 'read' | 'write' | 'hand over', step: () => Promise<T>): Promise<T> {
    try {
      return await step();
    } catch (error) {
      const code = codeOf(error);
      if (code === undefined) throw error;
      throw new OutageError(`the rail ${this.rail} cannot ${action} its files: ${REASONS[code] ?? code}`, {
        cause: error,
      });
    }
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk of its folder is full (ENOSPC): free space',
  EDQUOT: 'the quota of its folder is used up (EDQUOT): raise it',
  EACCES: 'this process may not use its folder (EACCES): grant it the right',
  EPERM: 'this process may not use its folder (EPERM): grant it the right',
  EROFS: 'the disk of its folder is read-only (EROFS): mount it for writing',
  ENOENT: 'a part of its folder is missing (ENOENT): restore it',
  EXDEV: 'out and ready are on different file systems (EXDEV): keep them on one',
};

const codeOf = (error: unknown): string | undefined => {
  const { code, syscall } = error as NodeJS.ErrnoException;
  return syscall === undefined ? undefined : code;
};

/** Writes a temporary file and renames it. A part that is left by a failure is removed. */
async function writeDurably(path: string, write: (temporary: string) => Promise<void>): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}${PART}`;
  try {
    await write(temporary);
    await syncFile(temporary);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
}
