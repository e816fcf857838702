import { bind, type DbTransaction, sqlStatement } from '@banking/postgres';
import type { BankAccount, FileRailConfig } from '../rail-config.js';
import {
  BankFileError,
  type BankRecord,
  type EntryRecord,
  type MessageRecord,
  type StatementRecord,
} from './bank-records.js';
import { storeEntries } from './store-entries.js';
import { StatusStore } from './store-statuses.js';

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

const IS_SAME = `s.rail = $2 and s.bank_account = $3 and s.currency = $4 and s.statement_id = $5 and s.sequence is not distinct from $6::numeric
       and s.opening_balance = $7 and s.closing_balance = $8 and s.opened_on = $9 and s.closed_on = $10`;
const COLUMNS = `file_id, rail, bank_account, currency, statement_id, sequence, opening_balance, closing_balance, opened_on, closed_on`;
const VALUES = `$1::bigint, $2, $3, $4, $5, $6::numeric, $7::bigint, $8::bigint, $9::date, $10::date`;

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
   select ${VALUES}, $11::integer, $12::bigint
   where not exists (select from bank_statement s where ${IS_SAME} and s.entry_count = $11 and s.entry_sum = $12)`,
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
  private readonly contradicted = new Set<string>();
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

  /** Stores what only the end of the file tells, and commits. */
  async commit(): Promise<void> {
    await this.storeChunk();
    for (const identity of this.contradicted) {
      if (!this.listed.has(identity)) {
        throw new BankFileError(
          'An entry has another amount than an earlier file gave for the same reference and day.',
        );
      }
    }
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
          ...[this.fileId, this.config.name, account.id, account.currency, record.id, record.sequence ?? null],
          ...[opening.amount, closing.amount, opening.date, closing.date],
        ]
      : undefined;
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
      ...{ rail: this.config.name, bankAccount: statement.account.id, fileId: this.fileId },
      ...{ statementId: statement.id, digest: this.file.digest.toString('hex') },
    };
    for (const identity of await storeEntries(this.tx, home, [...chunk.values()])) this.contradicted.add(identity);
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
