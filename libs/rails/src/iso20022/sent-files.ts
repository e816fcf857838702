import { type MinorUnits, parseAmount } from '@banking/domain';
import { findPayouts, isSameContent, parsePayoutKey } from '@banking/payouts';
import { bind, type Database, sqlStatement } from '@banking/postgres';
import { OutageError } from '@banking/work-queue';
import { SaxesParser } from 'saxes';
import { keyOfEndToEndId } from './end-to-end-id.js';
import type { FileFolder, SentFile } from './file-folder.js';

/** One database transaction at a time chooses payments of a rail for a file, or stores those of a file that left. */
export const LOCK_FILES = sqlStatement(
  'lock_payment_files',
  `select pg_advisory_xact_lock(hashtextextended('payment_file ' || $1, 0))`,
);

/**
 * From which day on there may be files that the database does not know. A restored database has what was before a moment, so every file
 * that it lacks is younger than its youngest one, or than one that was not prepared at that moment. A day more, because clocks differ.
 */
const READ_KNOWN_UNTIL = sqlStatement<{ since: string | null; has_written: boolean }>(
  'read_payment_files_known_until',
  `select to_char((least(
            (select max(created_at) from payment_file where rail = $1),
            (select min(created_at) from payment_file where rail = $1 and written_at is null and prepared_at is null)
          ) - interval '1 day') at time zone 'utc', 'YYYY-MM-DD') as since,
          exists (select from payment_file where rail = $1 and written_at is not null) as has_written`,
);

const READ_KNOWN = sqlStatement<{ message_id: string; is_prepared: boolean }>(
  'read_known_payment_files',
  `select message_id, prepared_at is not null as is_prepared from payment_file where message_id = any($1::text[])`,
);

/** A copy exists only after a commit said which try counts, so a row without it was restored. */
const ADOPT_PREPARED = sqlStatement(
  'adopt_prepared_payment_file',
  `update payment_file set prepared_at = clock_timestamp(), prepared_as = $2 where message_id = $1 and prepared_at is null`,
);

/**
 * The row of the file is as old as the day of its copy, so that younger files stay unknown until they are stored too. A payment that
 * the restored database has accepted again, and that no file has, is the one of this file.
 */
const STORE_SENT = sqlStatement(
  'store_sent_payment_file',
  `with file as (
     insert into payment_file (rail, message_id, created_at, leased_until, prepared_at, prepared_as)
     values ($1, $2, $3::date at time zone 'utc', clock_timestamp(), clock_timestamp(), $4)
     on conflict (message_id) do nothing
     returning id
   )
   insert into file_payment as p (rail, key, end_to_end_id, amount, currency, content, file_id, payment_information_id, accepted_at,
     is_in_books)
   select $1, u.key, u.end_to_end_id, u.amount, u.currency, '{"isRead": true}', f.id, u.payment_information_id,
          to_timestamp($5::bigint / 1000.0), u.is_in_books
   from file f cross join unnest($6::text[], $7::text[], $8::bigint[], $9::text[], $10::text[], $11::boolean[])
     u(key, end_to_end_id, amount, currency, payment_information_id, is_in_books)
   order by u.key
   on conflict (rail, end_to_end_id) do update set file_id = excluded.file_id, payment_information_id = excluded.payment_information_id
   where p.file_id is null`,
);

/** A payment as our own file says it. */
export interface SentPayment {
  readonly endToEndId: string;
  readonly amount: MinorUnits;
  /** ISO 4217. */
  readonly currency: string;
  readonly paymentInformationId: string;
}

/**
 * Stores the files that left and that the database does not know, because it was restored to an earlier moment. Their payments are found
 * by key afterwards, so that none is paid twice. A file that was prepared and not handed over is handed over by the next worker.
 *
 * @returns the message id of the youngest file that left, which the database knows now; undefined if none left
 * @throws OutageError if the copies cannot be read: no payment may be called unknown then
 */
export async function learnSentFiles(
  database: Database,
  rail: string,
  folder: FileFolder,
): Promise<string | undefined> {
  const known = await database.read({}, bind(READ_KNOWN_UNTIL, rail));
  const files = await folder.listSent(known?.since ?? undefined, known?.has_written ?? false);
  if (files.length === 0) return undefined;
  const [rows] = await database.pipeline({}, [
    bind(
      READ_KNOWN,
      files.map(({ messageId }) => messageId),
    ),
  ] as const);
  const isPrepared = new Map(rows.map(({ message_id, is_prepared }) => [message_id, is_prepared]));
  const unknown = files.filter(({ messageId }) => isPrepared.get(messageId) !== true);
  for (const file of unknown) {
    if (isPrepared.has(file.messageId)) {
      await database.pipeline({}, [bind(ADOPT_PREPARED, file.messageId, file.preparedAs)]);
    } else await storeSent(database, rail, folder, file);
  }
  return files.at(-1)?.messageId;
}

async function storeSent(database: Database, rail: string, folder: FileFolder, file: SentFile): Promise<void> {
  const { text, madeAtMs } = await folder.readSent(file);
  const payments = paymentsOfFile(text);
  if (!payments) {
    throw new OutageError(
      `the rail ${rail} cannot read a copy in sent, so no file is written: restore or remove ${file.messageId}`,
    );
  }
  const keys = payments.map(({ endToEndId }) => keyOfEndToEndId(endToEndId) ?? endToEndId);
  // A payout is committed before its payment is accepted, so one that is missing here does not come later.
  const payouts = await findPayouts(
    database,
    keys.flatMap((key) => parsePayoutKey(key) ?? []),
  );
  const areInBooks = payments.map((payment, index) => {
    const payout = payouts.get(keys[index]!);
    return payout !== undefined && isSameContent(payment, payout);
  });
  await database.transaction({}, async (tx) => {
    await tx.pipeline([bind(LOCK_FILES, rail)]);
    await tx.commit([
      bind(
        STORE_SENT,
        ...[rail, file.messageId, file.day, file.preparedAs, madeAtMs],
        keys,
        payments.map(({ endToEndId }) => endToEndId),
        payments.map(({ amount }) => amount),
        payments.map(({ currency }) => currency),
        payments.map(({ paymentInformationId }) => paymentInformationId),
        areInBooks,
      ),
    ]);
  });
}

/** Reads a file of our own; undefined if it is damaged. */
export function paymentsOfFile(text: string): readonly SentPayment[] | undefined {
  const payments: SentPayment[] = [];
  let [paymentInformationId, endToEndId, amount, currency, content] = ['', '', '', '', ''];
  const parser = new SaxesParser();
  let fault: Error | undefined;
  parser.on('error', (error) => void (fault ??= error));
  parser.on('opentag', ({ name, attributes }) => {
    content = '';
    if (name === 'InstdAmt') currency = attributes['Ccy'] ?? '';
  });
  parser.on('text', (part) => void (content += part));
  parser.on('closetag', ({ name }) => {
    if (name === 'PmtInfId') paymentInformationId = content;
    if (name === 'EndToEndId') endToEndId = content;
    if (name === 'InstdAmt') amount = content;
    if (name === 'CdtTrfTxInf') {
      payments.push({ endToEndId, amount: parseAmount(amount, currency), currency, paymentInformationId });
    }
  });
  try {
    parser.write(text).close();
  } catch (error) {
    fault ??= error as Error;
  }
  return fault === undefined && payments.length > 0 ? payments : undefined;
}
