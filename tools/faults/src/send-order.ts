import { createHash } from 'node:crypto';
import { call, type Endpoint, type Received } from './call.js';
import type { ClientLog, Outcome, ResponseEvent, SentOrder } from './client-log.js';

/** What the body of an order says beyond the log. Every second order has an externalReference, which is unique by itself. */
export function orderBody({ key, recipientId, amount }: SentOrder, isPayout: boolean) {
  const hasReference = Number(key.split('-').at(-1)) % 2 === 0;
  return {
    amount,
    recipientID: recipientId,
    type: 'instant',
    description: key,
    ...(hasReference && { externalReference: key }),
    ...(isPayout && { purposeCode: 'IR001' }),
  };
}

/** One attempt to place an order. */
export interface Attempt {
  readonly order: SentOrder;
  readonly isPayout: boolean;
  readonly attempt: number;
  readonly api: number;
  readonly signal?: AbortSignal;
}

/** Places an order once, with the log on disk before and after. */
export async function sendOrder(
  endpoint: Endpoint,
  log: ClientLog,
  { order, isPayout, attempt, api, signal }: Attempt,
): Promise<ResponseEvent & { readonly body: string; readonly retryAfter: string | undefined }> {
  const { key, workspaceId, accountId } = order;
  await log.append({ event: 'send', ...order, attempt, api });
  const received = await call(endpoint, {
    ...{ api, method: 'POST', path: `/accounts/${accountId}/orders`, workspaceId, key },
    body: orderBody(order, isPayout),
    ...(signal && { signal }),
  });
  const event: ResponseEvent = { event: 'response', key, attempt, ...classify(received) };
  await log.append(event);
  return { ...event, body: received.body, retryAfter: received.headers?.['retry-after'] };
}

/**
 * 4xx: refused, nothing was done. 503: the interface promises the same. Any other failure: unknown.
 * A body that is no order makes an acknowledgement unknown, because its client cannot read it.
 */
export function classify({
  status,
  body,
  error,
}: Pick<Received, 'status' | 'body' | 'error'>): Omit<ResponseEvent, 'event' | 'key' | 'attempt'> {
  if (status === undefined) return { outcome: 'unknown', reason: error ?? 'no response' };
  const parsed = parsedOf(body);
  if (status >= 200 && status < 300) {
    if (parsed === undefined || typeof parsed['id'] !== 'number')
      return { outcome: 'unknown', status, reason: 'no order' };
    return { outcome: 'ok', status, orderId: parsed['id'], digest: createHash('sha256').update(body).digest('hex') };
  }
  const isRefused = (status >= 400 && status < 500 && status !== 408) || status === 503;
  const outcome: Outcome = isRefused ? 'refused' : 'unknown';
  return { outcome, status, reason: String(parsed?.['reason'] ?? 'no reason') };
}

function parsedOf(body: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(body) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

/** Whether the same order is worth another attempt: its outcome is unknown, or the service asked to come later. */
export function isRetried({ outcome, status, reason }: Pick<ResponseEvent, 'outcome' | 'status' | 'reason'>): boolean {
  return outcome === 'unknown' || status === 503 || reason === 'idempotency_in_progress';
}
