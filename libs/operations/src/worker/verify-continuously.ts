import { channel, type Channel } from 'node:diagnostics_channel';
import {
  deleteVerified,
  nextUnverified,
  type StoredRows,
  transactionsByWorkspace,
  verifyStored,
} from '@banking/ledger';
import { type PayoutStop, readPayoutStop, stopPayouts } from '@banking/payouts';
import { bind, type BoundStatement, type Database, isServedElsewhere, sqlStatement } from '@banking/postgres';
import { PLAN_BY_ORDER } from '../lists/paged-list.js';

/** Transactions that one snapshot verifies, in statements well below 200 ms. */
const BATCH = 1_000;

/** Batches of a run. The number doubles with each run that leaves a backlog, so that a busy service does not outrun the verification. */
const BATCHES_MAX = 32;

/** Accounts and transactions that one range of the repeated verification verifies, and workspaces that it looks into. */
const STEP = 500;

const STEP_WORKSPACES = 50;

const NEXT_WORKSPACES = sqlStatement<{ id: bigint }>(
  'workspaces_to_verify',
  `select id from workspace w where id >= $1 and is_served_here(w.id) order by id limit $2`,
);

/** Of several databases, another one verifies these. */
const CLOSED_HERE = sqlStatement<{ id: bigint }>(
  'workspaces_closed_here',
  `select workspace_id as id from cell_workspace where state <> 'open'`,
);

interface Position {
  readonly last_workspace_id: bigint;
  readonly last_id: bigint;
}

const READ_POSITION = sqlStatement<Position>(
  'read_verification_position',
  'select last_workspace_id, last_id from verification_position where subject = $1',
);

/** Does nothing if another worker has moved it. */
const MOVE_POSITION = sqlStatement(
  'move_verification_position',
  `update verification_position set last_workspace_id = $4, last_id = $5
   where subject = $1 and (last_workspace_id, last_id) = ($2, $3)`,
);

/** The tables that are verified over and over, by ranges of their primary keys over all workspaces. */
const SUBJECTS = ['account', 'transaction'] as const;

type Subject = (typeof SUBJECTS)[number];

const nextRows = (table: Subject) =>
  sqlStatement<{ workspace_id: bigint; id: bigint }>(
    `${table}s_to_verify`,
    `select workspace_id, id from ${table}
     where (workspace_id, id) > ($1::bigint, $2::bigint) and workspace_id <= $3 and workspace_id = any($5::bigint[])
     order by workspace_id, id limit $4`,
  );

export const NEXT_ROWS = { account: nextRows('account'), transaction: nextRows('transaction') };

/**
 * Verifies the books while the service runs, and stops payouts at the first finding: two chores of the worker. Nothing is verified while
 * payouts are stopped, because an operator verifies everything before payouts are resumed.
 */
export class ContinuousVerification {
  /** The last posting of the last batch, or 0 to begin again. */
  private afterId = 0;
  private batches = 1;
  /** Transactions of the batches since the last step of the repeated verification. */
  private verified = 0;
  private reportedId: number | undefined;

  constructor(
    private readonly database: Database,
    /** Called once for each stop, also for a stop from before the start of this process; for the log. */
    private readonly onStop: (stop: PayoutStop) => void = () => undefined,
    /** The name of the database, where there are several; for metrics. */
    private readonly cell?: string,
  ) {}

  /** Verifies what was posted since the last run, in batches. Returns their size if there may be more. @throws Refusal `unavailable` */
  async verifyNew(): Promise<number> {
    let size = 0;
    for (let batch = 0; batch < this.batches; batch += 1) {
      const more = await this.verifyBatch();
      // Another process verifies meanwhile, so the backlog may be as large as it was.
      if (more === 'busy') return 0;
      if (more === 0) {
        this.batches = 1;
        return 0;
      }
      size += more;
    }
    this.batches = Math.min(2 * this.batches, BATCHES_MAX);
    return size;
  }

  private async verifyBatch(): Promise<number | 'busy'> {
    if (await this.isStopped()) return this.published('new', 'stopped');
    const [closed] = await this.database.pipeline({}, [bind(CLOSED_HERE)] as const);
    const except = closed.map(({ id }) => Number(id));
    const { transactions, hasMore } = await nextUnverified(this.database, this.afterId, BATCH, except);
    this.afterId = hasMore ? transactions.at(-1)!.postingId : 0;
    if (transactions.length === 0) return this.published('new', 'proven');
    const outcome = await this.verify(transactionsByWorkspace(transactions));
    if (outcome === 'busy') {
      this.afterId = 0;
      this.published('new', outcome);
      return outcome;
    }
    if (outcome !== 'proven') return this.published('new', outcome);
    await deleteVerified(this.database, transactions);
    this.verified += transactions.length;
    this.published('new', 'proven', transactions.length);
    return hasMore ? transactions.length : 0;
  }

  /**
   * Verifies the next accounts and the next transactions of all, over and over. Finds what was changed in rows that no new transaction
   * touches, and reaches rows from before the first start. A step has a range more than new transactions were verified since the last one, so
   * it also reaches the end of tables that grow. Returns 0: the next step waits.
   */
  async verifyNext(): Promise<number> {
    const ranges = 1 + Math.ceil(this.verified / STEP);
    this.verified = 0;
    for (const subject of SUBJECTS) {
      for (let range = 0; range < ranges; range += 1) {
        if (await this.isStopped()) return this.published(subject, 'stopped');
        const next = await this.verifyRange(subject);
        // The next step reads what another process kept this one from.
        if (next === 'busy') this.verified = Math.max(this.verified, (ranges - 1 - range) * STEP);
        if (next !== 'more') break;
      }
    }
    return 0;
  }

  /** Returns whether there are rows after the range, or `busy` if another process verifies meanwhile. */
  private async verifyRange(subject: Subject): Promise<'more' | 'end' | 'busy'> {
    const { last_workspace_id: workspaceId, last_id: id } = (await this.database.read(
      {},
      bind(READ_POSITION, subject),
    ))!;
    const [list] = await this.database.pipeline({}, [bind(NEXT_WORKSPACES, workspaceId, STEP_WORKSPACES)] as const);
    const workspaces = list.map((row) => Number(row.id));
    const highest = workspaces.at(-1) ?? 0;
    const query = bind(NEXT_ROWS[subject], workspaceId, id, highest, STEP, workspaces);
    const [, rows] = await this.database.pipeline({ workspaces }, [PLAN_BY_ORDER, query] as const);
    const outcome = rows.length === 0 ? 'proven' : await this.verify(storedRows(subject, rows));
    this.published(subject, outcome, rows.length);
    if (outcome !== 'proven') return outcome === 'busy' ? 'busy' : 'end';
    const move = (...to: readonly [bigint | number, bigint | number]): BoundStatement<unknown> =>
      bind(MOVE_POSITION, subject, workspaceId, id, ...to);
    const last = rows.at(-1);
    const isFull = rows.length === STEP && last !== undefined;
    const goesOn = isFull || workspaces.length === STEP_WORKSPACES;
    await this.database.pipeline({}, [isFull ? move(last.workspace_id, last.id) : move(goesOn ? highest + 1 : 0, 0)]);
    return goesOn ? 'more' : 'end';
  }

  private async verify(stored: readonly StoredRows[]): Promise<'proven' | 'findings' | 'busy'> {
    const findings = await verifyStored(this.database, stored).catch((error: unknown) => {
      // A workspace has left this database meanwhile. The next run leaves it out.
      if (isServedElsewhere(error)) return undefined;
      throw error;
    });
    if (findings === undefined) return 'busy';
    if (findings.length === 0) return 'proven';
    await stopPayouts(this.database, findings);
    await this.isStopped();
    return 'findings';
  }

  /** Publishes a run. Returns 0: there is no more to verify at once. */
  private published(subject: VerificationMessage['subject'], outcome: VerificationMessage['outcome'], rows = 0): 0 {
    const { cell } = this;
    if (verificationChannel.hasSubscribers) verificationChannel.publish({ subject, outcome, rows, cell });
    return 0;
  }

  private async isStopped(): Promise<boolean> {
    const stop = await readPayoutStop(this.database);
    if (stop && stop.id !== this.reportedId) this.onStop(stop);
    this.reportedId = stop?.id;
    return stop !== undefined;
  }
}

function storedRows(
  subject: Subject,
  rows: readonly { readonly workspace_id: bigint; readonly id: bigint }[],
): StoredRows[] {
  const ids = new Map<number, number[]>();
  for (const row of rows) {
    const workspaceId = Number(row.workspace_id);
    const found = ids.get(workspaceId);
    if (found) found.push(Number(row.id));
    else ids.set(workspaceId, [Number(row.id)]);
  }
  return [...ids].map(([workspaceId, found]) => ({
    workspaceId,
    transactionIds: subject === 'transaction' ? found : [],
    accountIds: subject === 'account' ? found : [],
  }));
}

/** A run of the continuous verification. See `channels.ts` of `@banking/postgres`. */
export interface VerificationMessage {
  /** `new` is what was posted since the last run, and `cells` what is between several databases; the others are ranges of all rows. */
  readonly subject: 'new' | 'account' | 'transaction' | 'cells';
  /**
   * `busy`: another worker verifies at the moment. `stopped`: payouts are stopped, so nothing is verified. `closed`: nothing was found, and a
   * workspace that its cell does not serve was left out.
   */
  readonly outcome: 'proven' | 'findings' | 'busy' | 'stopped' | 'closed';
  /** Rows that were verified. */
  readonly rows: number;
  /** The name of the database, where there are several. */
  readonly cell?: string | undefined;
}

export const verificationChannel = channel('banking:worker:verification') as Channel<unknown, VerificationMessage>;
