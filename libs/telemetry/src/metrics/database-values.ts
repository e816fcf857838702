import { ExpiringCache } from '@banking/process';
import { COUNT_OPEN_PAYOUTS, PAYOUT, READ_STOP, SCOPE_OPEN_PAYOUTS } from '@banking/payouts';
import { bind, type Database } from '@banking/postgres';
import { COUNT_DUE, COUNT_PARKED } from '@banking/work-queue';
import { EXECUTION } from '@banking/operations';
import type { Metrics } from './metrics.js';

/** How long values are reused, and a failure to read them: several scrapers cost one read. */
const TTL_MS = 5_000;
/** A scrape does not wait longer for a database that does not respond. */
const READ_MAX_MS = 3_000;
const KINDS = [EXECUTION, PAYOUT];
const STATUSES = ['due', 'submitting', 'submitted', 'parked'];

interface Values {
  readonly due: readonly { readonly kind: string; readonly due: number; readonly seconds: number }[];
  readonly parked: readonly { readonly kind: string; readonly parked: number }[];
  readonly payouts: readonly { readonly status: string; readonly payouts: number; readonly seconds: number }[];
  readonly stop: { readonly finding_count: number } | undefined;
}

/** The state of the queue and of payouts, over all workspaces. Each statement reads a bounded number of rows. */
async function readValues(database: Pick<Database, 'pipeline'>): Promise<Values> {
  const [due, parked, , payouts, [stop]] = await database.pipeline({}, [
    bind(COUNT_DUE),
    bind(COUNT_PARKED),
    bind(SCOPE_OPEN_PAYOUTS),
    bind(COUNT_OPEN_PAYOUTS),
    bind(READ_STOP),
  ] as const);
  return { due, parked, payouts, stop };
}

/** Metrics that are read from the database when they are scraped. Without the database they have no values. */
export class DatabaseValues {
  private readonly values = new ExpiringCache<Values>({ entriesMax: 1, ttlMs: TTL_MS, failureTtlMs: TTL_MS });
  private readonly gauges;
  private updating: Promise<void> | undefined;

  constructor(
    metrics: Metrics,
    private readonly database: Pick<Database, 'pipeline'>,
    private readonly readMaxMs = READ_MAX_MS,
  ) {
    // prom-client collects all metrics at the same time: each of these waits for the same update.
    const update = () => (this.updating ??= this.update().finally(() => (this.updating = undefined)));
    this.gauges = {
      up: metrics.gauge('banking_database_values_up', update),
      due: metrics.gauge('banking_work_due', update),
      oldestDue: metrics.gauge('banking_work_oldest_due_seconds', update),
      parked: metrics.gauge('banking_work_parked', update),
      payouts: metrics.gauge('banking_payouts_open', update),
      oldestPayout: metrics.gauge('banking_payouts_oldest_seconds', update),
      stopped: metrics.gauge('banking_payouts_stopped', update),
      findings: metrics.gauge('banking_verification_findings', update),
    };
  }

  private async update(): Promise<void> {
    const { up, stopped, findings, ...labelled } = this.gauges;
    const values = await this.read();
    for (const gauge of Object.values(labelled)) gauge.reset();
    for (const gauge of [stopped, findings]) gauge.remove();
    up.set(values === undefined ? 0 : 1);
    if (values === undefined) return;
    const { due, oldestDue, parked, payouts, oldestPayout } = labelled;
    for (const kind of KINDS) {
      for (const gauge of [due, oldestDue, parked]) gauge.set({ kind }, 0);
    }
    for (const status of STATUSES) {
      for (const gauge of [payouts, oldestPayout]) gauge.set({ status }, 0);
    }
    for (const row of values.due) {
      due.set({ kind: row.kind }, row.due);
      oldestDue.set({ kind: row.kind }, row.seconds);
    }
    for (const row of values.parked) parked.set({ kind: row.kind }, row.parked);
    for (const row of values.payouts) {
      payouts.set({ status: row.status }, row.payouts);
      oldestPayout.set({ status: row.status }, row.seconds);
    }
    stopped.set(values.stop ? 1 : 0);
    findings.set(values.stop?.finding_count ?? 0);
  }

  /** Undefined if the database does not respond in time. */
  private async read(): Promise<Values | undefined> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<undefined>((resolve) => (timer = setTimeout(() => resolve(undefined), this.readMaxMs)));
    const values = this.values.get('values', () => readValues(this.database)).catch(() => undefined);
    return Promise.race([values, late]).finally(() => clearTimeout(timer));
  }
}
