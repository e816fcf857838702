import { createHash } from 'node:crypto';
import { type FileHandle, lstat, open, readdir, rename } from 'node:fs/promises';
import { constants, type Dirent } from 'node:fs';
import { join } from 'node:path';
import { bind, type Database, DatabaseError, sqlStatement } from '@banking/postgres';
import { WorkError } from '@banking/work-queue';
import type { FileRailConfig } from '../rail-config.js';
import { type LeasedCursor, RailInbox } from '../rail-inbox.js';
import { BankFileError } from './bank-records.js';
import { readBankFile } from './read-bank-file.js';
import { BankFileStore } from './store-bank-file.js';
import { syncFolder } from './durable-files.js';
import { ensureFolder } from './ensure-folder.js';
import { FileFolder, REASON } from './file-folder.js';
import { learnSentFiles } from './sent-files.js';

const IS_READ = sqlStatement(
  'is_bank_file_read',
  `select from bank_file where rail = $1 and digest = $2 and outcome = 'read'`,
);
/** Once, although a process that is killed before it moves the file refuses it again. */
const STORE_REFUSED = sqlStatement(
  'store_refused_bank_file',
  `insert into bank_file (rail, name, digest, outcome, reason)
   select $1, $2, $3, 'refused', $4
   where not exists (
     select from bank_file where rail = $1 and name = $2 and digest = $3 and reason = $4 and received_at > clock_timestamp() - interval '1 day')`,
);

const SIZE_MAX = 1_000_000_000;
/** A file that ends early may still be written by its sender. */
const COMPLETE_WITHIN_MS = 60_000;
const RENEW_AFTER_MS = 10_000;
const READ_SIZE = 65_536;

export interface BankFilesOptions {
  /** The clock that times of files are compared with. Default: that of the process. */
  readonly now?: () => number;
}

/**
 * Takes the files of a bank from the folder `in` of a rail. What one says is stored in one database transaction, and the file moves to
 * `done` after it. What cannot be read moves to `refused` with its reason, and nothing of it is stored. One worker at a time takes
 * files; a process that is killed at any time leaves the file in `in`, or stored and known by its digest.
 */
export class BankFiles {
  private readonly folder: BankFolder;
  private readonly sent: FileFolder;
  private readonly inbox: RailInbox;
  private readonly now: () => number;
  private reported: ReadonlySet<string> = new Set();

  constructor(
    private readonly database: Database,
    private readonly config: FileRailConfig,
    { now = () => Date.now() }: BankFilesOptions = {},
  ) {
    this.folder = new BankFolder(config.folder);
    this.sent = new FileFolder(config.name, config.folder);
    this.inbox = new RailInbox(database, config.name);
    this.now = now;
  }

  /**
   * Takes the files that wait, in the order of their names.
   *
   * @param onError called with what an operator should know of a file that was read, or of what is no file
   * @returns how many were taken, read or refused; 0 while another worker takes them
   * @throws what the database and the file system throw, and OutageError without the copies of `sent`; the file stays in `in` then
   */
  async readNext(signal?: AbortSignal, onError: (error: unknown) => void = () => undefined): Promise<number> {
    const { waiting, others } = await this.folder.list();
    this.reportOthers(others, onError);
    if (waiting.length === 0) return 0;
    const lease = await this.inbox.lease();
    if (!lease) return 0;
    const guard = new LeaseGuard(this.inbox, lease, signal);
    try {
      // Of a restored database, a file may be about payments that only the copies in `sent` have.
      await learnSentFiles(this.database, this.config.name, this.sent);
      let taken = 0;
      for (const file of waiting) {
        await guard.check();
        if (await this.take(file, guard, onError)) taken += 1;
      }
      return taken;
    } finally {
      await this.inbox.release(lease);
    }
  }

  /** Once for each name, as they stay. */
  private reportOthers(others: readonly string[], onError: (error: unknown) => void): void {
    for (const name of others) {
      if (!this.reported.has(name)) onError(this.warning(name, 'is no file and is not read. Remove it from in.'));
    }
    this.reported = new Set(others);
  }

  private warning(name: string, text: string): WorkError {
    return new WorkError(
      `the rail ${this.config.name} has ${JSON.stringify(name.slice(0, 255))} from the bank: ${text}`,
    );
  }

  private async take(
    { name, isSymbolicLink }: WaitingFile,
    guard: LeaseGuard,
    onError: (error: unknown) => void,
  ): Promise<boolean> {
    if (isSymbolicLink) {
      await this.refuse(name, createHash('sha256').digest(), 'It is a symbolic link, and not a file.');
      return true;
    }
    const handle = await this.open(name);
    if (!handle) return false;
    let digest: Buffer = createHash('sha256').digest();
    try {
      const { size, mtimeMs } = await handle.stat();
      const age = this.now() - mtimeMs;
      try {
        if (size > SIZE_MAX) throw new BankFileError(`It has more than ${SIZE_MAX} bytes.`);
        digest = await digestOf(handle, guard);
        const note = await this.store(name, digest, handle, guard);
        if (note !== undefined) onError(this.warning(name, note));
      } catch (error) {
        const fault = faultOf(error);
        if (fault === undefined) throw error;
        if (fault.endsEarly && Math.abs(age) < COMPLETE_WITHIN_MS) return false;
        await this.refuse(name, digest, fault.message);
        return true;
      }
    } finally {
      await handle.close();
    }
    await this.folder.moveToDone(name);
    return true;
  }

  /** Undefined if the file is gone, because another worker took it meanwhile. */
  private async open(name: string): Promise<FileHandle | undefined> {
    try {
      return await this.folder.open(name);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  }

  /** Returns what an operator should know of the file. */
  private async store(
    name: string,
    digest: Buffer,
    handle: FileHandle,
    guard: LeaseGuard,
  ): Promise<string | undefined> {
    const [read] = await this.database.pipeline({}, [bind(IS_READ, this.config.name, digest)]);
    if (read.length > 0) return undefined;
    return this.database.transaction({}, async (tx) => {
      const store = new BankFileStore(tx, this.config, { name: name.slice(0, 255), digest });
      const hash = createHash('sha256');
      for await (const record of readBankFile(chunksOf(handle, guard, hash)))
        if (!(await store.add(record))) return undefined;
      if (!hash.digest().equals(digest)) throw new BankFileError('It changed while it was read.', true);
      await guard.check(true);
      return store.commit();
    });
  }

  private async refuse(name: string, digest: Buffer, reason: string): Promise<void> {
    const bound = bind(STORE_REFUSED, this.config.name, name.slice(0, 255), digest, reason.slice(0, 500));
    await this.database.pipeline({}, [bound]);
    await this.folder.moveToRefused(name, reason);
  }
}

/**
 * What is wrong with the file; undefined for an error that is not one of the file. A value that the database refuses (SQLSTATE classes 22 and
 * 23) is refused there each time: a file that has one would keep all others back.
 */
function faultOf(error: unknown): BankFileError | undefined {
  if (error instanceof BankFileError) return error;
  const code = error instanceof DatabaseError ? (error.code ?? '') : '';
  return /^2[23]/.test(code) ? new BankFileError(`The database refuses a value of it (SQLSTATE ${code}).`) : undefined;
}

/** Keeps the lease while a long file is read, and ends the work where it is lost. */
class LeaseGuard {
  private renewedAt = performance.now();

  constructor(
    private readonly inbox: RailInbox,
    private readonly lease: LeasedCursor,
    private readonly signal: AbortSignal | undefined,
  ) {}

  async check(isForced = false): Promise<void> {
    this.signal?.throwIfAborted();
    if (!isForced && performance.now() - this.renewedAt < RENEW_AFTER_MS) return;
    if (!(await this.inbox.renew(this.lease))) throw new Error('another worker takes the files of this rail meanwhile');
    this.renewedAt = performance.now();
  }
}

async function digestOf(handle: FileHandle, guard: LeaseGuard): Promise<Buffer> {
  const hash = createHash('sha256');
  for await (const chunk of chunksOf(handle, guard, hash)) void chunk;
  return hash.digest();
}

async function* chunksOf(
  handle: FileHandle,
  guard: LeaseGuard,
  hash: { update(chunk: Uint8Array): unknown },
): AsyncGenerator<Uint8Array> {
  for (let position = 0; ;) {
    await guard.check();
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(READ_SIZE), 0, READ_SIZE, position);
    if (bytesRead === 0) return;
    const chunk = buffer.subarray(0, bytesRead);
    hash.update(chunk);
    yield chunk;
    position += bytesRead;
  }
}

/** A file that waits to be read, by its name. */
interface WaitingFile {
  readonly name: string;
  readonly isSymbolicLink: boolean;
}

/** The folders of a rail that the client of the bank fills: `in`, and `done` and `refused` beside it. */
class BankFolder {
  constructor(private readonly folder: string) {}

  /**
   * The files in the order of their names, and the names of what is no file. Those that are being written (`*.tmp`, `*.part`, a dot in
   * front) are passed over.
   */
  async list(): Promise<{ readonly waiting: readonly WaitingFile[]; readonly others: readonly string[] }> {
    for (const name of ['in', 'done', 'refused']) await ensureFolder(join(this.folder, name));
    const listed = await readdir(join(this.folder, 'in'), { withFileTypes: true });
    const entries = listed.filter(({ name }) => !/^\.|\.(?:tmp|part|filepart)$/i.test(name));
    const isWaiting = (entry: Dirent) => entry.isFile() || entry.isSymbolicLink();
    const waiting = entries
      .filter(isWaiting)
      .map((entry) => ({ name: entry.name, isSymbolicLink: entry.isSymbolicLink() }))
      .toSorted((one, other) => (one.name < other.name ? -1 : 1));
    return { waiting, others: entries.filter((entry) => !isWaiting(entry)).map(({ name }) => name) };
  }

  /** Opens a file, and no symbolic link that took its place. */
  open(name: string): Promise<FileHandle> {
    return open(join(this.folder, 'in', name), constants.O_RDONLY | constants.O_NOFOLLOW);
  }

  /** Moves a file that was read. */
  async moveToDone(name: string): Promise<void> {
    await this.move(name, 'done', await this.freeName('done', name));
  }

  /** Moves a file that was refused, with the reason beside it. */
  async moveToRefused(name: string, reason: string): Promise<void> {
    const free = await this.freeName('refused', name);
    const path = join(this.folder, 'refused', `${free}${REASON}`);
    const file = await open(`${path}.tmp`, 'w');
    try {
      await file.writeFile(`${reason}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(`${path}.tmp`, path);
    await this.move(name, 'refused', free);
  }

  private async move(name: string, to: 'done' | 'refused', free: string): Promise<void> {
    await rename(join(this.folder, 'in', name), join(this.folder, to, free));
    for (const changed of [to, 'in']) await syncFolder(join(this.folder, changed));
  }

  /** The name with a number behind it, where the folder has another file of the name. A long one is cut, so that the reason has a name too. */
  private async freeName(folder: string, given: string): Promise<string> {
    const name = Buffer.byteLength(given) > NAME_BYTES_MAX ? cutName(given) : given;
    for (let count = 1; ; count += 1) {
      const free = count === 1 ? name : `${name}.${count}`;
      if (await isMissing(join(this.folder, folder, free))) return free;
    }
  }
}

/** A file system takes 255 bytes. */
const NAME_BYTES_MAX = 200;

/** Of whole characters. */
function cutName(name: string): string {
  let cut = '';
  for (const character of name) {
    if (Buffer.byteLength(cut + character) > NAME_BYTES_MAX) break;
    cut += character;
  }
  return cut;
}

async function isMissing(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return false;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return true;
    throw error;
  }
}
