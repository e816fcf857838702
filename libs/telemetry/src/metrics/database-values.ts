import { ExpiringCache } from '@banking/process';
import { COUNT_HELD_PAYOUTS, COUNT_OPEN_PAYOUTS, READ_STOP, SCOPE_OPEN_PAYOUTS } from '@banking/payouts';
import { bind, type Database } from '@banking/postgres';
import { type BankDifferences, COUNT_BANK_DIFFERENCES } from '@banking/rails';
import { COUNT_DUE, COUNT_PARKED } from '@banking/work-queue';
import {
  COUNT_UNRECORDED,
  COUNT_UNRECORDED_AUDIT,
  type DirectorySlot,
  READ_SLOTS,
  WORK_KINDS,
} from '@banking/operations';
import { COUNT_BACKLOG, type WebhookBacklog } from '@banking/webhooks';
import type { Metrics } from './metric-list.js';

export type MeasuredDatabase = Pick<Database, 'stats' | 'pipeline'>;

/** A database of the process. */
export interface MeasuredCell<D = MeasuredDatabase> {
  /** Its name for the label `cell`; undefined if it is the only one. */
  readonly cell?: string | undefined;
  /** Undefined while it is away. */
  readonly database: D | undefined;
  /** Whether a worker has found that its copy of the directory lacks changes of home. */
  readonly isCopyLost?: boolean | undefined;
  /** How many workspaces home places there, which a worker has found not to be served. */
  readonly unserved?: number | undefined;
}

/** The label of the values of a database. Without cells, series have no label `cell`. */
export const labelOf = ({ cell }: Pick<MeasuredCell, 'cell'>): { readonly cell?: string } =>
  cell === undefined ? {} : { cell };

/** How long values are reused, and a failure to read them: several scrapers cost one read. */
const TTL_MS = 5_000;
/** A scrape does not wait longer for a database that does not respond. */
const READ_MAX_MS = 3_000;
const CELLS_MAX = 64;
const STATUSES = ['due', 'submitting', 'submitted', 'parked'];

interface Values {
  readonly due: readonly {
    readonly kind: string;
    readonly rail: string;
    readonly due: number;
    readonly seconds: number;
  }[];
  readonly parked: readonly { readonly kind: string; readonly parked: number }[];
  readonly payouts: readonly {
    readonly rail: string;
    readonly status: string;
    readonly payouts: number;
    readonly seconds: number;
  }[];
  readonly held: readonly { readonly rail: string; readonly payouts: number; readonly seconds: number }[];
  readonly stop: { readonly finding_count: number } | undefined;
  readonly unrecorded: { readonly rows: number; readonly seconds: number } | undefined;
  readonly audit: { readonly waiting: number; readonly seconds: number } | undefined;
  readonly webhooks: WebhookBacklog | undefined;
  readonly banks: readonly BankDifferences[];
}

/** The state of the queue and of payouts, over all workspaces. Each statement reads a bounded number of rows. */
async function readValues(database: Pick<Database, 'pipeline'>): Promise<Values> {
  const [due, parked, , payouts, [stop], [unrecorded], [audit], [webhooks], banks, held] = await database.pipeline({}, [
    bind(COUNT_DUE),
    bind(COUNT_PARKED),
    bind(SCOPE_OPEN_PAYOUTS),
    bind(COUNT_OPEN_PAYOUTS),
    bind(READ_STOP),
    bind(COUNT_UNRECORDED),
    bind(COUNT_UNRECORDED_AUDIT),
    bind(COUNT_BACKLOG),
    bind(COUNT_BANK_DIFFERENCES),
    bind(COUNT_HELD_PAYOUTS),
  ] as const);
  return { due, parked, payouts, held, stop, unrecorded, audit, webhooks, banks };
}

/** The copies of the directory, by their slots at home. */
async function readSlots(database: Pick<Database, 'pipeline'>): Promise<readonly DirectorySlot[]> {
  const [slots] = await database.pipeline({}, [bind(READ_SLOTS)] as const);
  return slots;
}

/** Metrics that are read from the databases when they are scraped. Without its database, a cell has no values. */
export class DatabaseValues {
  private readonly values = new ExpiringCache<Values>({ entriesMax: CELLS_MAX, ttlMs: TTL_MS, failureTtlMs: TTL_MS });
  private readonly slots = new ExpiringCache<readonly DirectorySlot[]>({
    entriesMax: 1,
    ttlMs: TTL_MS,
    failureTtlMs: TTL_MS,
  });
  private readonly gauges;
  private updating: Promise<void> | undefined;

  constructor(
    metrics: Metrics,
    private readonly cells: () => readonly MeasuredCell<Pick<Database, 'pipeline'>>[],
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
      held: metrics.gauge('banking_payouts_held', update),
      oldestHeld: metrics.gauge('banking_payouts_held_oldest_seconds', update),
      bankDifferences: metrics.gauge('banking_bank_differences', update),
      bankAge: metrics.gauge('banking_bank_comparison_age_seconds', update),
      filesRefused: metrics.gauge('banking_bank_files_refused', update),
      stopped: metrics.gauge('banking_payouts_stopped', update),
      findings: metrics.gauge('banking_verification_findings', update),
      unrecorded: metrics.gauge('banking_events_unrecorded', update),
      oldestUnrecorded: metrics.gauge('banking_events_oldest_unrecorded_seconds', update),
      unrecordedAudit: metrics.gauge('banking_audit_unrecorded', update),
      oldestAudit: metrics.gauge('banking_audit_oldest_unrecorded_seconds', update),
      endpoints: metrics.gauge('banking_webhook_endpoints', update),
      webhooksDue: metrics.gauge('banking_webhook_deliveries_due', update),
      oldestUndelivered: metrics.gauge('banking_webhook_oldest_undelivered_seconds', update),
      copyConnected: metrics.gauge('banking_directory_copy_connected', update),
      copyBehind: metrics.gauge('banking_directory_copy_behind_bytes', update),
      slotRetained: metrics.gauge('banking_directory_slot_retained_bytes', update),
      copyLost: metrics.gauge('banking_directory_copy_lost', update),
      unserved: metrics.gauge('banking_workspaces_unserved', update),
    };
  }

  private async update(): Promise<void> {
    const cells = this.cells();
    const [home] = cells;
    const [values, slots] = await Promise.all([
      Promise.all(
        cells.map(({ cell = '', database }) =>
          this.inTime(database, (one) => this.values.get(cell, () => readValues(one))),
        ),
      ),
      this.inTime(home?.cell === undefined ? undefined : home.database, (one) =>
        this.slots.get('', () => readSlots(one)),
      ),
    ]);
    for (const gauge of Object.values(this.gauges)) gauge.reset();
    for (const [index, one] of cells.entries()) this.setValues(labelOf(one), values[index]);
    for (const { cell, unserved } of cells) if (unserved !== undefined) this.gauges.unserved.set({ cell }, unserved);
    const lost = new Set(cells.flatMap(({ cell, isCopyLost }) => (isCopyLost === true ? [cell] : [])));
    for (const slot of slots ?? []) this.setSlot({ ...slot, is_lost: slot.is_lost || lost.has(slot.cell) });
  }

  private setValues(label: { readonly cell?: string }, values: Values | undefined): void {
    const { up, due, oldestDue, parked, payouts, oldestPayout, stopped, findings } = this.gauges;
    const { unrecorded, oldestUnrecorded, unrecordedAudit, oldestAudit } = this.gauges;
    up.set(label, values === undefined ? 0 : 1);
    if (values === undefined) return;
    for (const kind of WORK_KINDS) {
      for (const gauge of [due, oldestDue, parked]) gauge.set({ kind, ...label }, 0);
    }
    for (const status of STATUSES) {
      for (const gauge of [payouts, oldestPayout]) gauge.set({ status, ...label }, 0);
    }
    for (const row of values.due) {
      const ofWork = { kind: row.kind, ...(row.rail !== '' && { rail: row.rail }), ...label };
      due.set(ofWork, row.due);
      oldestDue.set(ofWork, row.seconds);
    }
    for (const row of values.parked) parked.set({ kind: row.kind, ...label }, row.parked);
    for (const row of values.payouts) {
      const ofPayouts = { rail: row.rail, status: row.status, ...label };
      payouts.set(ofPayouts, row.payouts);
      oldestPayout.set(ofPayouts, row.seconds);
    }
    for (const { rail, payouts: count, seconds } of values.held) {
      this.gauges.held.set({ rail, ...label }, count);
      this.gauges.oldestHeld.set({ rail, ...label }, seconds);
    }
    for (const { rail, differences, seconds, refused } of values.banks) {
      this.gauges.bankDifferences.set({ rail, ...label }, differences);
      this.gauges.bankAge.set({ rail, ...label }, seconds);
      this.gauges.filesRefused.set({ rail, ...label }, refused);
    }
    stopped.set(label, values.stop ? 1 : 0);
    findings.set(label, values.stop?.finding_count ?? 0);
    unrecorded.set(label, values.unrecorded?.rows ?? 0);
    oldestUnrecorded.set(label, values.unrecorded?.seconds ?? 0);
    unrecordedAudit.set(label, values.audit?.waiting ?? 0);
    oldestAudit.set(label, values.audit?.seconds ?? 0);
    this.setWebhooks(label, values.webhooks);
  }

  private setWebhooks(label: { readonly cell?: string }, backlog: WebhookBacklog | undefined): void {
    const { endpoints, webhooksDue, oldestUndelivered } = this.gauges;
    for (const status of ['enabled', 'failing', 'disabled'] as const) {
      endpoints.set({ status, ...label }, backlog?.[status] ?? 0);
    }
    webhooksDue.set(label, backlog?.due ?? 0);
    oldestUndelivered.set(label, backlog?.seconds ?? 0);
  }

  private setSlot({ cell, is_active: isActive, is_lost: isLost, behind, retained }: DirectorySlot): void {
    const { copyConnected, copyBehind, slotRetained, copyLost } = this.gauges;
    copyConnected.set({ cell }, isActive ? 1 : 0);
    copyLost.set({ cell }, isLost ? 1 : 0);
    if (behind !== null) copyBehind.set({ cell }, behind);
    if (retained !== null) slotRetained.set({ cell }, retained);
  }

  /** Undefined if the database is away or does not respond in time. */
  private async inTime<D, T>(database: D | undefined, read: (database: D) => Promise<T>): Promise<T | undefined> {
    if (database === undefined) return undefined;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<undefined>((resolve) => (timer = setTimeout(() => resolve(undefined), this.readMaxMs)));
    return Promise.race([read(database).catch(() => undefined), late]).finally(() => clearTimeout(timer));
  }
}
