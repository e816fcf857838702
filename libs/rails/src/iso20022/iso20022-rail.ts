import { minorUnits } from '@banking/domain';
import type { DeliveredRailEvent, FoundPayment, Payment, Rail, RailEvent, SubmittedPayment } from '@banking/payouts';
import { BatchedCalls, bind, type Database, sqlStatement } from '@banking/postgres';
import type { Chore } from '@banking/work-queue';
import { type BankDialect, dialectOf, type FileRailConfig } from '../rail-config.js';
import { RailInbox } from '../rail-inbox.js';
import { endToEndIdOf } from './end-to-end-id.js';
import { FileFolder } from './file-folder.js';
import { contentInFile, UnwritablePaymentError } from './payment-content.js';
import { PaymentFiles, type PaymentFilesOptions } from './payment-files.js';
import { storeReconciliations } from './reconcile-statements.js';
import { learnSentFiles } from './sent-files.js';

/** Reads the files of the bank. */
interface BankFileReader {
  /** Reads the next files and stores their events in the inbox. Returns how many there were. */
  readNext(signal?: AbortSignal, onError?: (error: unknown) => void): Promise<number>;
}

interface FoundRow {
  key: string;
  amount: bigint;
  currency: string;
}

const FIND = sqlStatement<FoundRow>(
  'find_file_payments',
  'select key, amount, currency from file_payment where rail = $1 and key = any($2::text[])',
);

const LISTED_MAX = 500;

const LIST = sqlStatement<FoundRow & { accepted_at: string }>(
  'list_file_payments',
  `select key, amount, currency, rfc3339(accepted_at) as accepted_at from file_payment
   where rail = $1 and accepted_at >= $2::timestamptz and ($3::text is null or key > $3)
   order by key limit ${LISTED_MAX}`,
);

const WRITE_IDLE_MS = 250;
const RECONCILE_IDLE_MS = 60_000;

export interface Iso20022RailOptions extends Partial<Omit<PaymentFilesOptions, 'learnSent'>> {
  /** Without it, no event arrives. */
  readonly files?: BankFileReader | undefined;
}

/**
 * A payment network that is a bank with files of ISO 20022. A payment is accepted when it is stored, and leaves with the next file. Its
 * events come from the files of the bank.
 *
 * `find` and `listSubmitted` say which payments were accepted. `find` repeats the events that are not acknowledged, and `listSubmitted`
 * none: those that were recorded are in the books.
 */
export class Iso20022Rail implements Rail {
  readonly chores: readonly Chore[];
  private readonly dialect: BankDialect;
  private readonly inbox: RailInbox;
  private readonly folder: FileFolder;
  private readonly payments: PaymentFiles;
  private readonly learning: BatchedCalls<true, string | undefined>;

  constructor(
    private readonly config: FileRailConfig,
    private readonly database: Database,
    private readonly options: Iso20022RailOptions = {},
  ) {
    this.dialect = dialectOf(config);
    this.inbox = new RailInbox(database, config.name);
    this.folder = new FileFolder(config.name, config.folder);
    this.folder.ensure();
    // Calls that begin together share one reading of the folder, which begins after each of them.
    this.learning = new BatchedCalls(async (calls: readonly true[]) => {
      const youngest = await learnSentFiles(database, config.name, this.folder);
      return calls.map(() => youngest);
    }, Number.MAX_SAFE_INTEGER);
    this.payments = new PaymentFiles(database, config, this.folder, {
      ...options,
      learnSent: () => this.learning.call(true),
    });
    this.chores = [
      { name: `payment-files-${config.name}`, run: () => this.payments.writeNext(), idleMs: WRITE_IDLE_MS },
      { name: `bank-reconciliation-${config.name}`, run: () => this.reconcile(), idleMs: RECONCILE_IDLE_MS },
    ];
  }

  async submit(payment: Payment): Promise<readonly RailEvent[]> {
    const { key, amount, currency } = payment;
    try {
      const content = contentInFile(payment, this.config.accounts, this.dialect);
      await this.payments.accept({ key, endToEndId: endToEndIdOf(key), amount, currency, content });
    } catch (error) {
      if (error instanceof UnwritablePaymentError) return [error.event];
      throw error;
    }
    return [];
  }

  /** Before it says that there is none, it looks for it among the files that left before the database was restored. */
  async find(key: string): Promise<FoundPayment | undefined> {
    const found = await this.read(key);
    if (found) return found;
    await this.learning.call(true);
    return this.read(key);
  }

  async listSubmitted(since: string, after: string | undefined): Promise<readonly SubmittedPayment[]> {
    await this.learning.call(true);
    const [rows] = await this.database.pipeline({}, [bind(LIST, this.config.name, since, after ?? null)] as const);
    return rows.map((row) => ({ ...foundOf(row), key: row.key, acceptedAt: row.accepted_at }));
  }

  /** Events that are stored come first, so that a backlog is recorded before more is read. */
  async receive(
    limit: number,
    signal?: AbortSignal,
    onError?: (error: unknown) => void,
  ): Promise<readonly DeliveredRailEvent[]> {
    const stored = await this.inbox.take(limit);
    if (stored.length > 0 || !this.options.files) return stored;
    await this.inbox.addCursor();
    await this.options.files.readNext(signal, onError);
    return this.inbox.take(limit);
  }

  acknowledge(events: readonly DeliveredRailEvent[]): Promise<void> {
    return this.inbox.delete(events.map(({ id }) => id));
  }

  /** A difference stays until an operator removes its cause, so it is no reason to compare again at once. */
  private async reconcile(): Promise<number> {
    const { name, accounts } = this.config;
    await storeReconciliations(this.database, name, accounts, await this.folder.count('refused'));
    return 0;
  }

  private async read(key: string): Promise<FoundPayment | undefined> {
    const row = await this.database.read({}, bind(FIND, this.config.name, [key]));
    return row && { ...foundOf(row), events: await this.inbox.find(key) };
  }
}

const foundOf = ({ amount, currency }: FoundRow): FoundPayment => ({
  ...{ amount: minorUnits(amount), currency },
  events: [],
});
