import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PAYOUT, verificationChannel, type VerificationMessage } from '@banking/operations';
import {
  type MetricsConfig,
  type OperatorResponse,
  type OperatorServer,
  serveOperators,
  type ServerAddress,
} from '@banking/process';
import type { Workers } from './open-workers.js';

export interface HealthSource {
  isStopping(): boolean;
  /** The state of the queue. Rejects if the database cannot be reached. */
  readStatus(): Promise<{ readonly unserved: Readonly<Record<string, number>> }>;
  /** The open stop of payouts. Rejects if the database cannot be reached. */
  readPayoutStop(): Promise<
    { readonly stoppedAt: string; readonly findings: number; readonly cell?: string | undefined } | undefined
  >;
  /** The last verification of this process that was proven; undefined before the first. */
  lastVerification?(): { readonly ageSeconds: number } | undefined;
}

const WAITING_REASON = 'No payment network serves payouts that are due. Connect one, or run banking payout return.';
const STOP_REASON = 'A verification of the books has findings. Run banking verify.';

/**
 * Serves `GET /health/live` and `GET /health/ready`.
 *
 * @throws Error of `node:net` if the port cannot be listened on
 */
export function serveHealth(address: ServerAddress, source: HealthSource): Promise<OperatorServer> {
  return serveOperators(address, {
    '/health/live': () => Promise.resolve({ status: 200, body: { status: 'ok' } }),
    '/health/ready': () => readiness(source),
  });
}

/**
 * Reports parked work. The worker stays ready with parked work, because a restart would not release it. It is not ready while payouts are
 * stopped, or while payouts are due that it has no network for, so that supervisors notice.
 */
async function readiness(source: HealthSource): Promise<OperatorResponse> {
  if (source.isStopping()) return { status: 503, body: { status: 'stopping' }, headers: { 'Retry-After': '1' } };
  try {
    const [work, stop] = await Promise.all([source.readStatus(), source.readPayoutStop()]);
    const verification = source.lastVerification?.();
    const details = { work, ...(verification && { verification }) };
    const isWaiting = work.unserved[PAYOUT] !== undefined;
    if (!stop && isWaiting)
      return { status: 503, body: { status: 'payouts_waiting', reason: WAITING_REASON, ...details } };
    if (!stop) return { status: 200, body: { status: 'ok', ...details } };
    const { stoppedAt, findings, cell } = stop;
    const stopped = { stoppedAt, findings, ...(cell !== undefined && { cell }) };
    return { status: 503, body: { status: 'payouts_stopped', reason: STOP_REASON, ...stopped, ...details } };
  } catch {
    return { status: 503, body: { status: 'unavailable' }, headers: { 'Retry-After': '1' } };
  }
}

/** How long ago this process last proved the new transactions; of several databases, that of the oldest. */
interface VerificationAge {
  readonly ageSeconds: number;
  /** By the name of the database, where there are several. */
  readonly cells?: Readonly<Record<string, number>>;
}

/** The last verifications of new transactions by this process that were proven. */
export class LastVerification {
  /** By the name of the cell; empty if the deployment has one database. */
  private readonly atMs = new Map<string, number>();
  private readonly listen = (message: unknown) => {
    const { subject, outcome, cell = '' } = message as VerificationMessage;
    if (subject === 'new' && outcome === 'proven') this.atMs.set(cell, performance.now());
  };

  constructor() {
    verificationChannel.subscribe(this.listen);
  }

  /** Undefined before the first. */
  read(): VerificationAge | undefined {
    const nowMs = performance.now();
    const ages = [...this.atMs].map(([cell, atMs]) => [cell, Math.floor((nowMs - atMs) / 1000)] as const);
    if (ages.length === 0) return undefined;
    const ofCells = ages.filter(([cell]) => cell !== '');
    return {
      ageSeconds: Math.max(...ages.map(([, seconds]) => seconds)),
      ...(ofCells.length > 0 && { cells: Object.fromEntries(ofCells) }),
    };
  }

  close(): void {
    verificationChannel.unsubscribe(this.listen);
  }
}

/**
 * Serves the metrics of the worker, and `GET /health/ready` beside them, because a worker may have no `HEALTH_PORT`.
 *
 * @throws ConfigError if the port cannot be listened on
 */
export async function openMetrics(
  address: MetricsConfig,
  { database, cells }: Pick<Workers, 'database' | 'cells'>,
  source: HealthSource,
): Promise<OperatorServer> {
  const { serveMetrics } = await import('@banking/telemetry/metrics');
  const { version } = JSON.parse(readFileSync(join(__dirname, '..', 'package.json'), 'utf8')) as { version: string };
  const build = { app: 'worker', version, commit: address.commit };
  const readReadiness = () => readiness(source);
  const isReady = () => readReadiness().then(({ status }) => status === 200);
  const kind = { isHttp: false, isGateway: false, isWorker: true };
  return serveMetrics(address, { ...build, ...kind, database, cells, isReady, readReadiness });
}
