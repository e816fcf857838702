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

const NEXT_FILE = sqlStatement<{ id: bigint }>('next_bank_file', `select nextval('bank_file_id_seq') as id`);
const NEXT_STATEMENT = sqlStatement<{ id: bigint; same_id: bigint | null }>(
  'next_bank_statement',
  `select nextval('bank_statement_id_seq') as id, (
     select s.id from bank_statement s
     where s.rail = $1 and s.bank_account = $2 and s.currency = $3 and s.statement_id = $4 and s.sequence is not distinct from $5::numeric
       and s.opening_balance = $6 and s.closing_balance = $7 and s.opened_on = $8 and s.closed_on = $9
     order by s.id limit 1) as same_id`,
);
const STORE_FILE = sqlStatement(
  'store_bank_file',
  `insert into bank_file (id, rail, name, digest, message, message_id, outcome, note) values ($1, $2, $3, $4, $5, $6, 'read', $7)`,
);
/** A statement that another file had already is not stored again. */
const STORE_STATEMENT = sqlStatement(
  'store_bank_statement',
  `insert into bank_statement (id, file_id, rail, bank_account, currency, statement_id, sequence, opening_balance, closing_balance,
     opened_on, closed_on, entry_count, entry_sum)
   select $1, $2, $3, $4, $5, $6, $7::numeric, $8::bigint, $9::bigint, $10::date, $11::date, $12::integer, $13::bigint
   where not exists (
     select from bank_statement s
     where s.rail = $3 and s.bank_account = $4 and s.currency = $5 and s.statement_id = $6 and s.sequence is not distinct from $7::numeric
       and s.opening_balance = $8 and s.closing_balance = $9 and s.opened_on = $10 and s.closed_on = $11
       and s.entry_count = $12 and s.entry_sum = $13)`,
);

/** Rows of one statement of SQL. */
const CHUNK = 2_000;

interface OpenStatement {
  readonly account: BankAccount;
  /** Of its row, or of the equal one of an earlier file; null without both balances. */
  readonly id: bigint | null;
  readonly newId: bigint | null;
  readonly record: StatementRecord;
  entryCount: number;
  entrySum: bigint;
}

/** Stores the records of one file in a database transaction, in their order. */
export class BankFileStore {
  private message: MessageRecord | undefined;
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

  /** @throws BankFileError if the record does not belong to this rail or contradicts what an earlier file said */
  async add(record: BankRecord): Promise<void> {
    switch (record.kind) {
      case 'message': {
        const [[row]] = await this.tx.pipeline([bind(NEXT_FILE)] as const);
        this.fileId = row?.id ?? 0n;
        this.message = record;
        return;
      }
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
    const { name, digest } = this.file;
    await this.tx.commit([
      bind(
        STORE_FILE,
        ...[this.fileId, this.config.name, name, digest, this.message?.message, this.message?.messageId],
        note === '' ? null : note,
      ),
      ...this.statements.flatMap((statement) => this.rowOf(statement)),
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
    let ids: { id: bigint; same_id: bigint | null } | undefined;
    if (record.form === 'statement' && opening && closing) {
      const [[row]] = await this.tx.pipeline([
        bind(
          NEXT_STATEMENT,
          ...[this.config.name, account.id, account.currency, record.id, record.sequence ?? null],
          ...[opening.amount, closing.amount, opening.date, closing.date],
        ),
      ] as const);
      ids = row;
    }
    if (record.form === 'statement' && !ids) this.unreconciledCount += 1;
    const id = ids?.same_id ?? ids?.id ?? null;
    this.statement = { account, record, id, newId: ids?.id ?? null, entryCount: 0, entrySum: 0n };
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

  private rowOf({ account, record, newId, entryCount, entrySum }: OpenStatement) {
    const { opening, closing } = record;
    if (newId === null || !opening || !closing) return [];
    return [
      bind(
        STORE_STATEMENT,
        ...[newId, this.fileId, this.config.name, account.id, account.currency, record.id, record.sequence ?? null],
        ...[opening.amount, closing.amount, opening.date, closing.date, entryCount, entrySum],
      ),
    ];
  }
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
