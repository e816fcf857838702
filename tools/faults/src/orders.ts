import { createHash } from 'node:crypto';
import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientLog, ResponseEvent, SentOrder } from './client-log.js';

export interface Endpoint {
  readonly token: string;
  url(api: number): string;
  readonly onReceived?: (received: Received, options: CallOptions) => void;
  /** Gets a new token after an api has refused the present one with 401. */
  readonly renewToken?: (api: number) => Promise<void>;
}

export interface Received {
  readonly status?: number;
  readonly headers?: IncomingHttpHeaders;
  readonly body: string;
  readonly error?: string;
  readonly ms: number;
}

export interface CallOptions {
  readonly api: number;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH';
  readonly path: string;
  readonly workspaceId: number;
  readonly key?: string | undefined;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

/** The service responds within 15 seconds. A client waits longer, so that a later response is seen to be late. */
const DEADLINE_MS = 20_000;

/** Connections are used again, as those of a client are. */
const agent = new Agent({ keepAlive: true, maxSockets: Infinity });

/** Sends one request. Never throws: the error of a connection is a result. */
export async function call({ token, url, onReceived }: Endpoint, options: CallOptions): Promise<Received> {
  const { api, method, path, workspaceId, key, body, signal } = options;
  const text = body === undefined ? undefined : JSON.stringify(body);
  const headers = {
    Authorization: `Bearer ${token}`,
    'Workspace-ID': String(workspaceId),
    ...(text !== undefined && { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) }),
    ...(key !== undefined && { 'Idempotency-Key': key }),
  };
  const received = await send(`${url(api)}${path}`, { method, headers, text, signal });
  onReceived?.(received, options);
  return received;
}

interface SendOptions {
  readonly method?: string;
  readonly headers?: Record<string, string | number>;
  readonly text?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Sends a request over a connection that is used again. Never throws. */
export function send(url: string, { method = 'GET', headers = {}, text, signal }: SendOptions = {}): Promise<Received> {
  const beganAt = performance.now();
  const deadline = AbortSignal.timeout(DEADLINE_MS);
  const until = signal === undefined ? deadline : AbortSignal.any([signal, deadline]);
  return new Promise((resolve) => {
    const end = (result: Omit<Received, 'ms'>) => resolve({ ...result, ms: performance.now() - beganAt });
    const fail = (error: NodeJS.ErrnoException) => end({ body: '', error: error.code ?? error.name });
    try {
      const outgoing = request(url, { method, headers, agent, signal: until }, (response) => {
        let body = '';
        response.setEncoding('utf8').on('data', (piece: string) => (body += piece));
        response.on('error', fail);
        response.on('end', () => end({ body, headers: response.headers, status: response.statusCode! }));
      });
      outgoing.on('error', fail);
      outgoing.end(text);
    } catch (error) {
      fail(error as NodeJS.ErrnoException);
    }
  });
}

export const orderPath = ({ accountId }: SentOrder): string => `/accounts/${accountId}/orders`;

/** The body of an order. Every second order has an externalReference, which is unique by itself. */
export function orderBody({ key, recipientId, amount, isPayout }: SentOrder) {
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

export interface Sent extends ResponseEvent {
  readonly body: string;
  /** In seconds; NaN without the header. */
  readonly retryAfter: number;
}

export interface Sender {
  readonly endpoint: Endpoint;
  readonly log: ClientLog;
}

/** Places an order once, with the log on disk before and after. */
export async function sendOrder(
  { endpoint, log }: Sender,
  order: SentOrder,
  api: number,
  signal?: AbortSignal,
): Promise<Sent> {
  const { key, workspaceId } = order;
  const attempt = log.nextAttempt(key);
  await log.append({ event: 'send', ...order, attempt, api });
  const wanted = {
    api,
    method: 'POST',
    path: orderPath(order),
    workspaceId,
    key,
    body: orderBody(order),
    signal,
  } as const;
  const received = await call(endpoint, wanted);
  const event: ResponseEvent = { event: 'response', key, attempt, ...classify(received) };
  await log.append(event);
  return { ...event, body: received.body, retryAfter: Number(received.headers?.['retry-after'] ?? NaN) };
}

interface Patience {
  /** After so many milliseconds, the outcome of an attempt stands. */
  readonly patienceMs?: number;
  readonly pauseMs?: () => number;
}

/** The processes and the database start again in this time, also on a machine under load. */
const PATIENCE_MS = 60_000;
const PAUSE_MS = 100;

/**
 * Sends an order with the same key until it is acknowledged or refused, or the patience is over. A refusal after an attempt with an
 * unknown outcome is unknown too: the earlier request may still be on its way.
 */
export async function sendUntilDone(
  sender: Sender,
  order: SentOrder,
  apiOf: (attempt: number) => number,
  { patienceMs = PATIENCE_MS, pauseMs = () => PAUSE_MS }: Patience = {},
): Promise<Sent & { readonly api: number }> {
  const until = Date.now() + patienceMs;
  let hasUnknown = false;
  for (let attempt = 1; ; attempt += 1) {
    const api = apiOf(attempt);
    const sent = await sendOrder(sender, order, api);
    hasUnknown ||= sent.outcome === 'unknown';
    if (!isRetried(sent) || Date.now() > until) {
      return { ...sent, api, outcome: sent.outcome === 'refused' && hasUnknown ? 'unknown' : sent.outcome };
    }
    await sleep(pauseMs());
  }
}

/**
 * Sends a request that may be repeated to one api after the other, until a response says how it ended.
 *
 * @throws Error if the patience is over
 */
export async function callUntilDone(endpoint: Endpoint, options: CallOptions): Promise<Answer> {
  const until = Date.now() + PATIENCE_MS;
  for (let api = options.api; ; api += 1) {
    const { status, body, error } = await call(endpoint, { ...options, api });
    const parsed = parsedOf(body);
    if (status !== undefined && parsed !== undefined && !isUndecided(status, parsed['reason'])) {
      return { status, body: parsed };
    }
    if (Date.now() > until) throw new Error(`${options.method} ${options.path} failed: ${status ?? error}`);
    await sleep(PAUSE_MS);
  }
}

/** A response that is neither a failure nor an invitation to try again. */
export interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

/**
 * 4xx: refused, nothing was done. 503: the interface promises the same. Any other failure: unknown.
 * A body that is no order makes an acknowledgement unknown, because its client cannot read it.
 */
function classify({ status, body, error }: Received): Omit<ResponseEvent, 'event' | 'key' | 'attempt'> {
  if (status === undefined) return { outcome: 'unknown', reason: error ?? 'no response' };
  const parsed = parsedOf(body);
  if (status >= 200 && status < 300) {
    const id = parsed?.['id'];
    if (typeof id !== 'number') return { outcome: 'unknown', status, reason: 'no order' };
    return { outcome: 'ok', status, orderId: id, digest: createHash('sha256').update(body).digest('hex') };
  }
  const isRefused = (status >= 400 && status < 500 && status !== 408) || status === 503;
  return { outcome: isRefused ? 'refused' : 'unknown', status, reason: String(parsed?.['reason'] ?? 'no reason') };
}

export function parsedOf(body: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(body) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

/** Whether the same order is worth another attempt: its outcome is unknown, or the service asked to come later. */
function isRetried({ outcome, status, reason }: Pick<Sent, 'outcome' | 'status' | 'reason'>): boolean {
  return outcome === 'unknown' || isUndecided(status, reason);
}

/** Whether a response says neither that a request was done nor that it was refused for good. */
const isUndecided = (status: number | undefined, reason: unknown): boolean =>
  status === undefined || status === 408 || status >= 500 || reason === 'idempotency_in_progress';

/** Whether a response says that nothing was done, and when to try again. */
export const isUnavailable = ({ status, headers }: Received): boolean =>
  status === 503 && Number(headers?.['retry-after']) >= 1;
