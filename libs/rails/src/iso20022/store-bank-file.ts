import { uetrOf } from '@banking/payouts';
import { bind, type DbTransaction, sqlStatement } from '@banking/postgres';
import type { BankAccount, FileRailConfig } from '../rail-config.js';
import {
  BankFileError,
  type BankRecord,
  type EntryRecord,
  type MessageRecord,
  type StatementRecord,
  type StatusRecord,
} from './bank-records.js';
import { type Contradiction, refuseContradiction, storeEntries } from './store-entries.js';

/**
 * Before its entries, so that each of them finds it at once: at the end, one statement would look for hundreds of thousands. No row if
 * another worker has stored the file, whose commit may have become known since this one looked for it.
 */
const OPEN_FILE = sqlStatement<{ id: bigint }>(
  'open_bank_file',
  `insert into bank_file (rail, name, digest, message, message_id, outcome) values ($1, $2, $3, $4, $5, 'read')
   on conflict (rail, digest) where outcome = 'read' do nothing returning id`,
);
const NOTE_FILE = sqlStatement('note_bank_file', `update bank_file set note = $2 where id = $1`);

const IS_SAME = `s.bank_account = $2 and s.currency = $3 and s.statement_id = $4 and s.sequence is not distinct from $5::numeric
       and s.opening_balance = $6 and s.closing_balance = $7 and s.opened_on = $8 and s.closed_on = $9`;
const COLUMNS = `file_id, bank_account, currency, statement_id, sequence, opening_balance, closing_balance, opened_on, closed_on`;
const VALUES = `$1::bigint, $2, $3, $4, $5::numeric, $6::bigint, $7::bigint, $8::date, $9::date`;

/** The entries of a statement that an earlier file had already belong to that one. */
const OPEN_STATEMENT = sqlStatement<{ id: bigint; is_new: boolean }>(
  'open_bank_statement',
  `with earlier as (select s.id from bank_statement s where ${IS_SAME} order by s.id limit 1),
     opened as (
       insert into bank_statement (${COLUMNS}, entry_count, entry_sum)
       select ${VALUES}, 0, 0 where not exists (select from earlier) returning id)
   select id, false as is_new from earlier union all select id, true from opened`,
);
const CLOSE_STATEMENT = sqlStatement(
  'close_bank_statement',
  `update bank_statement set entry_count = $2, entry_sum = $3 where id = $1`,
);
/** One that an earlier file had with other entries. */
const STORE_STATEMENT = sqlStatement(
  'store_bank_statement',
  `insert into bank_statement (${COLUMNS}, entry_count, entry_sum)
   select ${VALUES}, $10::integer, $11::bigint
   where not exists (select from bank_statement s where ${IS_SAME} and s.entry_count = $10 and s.entry_sum = $11)`,
);

/** Two rails may read files of one account: each sees what the other has stored. */
const LOCK_ACCOUNT = sqlStatement(
  'lock_bank_account',
  `select pg_advisory_xact_lock(hashtextextended('bank_account ' || $1 || ' ' || $2, 0))`,
);

/** Rows of one statement of SQL. */
const CHUNK = 2_000;

interface OpenStatement {
  readonly account: BankAccount;
  /** The values that name it; undefined without both balances. */
  readonly named: readonly unknown[] | undefined;
  /** Of its row, or of the equal one of an earlier file; null without both balances. */
  readonly id: bigint | null;
  readonly isNew: boolean;
  entryCount: number;
  entrySum: bigint;
}

/** Stores the records of one file in a database transaction, in their order. */
export class BankFileStore {
  private fileId = 0n;
  private statuses: StatusStore | undefined;
  private statement: OpenStatement | undefined;
  private readonly statements: OpenStatement[] = [];
  private chunk = new Map<string, EntryRecord>();
  private readonly listed = new Set<string>();
  private readonly contradictions: Contradiction[] = [];
  private unreconciledCount = 0;

  constructor(
    private readonly tx: DbTransaction,
    private readonly config: FileRailConfig,
    private readonly file: { readonly name: string; readonly digest: Buffer },
  ) {}

  /**
   * @returns false if another worker has stored the file
   * @throws BankFileError if the record does not belong to this rail or contradicts what an earlier file said
   */
  async add(record: BankRecord): Promise<boolean> {
    if (record.kind === 'message') return this.openFile(record);
    await this.addContent(record);
    return true;
  }

  private async openFile({ message, messageId }: MessageRecord): Promise<boolean> {
    const { name, digest } = this.file;
    const [[row]] = await this.tx.pipeline([
      bind(OPEN_FILE, this.config.name, name, digest, message, messageId),
    ] as const);
    if (row === undefined) return false;
    this.fileId = row.id;
    return true;
  }

  private async addContent(record: Exclude<BankRecord, MessageRecord>): Promise<void> {
    switch (record.kind) {
      case 'status':
        this.statuses ??= new StatusStore(this.tx, this.config.name, this.file.digest.toString('hex'));
        return this.statuses.add(record);
      case 'statement':
        return this.openStatement(record);
      case 'entry':
        return this.addEntry(record);
    }
  }

  /** Stores what only the end of the file tells, and commits. Returns what an operator should know of the file. */
  async commit(): Promise<string | undefined> {
    await this.storeChunk();
    const contradiction = this.contradictions.find(({ earlier }) => !this.listed.has(earlier.identity));
    if (contradiction) refuseContradiction(contradiction);
    const notes = (await this.statuses?.end()) ?? [];
    const note = [
      ...notes,
      ...(this.unreconciledCount > 0
        ? [`Statements without an opening and a closing balance, which are not reconciled: ${this.unreconciledCount}.`]
        : []),
    ].join(' ');
    await this.tx.commit([
      ...(note === '' ? [] : [bind(NOTE_FILE, this.fileId, note)]),
      ...this.statements.flatMap(rowOf),
    ]);
    return note || undefined;
  }

  private async openStatement(record: StatementRecord): Promise<void> {
    await this.storeChunk();
    const account = accountOf(this.config, record);
    const { opening, closing } = record;
    for (const balance of [opening, closing]) {
      if (balance && balance.currency !== account.currency) {
        throw new BankFileError('A balance is in another currency than its account in RAILS_FILE.');
      }
    }
    const isReconciled = record.form === 'statement' && opening !== undefined && closing !== undefined;
    if (record.form === 'statement' && !isReconciled) this.unreconciledCount += 1;
    const named = isReconciled
      ? [
          ...[this.fileId, account.id, account.currency, record.id, record.sequence ?? null],
          ...[opening.amount, closing.amount, opening.date, closing.date],
        ]
      : undefined;
    await this.tx.pipeline([bind(LOCK_ACCOUNT, account.id, account.currency)]);
    const [[row]] = named ? await this.tx.pipeline([bind(OPEN_STATEMENT, ...named)] as const) : [[]];
    this.statement = { account, named, id: row?.id ?? null, isNew: row?.is_new ?? false, entryCount: 0, entrySum: 0n };
    this.statements.push(this.statement);
  }

  private async addEntry(entry: EntryRecord): Promise<void> {
    const { statement } = this;
    if (!statement) throw new Error('an entry came before its statement');
    if (entry.currency !== statement.account.currency) {
      throw new BankFileError('An entry is in another currency than its account in RAILS_FILE.');
    }
    if (entry.status === 'booked') {
      statement.entryCount += 1;
      statement.entrySum += signed(entry);
    }
    if (this.chunk.has(entry.identity)) await this.storeChunk();
    this.chunk.set(entry.identity, entry);
    this.listed.add(entry.identity);
    if (this.chunk.size >= CHUNK) await this.storeChunk();
  }

  private async storeChunk(): Promise<void> {
    const { chunk, statement } = this;
    if (chunk.size === 0 || !statement) return;
    this.chunk = new Map();
    const home = {
      ...{ rail: this.config.name, bankAccount: statement.account.id, currency: statement.account.currency },
      ...{ fileId: this.fileId, statementId: statement.id, digest: this.file.digest.toString('hex') },
    };
    this.contradictions.push(...(await storeEntries(this.tx, home, [...chunk.values()])));
  }
}

function rowOf({ id, isNew, named, entryCount, entrySum }: OpenStatement) {
  if (named === undefined) return [];
  if (isNew) return [bind(CLOSE_STATEMENT, id, entryCount, entrySum)];
  return [bind(STORE_STATEMENT, ...named, entryCount, entrySum)];
}

const signed = ({ direction, amount }: EntryRecord): bigint => (direction === 'credit' ? amount : -amount);

/** @throws BankFileError if no account of the rail is that of the statement, or more than one */
function accountOf({ accounts }: FileRailConfig, { account }: StatementRecord): BankAccount {
  const { iban, other, currency } = account;
  const isSame = ({ id, isIban }: BankAccount) =>
    iban !== undefined ? isIban && id.replace(/\s/g, '').toUpperCase() === iban : id === other;
  const found = accounts.filter((one) => isSame(one) && (currency === undefined || one.currency === currency));
  const [only, another] = found;
  if (another) throw new BankFileError('It is about an account that two accounts in RAILS_FILE match.');
  if (!only)
    throw new BankFileError('It is about an account that RAILS_FILE does not have: it is for another customer.');
  return only;
}

/** A bank may have received a file before the row says that it was handed over. */
const FIND_FILE = sqlStatement<{ id: bigint }>(
  'find_reported_payment_file',
  'select id from payment_file where rail = $1 and message_id = $2',
);
const MARK_WRITTEN = sqlStatement(
  'mark_reported_payment_file',
  `update payment_file set written_at = clock_timestamp() where id = $1 and prepared_at is not null and written_at is null`,
);

/** The event of the same status of the same payment is one, whatever file reports it. */
const EVENT_COLUMNS = `rail, position, key, provider_event, status, reason_code, message, amount, currency`;
const IS_SERVED = `case when p.key ~ '^payout-[1-9][0-9]{0,15}-' then is_served_here(split_part(p.key, '-', 2)::bigint) else true end`;

const STORE_NAMED = sqlStatement<{ end_to_end_id: string }>(
  'store_named_statuses',
  `with given as (
     select e.*, p.key, p.amount, p.currency
     from unnest($4::text[], $5::text[], $6::text[], $7::text[], $8::boolean[])
       with ordinality e(end_to_end_id, status, reason_code, message, is_event, place)
     join file_payment p on p.rail = $1 and p.end_to_end_id = e.end_to_end_id and p.file_id = $2
   ), stored as (
     insert into rail_event (${EVENT_COLUMNS})
     select $1, $3 || ':' || p.end_to_end_id || ':' || p.status, p.key, 'pain.002:' || p.status, p.status, p.reason_code, p.message,
       p.amount, p.currency
     from given p where p.is_event and ${IS_SERVED} order by p.place
     on conflict (rail, position) do nothing
   )
   select end_to_end_id from given`,
);

const READ_KEYS = sqlStatement<{ key: string; end_to_end_id: string }>(
  'read_keys_of_payment_file',
  'select key, end_to_end_id from file_payment where file_id = $1',
);

/** For the payments of a file, or of one of its `PmtInf`, that the report does not name. */
const STORE_OTHERS = sqlStatement<{ end_to_end_id: string }>(
  'store_other_statuses',
  `with other as (
     select p.* from file_payment p
     where p.file_id = $2 and ($4::text is null or p.payment_information_id = $4) and p.end_to_end_id <> all ($5::text[])
   ), stored as (
     insert into rail_event (${EVENT_COLUMNS})
     select $1, $3 || ':' || p.end_to_end_id || ':' || $6::text, p.key, 'pain.002:' || $6::text, $6::text, $7::text, $8::text,
       p.amount, p.currency
     from other p where $9::boolean and ${IS_SERVED} order by p.id
     on conflict (rail, position) do nothing
   )
   select end_to_end_id from other`,
);

const FIND_PART = sqlStatement(
  'find_part_of_payment_file',
  'select from file_payment where file_id = $1 and payment_information_id = $2 limit 1',
);

/** Payments of a report at most. We write 1,000 into a file. */
const NAMED_MAX = 100_000;
const STATUS_CHUNK = 1_000;

/** The bank has the payment already: it is none that failed. EPC and ISO 20022 ExternalStatusReason1Code. */
const IS_DUPLICATE = /^(?:AM05|DU0[1-5]|DUPL)$/;

/** What would be final, but is neither an arrival nor a rejection: an operator asks the bank. */
const UNUSUAL_END: ReadonlySet<string> = new Set(['CANC', 'BLCK']);

type Meaning = 'event' | 'duplicate' | 'unusual' | 'nothing';

function meaningOf({ status, reasonCode }: StatusRecord): Meaning {
  if (status === undefined || status === 'PART') return 'nothing';
  if (status === 'RJCT' && reasonCode !== undefined && IS_DUPLICATE.test(reasonCode)) return 'duplicate';
  return UNUSUAL_END.has(status) ? 'unusual' : 'event';
}

/** Makes events of the statuses of one `pain.002`. */
class StatusStore {
  private file: { readonly id: bigint; readonly messageId: string } | undefined;
  private byUetr: ReadonlyMap<string, string> | undefined;
  private readonly named = new Set<string>();
  private waiting: StatusRecord[] = [];
  private group: StatusRecord | undefined;
  private readonly informations: StatusRecord[] = [];
  private unknownCount = 0;
  private unknownPartCount = 0;
  private readonly counts = { duplicate: 0, unusual: 0 };

  /** @param digest of the file, in hexadecimal */
  constructor(
    private readonly tx: DbTransaction,
    private readonly rail: string,
    private readonly digest: string,
  ) {}

  /** @throws BankFileError if it is about a message that is not ours */
  async add(given: StatusRecord): Promise<void> {
    if (!this.file) await this.findFile(given.originalMessageId);
    const { uetr } = given;
    // One that no payment of the file has is counted as unknown.
    const record = uetr === undefined ? given : { ...given, endToEndId: (await this.endToEndIdOf(uetr)) ?? uetr };
    if (record.endToEndId !== undefined) {
      if (this.named.size >= NAMED_MAX) throw new BankFileError(`It names more than ${NAMED_MAX} payments.`);
      this.named.add(record.endToEndId);
      this.waiting.push(record);
      if (this.waiting.length >= STATUS_CHUNK) await this.storeNamed();
    } else if (record.paymentInformationId === undefined) this.group = record;
    else this.informations.push(record);
  }

  /** @returns what an operator should know */
  async end(): Promise<readonly string[]> {
    await this.storeNamed();
    for (const record of this.informations) await this.storeOthers(record);
    if (this.group) await this.storeOthers(this.group);
    const { duplicate, unusual } = this.counts;
    return [
      ...(duplicate > 0
        ? [
            `Payments that the bank refused as duplicates, which it has already, so that none failed by this: ${duplicate}.`,
          ]
        : []),
      ...(unusual > 0 ? [`Payments that the bank cancelled or blocked, about which you must ask it: ${unusual}.`] : []),
      ...(this.unknownPartCount > 0 ? [`Parts (PmtInf) that our file does not have: ${this.unknownPartCount}.`] : []),
      ...(this.unknownCount > 0 ? [`Payments that our file does not have: ${this.unknownCount}.`] : []),
    ];
  }

  private async endToEndIdOf(uetr: string): Promise<string | undefined> {
    if (!this.byUetr) {
      const [rows] = await this.tx.pipeline([bind(READ_KEYS, this.file?.id)] as const);
      this.byUetr = new Map(rows.map(({ key, end_to_end_id }) => [uetrOf(key), end_to_end_id]));
    }
    return this.byUetr.get(uetr.toLowerCase());
  }

  private async findFile(messageId: string): Promise<void> {
    const [[row]] = await this.tx.pipeline([bind(FIND_FILE, this.rail, messageId)] as const);
    if (!row) throw new BankFileError('It is about a file of payments that is not ours.');
    this.file = { id: row.id, messageId };
    await this.tx.pipeline([bind(MARK_WRITTEN, row.id)]);
  }

  private async storeNamed(): Promise<void> {
    const records = this.waiting;
    this.waiting = [];
    if (records.length === 0) return;
    const [known] = await this.tx.pipeline([
      bind(
        STORE_NAMED,
        ...[this.rail, this.file?.id, this.digest],
        records.map(({ endToEndId }) => endToEndId ?? null),
        records.map(({ status }) => status ?? null),
        records.map(({ reasonCode }) => reasonCode ?? null),
        records.map(({ reasonText }) => reasonText ?? null),
        records.map((record) => meaningOf(record) === 'event'),
      ),
    ] as const);
    const isKnown = new Set(known.map(({ end_to_end_id }) => end_to_end_id));
    for (const record of records) {
      if (isKnown.has(record.endToEndId ?? '')) this.count(meaningOf(record), 1);
      else this.unknownCount += 1;
    }
  }

  private async storeOthers(record: StatusRecord): Promise<void> {
    const meaning = meaningOf(record);
    if (meaning === 'nothing') return;
    const [others] = await this.tx.pipeline([
      bind(
        STORE_OTHERS,
        ...[this.rail, this.file?.id, this.digest, record.paymentInformationId ?? null, [...this.named]],
        ...[record.status, record.reasonCode ?? null, record.reasonText ?? null, meaning === 'event'],
      ),
    ] as const);
    this.count(meaning, others.length);
    if (record.paymentInformationId !== undefined && others.length === 0) {
      // Otherwise the report names each payment of it.
      const [known] = await this.tx.pipeline([bind(FIND_PART, this.file?.id, record.paymentInformationId)] as const);
      if (known.length === 0) this.unknownPartCount += 1;
    }
    if (record.paymentInformationId !== undefined)
      for (const { end_to_end_id } of others) this.named.add(end_to_end_id);
  }

  private count(meaning: Meaning, count: number): void {
    if (meaning === 'duplicate' || meaning === 'unusual') this.counts[meaning] += count;
  }
}
