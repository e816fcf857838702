import { bind, type Database, sqlStatement } from '@banking/postgres';
import type { FileRailConfig } from '../rail-config.js';
import { FileFolder } from './file-folder.js';

/** What waits on the way to a bank and from it. */
export interface FileRailStatus {
  /** Payments that wait for a file. */
  readonly paymentsWaiting: number;
  /** Files of payments that are not handed over yet. */
  readonly filesUnwritten: number;
  /** Files of the bank that are not read yet; null where this process cannot read its folder. */
  readonly filesUnread: number | null;
  /** Files of the bank that were refused and are still in its folder; null likewise. */
  readonly filesRefused: number | null;
  /** What an operator should know of files of the bank that were read within a week, the youngest first. */
  readonly notes: readonly FileNote[];
}

interface FileNote {
  readonly file: string;
  /** RFC 3339. */
  readonly receivedAt: string;
  readonly note: string;
}

const NOTES_MAX = 20;

const READ_NOTES = sqlStatement<FileNote>(
  'read_notes_of_bank_files',
  `select name as file, rfc3339(received_at) as "receivedAt", note from bank_file
   where rail = $1 and note is not null and received_at > clock_timestamp() - interval '7 days'
   order by received_at desc, id desc limit ${NOTES_MAX}`,
);

const COUNT = sqlStatement<{ waiting: number; unwritten: number }>(
  'count_file_payments',
  `select (select count(*)::int from file_payment where rail = $1 and file_id is null) as waiting,
          (select count(*)::int from payment_file where rail = $1 and written_at is null) as unwritten`,
);

export async function readFileRailStatus(
  database: Database,
  { name, folder }: FileRailConfig,
): Promise<FileRailStatus> {
  const files = new FileFolder(name, folder);
  const [counts, [notes], filesUnread, filesRefused] = await Promise.all([
    database.read({}, bind(COUNT, name)),
    database.pipeline({}, [bind(READ_NOTES, name)] as const),
    files.count('in'),
    files.count('refused'),
  ]);
  return {
    paymentsWaiting: counts?.waiting ?? 0,
    filesUnwritten: counts?.unwritten ?? 0,
    ...{ filesUnread: filesUnread ?? null, filesRefused: filesRefused ?? null, notes },
  };
}
