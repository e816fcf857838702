import type { LogEvent, Outcome, ResponseEvent, SendEvent, SentOrder } from './client-log.js';

/** One order with all its attempts, as its client knows it. */
export interface Operation extends SentOrder {
  /**
   * `ok`: an attempt was acknowledged. `refused`: every attempt was refused, so nothing may have been done. `unknown`: at least one
   * attempt has no known outcome and none was acknowledged; its request may still be on its way after a later refusal.
   */
  readonly outcome: Outcome;
  readonly attempts: number;
  readonly orderId?: number;
  /** The digests of all acknowledgements. */
  readonly digests: readonly string[];
  /** Every id that an acknowledgement named. */
  readonly orderIds: readonly number[];
}

/** The operations of a log, in the order in which they were first sent. */
export function operationsOf(events: readonly LogEvent[]): Operation[] {
  const sent = new Map<string, SendEvent[]>();
  const responses = new Map<string, ResponseEvent>();
  for (const event of events) {
    if (event.event === 'send') sent.set(event.key, [...(sent.get(event.key) ?? []), event]);
    if (event.event === 'response') responses.set(`${event.key} ${event.attempt}`, event);
  }
  return [...sent.values()].map((attempts) => operationOf(attempts, responses));
}

function operationOf(sent: readonly SendEvent[], responses: ReadonlyMap<string, ResponseEvent>): Operation {
  const { key, workspaceId, accountId, recipientId, amount } = sent[0] as SendEvent;
  const received = sent.map(({ attempt }) => responses.get(`${key} ${attempt}`));
  const acknowledged = received.flatMap((response) => (response?.outcome === 'ok' ? [response] : []));
  const orderIds = [...new Set(acknowledged.flatMap(({ orderId }) => orderId ?? []))];
  return {
    ...{ key, workspaceId, accountId, recipientId, amount },
    outcome: outcomeOf(received),
    attempts: sent.length,
    ...(orderIds[0] !== undefined && { orderId: orderIds[0] }),
    digests: acknowledged.flatMap(({ digest }) => digest ?? []),
    orderIds,
  };
}

/** An attempt without a logged response is unknown, because the run ended before it. */
function outcomeOf(received: readonly (ResponseEvent | undefined)[]): Outcome {
  const outcomes = received.map((response) => response?.outcome ?? 'unknown');
  if (outcomes.includes('ok')) return 'ok';
  return outcomes.every((outcome) => outcome === 'refused') ? 'refused' : 'unknown';
}
