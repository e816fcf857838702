import { signWebhook } from '@banking/client/webhooks';
import { type Event, webhookIdOf, type WorkspaceId } from '@banking/domain';

/** A receiver, and the events that it gets. */
export interface Receiver {
  readonly workspaceId: WorkspaceId;
  readonly url: URL;
  readonly secret: string;
}

/** What a receiver did with a webhook. */
export interface ForwardResult {
  readonly webhookID: string;
  readonly durationMs: number;
  /** The status of the response. Missing without a response. */
  readonly status?: number;
  /** Why there is no response. */
  readonly error?: string;
}

/** As long as the service waits for the response of an endpoint. */
const TIMEOUT_MS = 15_000;

/** Sends an event to a receiver once, signed as the service signs it. Redirects are not followed. @throws the reason of `signal` */
export async function forwardWebhook(
  { workspaceId, url, secret }: Receiver,
  event: Event,
  signal: AbortSignal,
): Promise<ForwardResult> {
  const webhookID = webhookIdOf(workspaceId, event);
  const webhook = { type: event.type, timestamp: event.createdAt, data: event };
  const { headers, body } = await signWebhook(webhook, secret, { id: webhookID, timestamp: new Date() });
  const start = performance.now();
  const passed = () => Math.round(performance.now() - start);
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers,
      body,
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    const durationMs = passed();
    // The status is the result. The rest of the response is not read.
    await response.body?.cancel();
    return { webhookID, durationMs, status: response.status };
  } catch (error) {
    signal.throwIfAborted();
    return { webhookID, durationMs: passed(), error: reasonOf(error) };
  }
}

function reasonOf(error: unknown): string {
  const { name, cause } = error as { readonly name?: string; readonly cause?: { readonly code?: string } };
  if (name === 'TimeoutError') return `no response within ${TIMEOUT_MS / 1000} seconds`;
  return `no response (${cause?.code ?? name ?? 'unknown'})`;
}
