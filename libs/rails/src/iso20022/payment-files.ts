import { randomBytes } from 'node:crypto';
import { minorUnits, type MinorUnits } from '@banking/domain';
import { bind, BatchedCalls, type Database, sqlStatement } from '@banking/postgres';
import { WorkError } from '@banking/work-queue';
import { type BankDialect, dialectOf, type FileRailConfig } from '../rail-config.js';
import { earliestDay, isCutOffNear } from './bank-days.js';
import { transliterate, shortened } from './characters.js';
import { FileFolder } from './file-folder.js';
import type { PaymentContentInFile } from './payment-content.js';
import { countWithinSum, executionDaysIn, groupOf, type PaymentInFile, writePain001 } from './write-pain-001.js';
import { LOCK_FILES } from './sent-files.js';

/** A payment that is to leave in a file. */
export interface AcceptedPayment {
  readonly key: string;
  readonly endToEndId: string;
  readonly amount: MinorUnits;
  readonly currency: string;
  readonly content: PaymentContentInFile;
}

/** A known key stays as it is. In the order of the keys, as every batch locks. */
const ACCEPT = sqlStatement(
  'accept_file_payments',
  `insert into file_payment (rail, key, end_to_end_id, amount, currency, content)
   select $1, u.key, u.end_to_end_id, u.amount, u.currency, u.content
   from unnest($2::text[], $3::text[], $4::bigint[], $5::text[], $6::jsonb[]) u(key, end_to_end_id, amount, currency, content)
   order by u.key
   on conflict (rail, key) do nothing`,
);

const READ_ACCEPTED = sqlStatement<{ key: string; is_same: boolean }>(
  'read_accepted_file_payments',
  `select u.key, (p.amount, p.currency) = (u.amount, u.currency)
          and (p.content ? 'isRead' or p.content->'creditor' = u.content->'creditor') as is_same
   from unnest($2::text[], $3::bigint[], $4::text[], $5::jsonb[]) u(key, amount, currency, content)
   join file_payment p on p.rail = $1 and p.key = u.key`,
);

/** What decides whether a file is closed, by the clock of the database. */
const READ_WAITING = sqlStatement<{ waiting: number; is_old: boolean | null; now_ms: number }>(
  'read_waiting_file_payments',
  `select count(*)::int as waiting, min(w.accepted_at) <= clock_timestamp() - $3 * interval '1 s' as is_old,
          floor(extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms
   from (select accepted_at from file_payment where rail = $1 and file_id is null order by id limit $2) w`,
);

/** None, if the database lacks a file that it had a moment ago: another one has taken its place, and has to learn what left. */
const TAKE_WAITING = sqlStatement<PaymentRow>(
  'take_waiting_file_payments',
  `select key, end_to_end_id, amount, currency, content from file_payment
   where rail = $1 and file_id is null and ($3::text is null or exists (select from payment_file where message_id = $3))
   order by id limit $2
   for update`,
);

const INSERT_FILE = sqlStatement(
  'insert_payment_file',
  `with file as (
     insert into payment_file (rail, message_id, leased_until) values ($1, $2, clock_timestamp() + $3 * interval '1 ms') returning id
   )
   update file_payment p set file_id = f.id, payment_information_id = u.payment_information_id
   from file f cross join unnest($4::text[], $5::text[]) u(key, payment_information_id)
   where p.rail = $1 and p.key = u.key`,
);

interface FileRow {
  id: bigint;
  message_id: string;
  prepared_as: string | null;
  now_ms: number;
  created_on: string;
}

const LEASE_FILE = sqlStatement<FileRow>(
  'lease_payment_file',
  `with next as (
     select id from payment_file where rail = $1 and written_at is null
       and (message_id = $2 or leased_until <= clock_timestamp())
     order by id limit 1
     for update skip locked
   )
   update payment_file f set leased_until = clock_timestamp() + $3 * interval '1 ms' from next n where f.id = n.id
   returning f.id, f.message_id, f.prepared_as, floor(extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms,
             to_char(f.created_at at time zone 'utc', 'YYYY-MM-DD') as created_on`,
);

interface PaymentRow {
  key: string;
  end_to_end_id: string;
  amount: bigint;
  currency: string;
  content: PaymentContentInFile;
}

const READ_PAYMENTS_OF_FILE = sqlStatement<PaymentRow & { payment_information_id: string }>(
  'read_payments_of_file',
  `select key, end_to_end_id, amount, currency, content, payment_information_id
   from file_payment where file_id = $1 order by id`,
);

/**
 * Only the first one is handed over, so a worker that is late or was stopped hands nothing over again. One that was withdrawn gives way to
 * the first one after it.
 */
const MARK_PREPARED = sqlStatement<{ id: bigint }>(
  'mark_payment_file_prepared',
  `update payment_file set prepared_at = clock_timestamp(), prepared_as = $2
   where id = $1 and prepared_as is not distinct from $3 and written_at is null returning id`,
);

const MARK_WRITTEN = sqlStatement(
  'mark_payment_file_written',
  'update payment_file set written_at = clock_timestamp() where id = $1 and prepared_as = $2 and written_at is null',
);

/** How long another worker leaves a file to the one that began it. */
const LEASE_MS = 30_000;

/** Called between two steps; for tests of workers that are killed. */
export type StepWatch = (
  step: 'closed' | 'prepared' | 'withdrawn' | 'marked' | 'handed over' | 'written',
) => Promise<void> | void;

export interface PaymentFilesOptions {
  readonly leaseMs?: number;
  readonly onStep?: StepWatch;
  /** Finds files that left before the database was restored; before each new file. Returns the message id of the youngest one. */
  readonly learnSent: () => Promise<string | undefined>;
}

/**
 * The payments that leave in files. Any number of workers write files; each file is handed over once.
 *
 * 1. A file and its payments are chosen in one database transaction.
 * 2. Its bytes are complete and durable in `ready`, under a name of this try.
 * 3. A commit says which try counts. The others are never handed over.
 * 4. A copy is durable in `sent`, and one rename moves the file to `out`.
 * 5. A commit says so. Without it, a worker finds the file gone from `ready`.
 *
 * A file that could not be handed over before its day was over is prepared anew: the new bytes are in `ready`, one rename withdraws the
 * old ones, and a commit says that the new try counts.
 */
export class PaymentFiles {
  private readonly dialect: BankDialect;
  private readonly accepting = new BatchedCalls((payments: readonly AcceptedPayment[]) => this.acceptAll(payments));
  private readonly leaseMs: number;

  constructor(
    private readonly database: Database,
    private readonly config: FileRailConfig,
    private readonly folder: FileFolder,
    private readonly options: PaymentFilesOptions,
  ) {
    this.dialect = dialectOf(config);
    this.leaseMs = options.leaseMs ?? LEASE_MS;
  }

  /** Accepts a payment once. @throws WorkError if the key has another payment */
  async accept(payment: AcceptedPayment): Promise<void> {
    const isSame = await this.accepting.call(payment);
    if (!isSame) throw new WorkError(`the rail ${this.config.name} has a payment of this key with other content`);
  }

  private async acceptAll(payments: readonly AcceptedPayment[]): Promise<readonly boolean[]> {
    const keys = payments.map(({ key }) => key);
    const amounts = payments.map(({ amount }) => amount);
    const currencies = payments.map(({ currency }) => currency);
    const contents = payments.map(({ content }) => JSON.stringify(content));
    const ids = payments.map(({ endToEndId }) => endToEndId);
    const [, rows] = await this.database.pipeline({}, [
      bind(ACCEPT, this.config.name, keys, ids, amounts, currencies, contents),
      bind(READ_ACCEPTED, this.config.name, keys, amounts, currencies, contents),
    ] as const);
    const same = new Map(rows.map(({ key, is_same }) => [key, is_same]));
    return keys.map((key) => same.get(key) ?? false);
  }

  /** Hands over a file that is not finished, or closes and writes the next one. Returns how many there were. */
  async writeNext(): Promise<number> {
    const unfinished = await this.lease('');
    if (unfinished) {
      // Of a restored database, it may have left already.
      if (unfinished.prepared_as === null) await this.options.learnSent();
      await this.finish(unfinished);
      return 1;
    }
    if (!(await this.isDue())) return 0;
    const messageId = await this.close(await this.options.learnSent());
    if (messageId === undefined) return 0;
    await this.options.onStep?.('closed');
    const file = await this.lease(messageId);
    if (file) await this.finish(file);
    return 1;
  }

  private async isDue(): Promise<boolean> {
    const { paymentsMax, closeAfterSeconds } = this.dialect;
    const row = await this.database.read({}, bind(READ_WAITING, this.config.name, paymentsMax, closeAfterSeconds));
    if (!row || row.waiting === 0) return false;
    return row.waiting >= paymentsMax || row.is_old === true || isCutOffNear(row.now_ms, this.dialect);
  }

  /**
   * Chooses the payments of a file. Returns its message id; undefined if another worker has chosen them.
   *
   * @param youngest the message id of a file that left
   */
  private close(youngest: string | undefined): Promise<string | undefined> {
    const { name } = this.config;
    return this.database.transaction({}, async (tx) => {
      const [, waiting] = await tx.pipeline([
        bind(LOCK_FILES, name),
        bind(TAKE_WAITING, name, this.dialect.paymentsMax, youngest ?? null),
      ] as const);
      if (waiting.length === 0) return undefined;
      const rows = waiting.slice(0, countWithinSum(waiting.map(paymentOf)));
      const messageId = newMessageId();
      const groups = new Map<string, string>();
      const ids = rows.map((row) => {
        const group = groupOf(paymentOf(row));
        const id = groups.get(group) ?? `${messageId}-${groups.size + 1}`;
        groups.set(group, id);
        return id;
      });
      await tx.commit([
        bind(
          INSERT_FILE,
          name,
          messageId,
          this.leaseMs,
          rows.map(({ key }) => key),
          ids,
        ),
      ] as const);
      return messageId;
    });
  }

  /** @param messageId a file of this worker */
  private async lease(messageId: string): Promise<FileRow | undefined> {
    return this.database.read({}, bind(LEASE_FILE, this.config.name, messageId, this.leaseMs));
  }

  private async finish(file: FileRow): Promise<void> {
    const preparedAs = file.prepared_as === null ? await this.prepare(file) : await this.lookAt(file, file.prepared_as);
    // Another worker prepares it, and hands it over.
    if (preparedAs === undefined) return;
    if (!(await this.folder.handOver({ messageId: file.message_id, preparedAs }, file.created_on))) return;
    await this.options.onStep?.('handed over');
    await this.database.pipeline({}, [bind(MARK_WRITTEN, file.id, preparedAs)]);
    await this.options.onStep?.('written');
  }

  /** Returns the name of the try to hand over: that of the row, or of a new one if its day is over; undefined if another one counts. */
  private async lookAt(file: FileRow, preparedAs: string): Promise<string | undefined> {
    const name = { messageId: file.message_id, preparedAs };
    const text = await this.folder.readPrepared(name);
    if (text === undefined) {
      const other = await this.folder.findOtherCopy(name, file.created_on);
      if (other !== undefined) return this.mark(file, other);
      return (await this.folder.isWithdrawn(name)) ? this.prepare(file) : preparedAs;
    }
    // A bank refuses payments of a day that is over.
    const earliest = earliestDay(file.now_ms, this.dialect);
    return executionDaysIn(text).some((day) => day < earliest) ? this.prepare(file) : preparedAs;
  }

  /** Returns the name of this try, or of the one before it if that was handed over; undefined if another one counts. */
  private async prepare(file: FileRow): Promise<string | undefined> {
    const [rows] = await this.database.pipeline({}, [bind(READ_PAYMENTS_OF_FILE, file.id)] as const);
    // Of a payment that was read from a copy, only the file says everything.
    if (file.prepared_as !== null && rows.some(({ content }) => 'isRead' in content)) return file.prepared_as;
    const text = writePain001(
      {
        messageId: file.message_id,
        // A file that could not be written for days asks for a day to come.
        createdAtMs: file.now_ms,
        sender: shortened(transliterate(this.config.accounts[0]?.holder ?? ''), 70),
        payments: rows.map((row) => ({ ...paymentOf(row), paymentInformationId: row.payment_information_id })),
      },
      this.dialect,
    );
    const name = { messageId: file.message_id, preparedAs: randomBytes(4).toString('hex') };
    await this.folder.prepare(name, text);
    await this.options.onStep?.('prepared');
    if (file.prepared_as !== null) {
      const before = { messageId: file.message_id, preparedAs: file.prepared_as };
      if (!(await this.folder.withdraw(before, file.created_on))) {
        await this.folder.discard(name);
        return file.prepared_as;
      }
      await this.options.onStep?.('withdrawn');
    }
    const marked = await this.mark(file, name.preparedAs);
    if (marked === undefined) await this.folder.discard(name);
    else await this.options.onStep?.('marked');
    return marked;
  }

  /** Says that a try counts. Returns its name; undefined if another worker has marked one meanwhile. */
  private async mark(file: FileRow, preparedAs: string): Promise<string | undefined> {
    const [marked] = await this.database.pipeline({}, [
      bind(MARK_PREPARED, file.id, preparedAs, file.prepared_as),
    ] as const);
    return marked.length === 0 ? undefined : preparedAs;
  }
}

/** With 48 random bits, because a restored database would give a number again. The day is for people. */
function newMessageId(): string {
  const day = new Date().toISOString().slice(0, 10).replaceAll('-', '');
  return `PAY-${day}-${randomBytes(6).toString('hex').toUpperCase()}`;
}

function paymentOf(row: PaymentRow): Omit<PaymentInFile, 'paymentInformationId'> {
  const { key, end_to_end_id: endToEndId, amount, currency, content } = row;
  return { key, endToEndId, amount: minorUnits(amount), currency, content };
}
