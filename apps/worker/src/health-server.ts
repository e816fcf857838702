import { PAYOUT } from '@banking/operations';
import { serveOperators, type OperatorResponse, type OperatorServer, type ServerAddress } from '@banking/process';

/** The state that the health server reports. */
export interface HealthSource {
  /** Whether the worker is stopping. */
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
export async function readiness(source: HealthSource): Promise<OperatorResponse> {
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
