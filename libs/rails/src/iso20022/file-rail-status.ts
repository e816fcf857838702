import { bind, type Database, sqlStatement } from '@banking/postgres';
import type { FileRailConfig } from '../rail-config.js';
import { FileFolder } from './file-folder.js';

/** What waits on the way to a bank and from it. */
export interface FileRailStatus {
  /** Payments that wait for a file. */
  readonly paymentsWaiting: number;
  /** Files of payments that are not handed over yet. */
  readonly filesUnwritten: number;
  /** Files of the bank that are not read yet. */
  readonly filesUnread: number;
  /** Files of the bank that were refused and are still in its folder. */
  readonly filesRefused: number;
}

const COUNT = sqlStatement<{ waiting: number; unwritten: number }>(
  'count_file_payments',
  `select (select count(*)::int from file_payment where rail = $1 and file_id is null) as waiting,
          (select count(*)::int from payment_file where rail = $1 and written_at is null) as unwritten`,
);

/** @throws OutageError if the folder cannot be read */
export async function readFileRailStatus(
  database: Database,
  { name, folder }: FileRailConfig,
): Promise<FileRailStatus> {
  const files = new FileFolder(name, folder);
  const [counts, filesUnread, filesRefused] = await Promise.all([
    database.read({}, bind(COUNT, name)),
    files.count('in'),
    files.count('refused'),
  ]);
  return {
    paymentsWaiting: counts?.waiting ?? 0,
    filesUnwritten: counts?.unwritten ?? 0,
    ...{ filesUnread, filesRefused },
  };
}
