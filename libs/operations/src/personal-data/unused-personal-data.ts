import { bind, type Database, sqlStatement } from '@banking/postgres';

/** How long personal data are kept, in days. */
export interface PersonalDataRetention {
  /** After a payment, those of its recipient or payer, whatever else is set. By law; at least a year outside a sandbox. */
  readonly paymentsKeptDays: number;
  /** Recipients after they were archived or last used, and ended requests to add recipients and members. */
  readonly recipientsKeptDays: number;
  /** Payers of deposits after these ended, and the texts of other entries of bank accounts. */
  readonly payersKeptDays: number;
}

/** Ten years: the longest usual retention of payment records. */
const PERSONAL_DATA_RETENTION: PersonalDataRetention = {
  paymentsKeptDays: 3_650,
  recipientsKeptDays: 3_650,
  payersKeptDays: 3_650,
};

/** The bound of how many rows one database transaction reads and erases. */
const UNUSED_ROWS_MAX = 200;

interface Position {
  readonly after_workspace: bigint | null;
  readonly after_id: bigint | null;
}

const ERASE_UNUSED = sqlStatement<Position & { readonly erased: bigint }>(
  'erase_unused_personal_data',
  'select after_workspace, after_id, erased from erase_unused_personal_data($1, $2, $3, $4, $5, $6)',
);

const BEGINNING: Position = { after_workspace: 0n, after_id: null };

/** With how long they are kept. In this order: the entry of a deposit is erased with its payer. */
const SUBJECTS = [
  ['recipient', 'recipientsKeptDays'],
  ['payer', 'payersKeptDays'],
  ['entry', 'payersKeptDays'],
  ['approval', 'recipientsKeptDays'],
] as const;

/** Makes personal data that were not used for long pseudonyms, a batch at a time over all workspaces: a chore of the worker. */
export class UnusedPersonalData {
  private subject = 0;
  /** Where the last batch ended. */
  private from = BEGINNING;

  constructor(
    private readonly database: Database,
    private readonly retention = PERSONAL_DATA_RETENTION,
  ) {}

  /** Reads one batch and erases what may be erased of it. @returns 1 while the pass goes on, 0 at its end. @throws Refusal `unavailable` */
  async eraseBatch(): Promise<number> {
    const [subject, kept] = SUBJECTS[this.subject]!;
    const { after_workspace: workspace, after_id: id } = this.from;
    const [[next]] = await this.database.pipeline({}, [
      bind(
        ERASE_UNUSED,
        ...[subject, this.retention[kept], this.retention.paymentsKeptDays, UNUSED_ROWS_MAX],
        ...[workspace?.toString(), id?.toString()],
      ),
    ] as const);
    if (next && next.after_workspace !== null) {
      this.from = next;
      return 1;
    }
    this.from = BEGINNING;
    this.subject = (this.subject + 1) % SUBJECTS.length;
    return this.subject === 0 ? 0 : 1;
  }
}
