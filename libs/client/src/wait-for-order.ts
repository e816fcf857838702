import {
  type EventResourceType,
  EXECUTION_STEPS,
  isFinal,
  type Order,
  ORDER_STEPS,
  type OrderId,
  type OrderName,
  type OrderPage,
  type PageQuery,
  type PlainNumber,
  type AccountId,
  Refusal,
  TRANSACTION_STEPS,
} from '@banking/domain';
import { EARLY_MS, isTransient, pause, type ReadEventPage } from './follow-events.js';
import { pauseMs } from './retry-policy.js';
import type { CallOptions } from './transport.js';

/** The account and the id of an order. An order as the service returned it has both. */
export type NamedOrder =
  | Pick<Order, 'id' | 'edges'>
  | { readonly accountId: AccountId | PlainNumber; readonly orderId: OrderId | PlainNumber };

/** When a wait for an order ends. */
export interface OrderWaitOptions {
  /** `settled`: no run of the order is left, and the transaction of every run is completed or failed. */
  readonly until?: 'settled';
  /** How long to wait at most, in milliseconds. Default: without limit. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** How the wait reads the service. */
export interface OrderReads {
  /** With a page of its executions, the latest first. `next` is the position of those before these. */
  readonly getPage: (query: OrderName & PageQuery, options: CallOptions) => Promise<OrderPage>;
  readonly listEvents: ReadEventPage;
}

const WAIT_S = 20;
/** Between two reads of the order at a service without events. */
const POLL_EVERY_MS = 2_000;

/**
 * Waits until an order is settled, and returns it with its latest executions. It follows the events of the order or of its pending execution. A deployment without
 * events is polled.
 *
 * @throws the reason of the signal; a DOMException `TimeoutError` after `timeoutMs`; every failure that a retry cannot change
 */
export async function waitForOrder(
  { getPage, listEvents }: OrderReads,
  order: NamedOrder,
  { timeoutMs, signal: ofCaller }: OrderWaitOptions = {},
): Promise<Order> {
  const { accountId, orderId } = nameOf(order);
  const controller = new AbortController();
  const { signal } = controller;
  const leave = () => controller.abort(ofCaller?.reason);
  const timer =
    timeoutMs === undefined
      ? undefined
      : setTimeout(
          () => controller.abort(new DOMException('The order is not settled yet.', 'TimeoutError')),
          timeoutMs,
        );
  ofCaller?.addEventListener('abort', leave);
  if (ofCaller?.aborted) leave();
  // The position behind the events of each followed resource. It is read before the order, so that no change falls between the two.
  const positions = new Map<string, string>();
  // No page of a settled one changes: the order has no further run.
  let settled: Order | undefined;
  let page: string | undefined;
  try {
    for (let failures = 0; ;) {
      signal.throwIfAborted();
      try {
        const { next: before, ...current } = await getPage({ accountId, orderId, cursor: page }, { signal });
        if (isSettled(current)) {
          settled ??= current;
          if (before === undefined) return settled;
          page = before;
          continue;
        }
        const [resourceType, resourceId] = followed(current, orderId);
        const name = `${resourceType} ${resourceId}`;
        const cursor = positions.get(name);
        const wait = cursor === undefined ? 0 : WAIT_S;
        const startedAtMs = performance.now();
        const { next } = await listEvents({ resourceType, resourceId, cursor, wait }, { signal });
        positions.set(name, next);
        failures = 0;
        if (next === cursor && performance.now() - startedAtMs < EARLY_MS) await pause(EARLY_MS, signal);
      } catch (error) {
        signal.throwIfAborted();
        if (isWithoutEvents(error)) await pause(POLL_EVERY_MS, signal);
        else if (isTransient(error)) await pause(pauseMs((failures += 1), error, Math.random()), signal);
        else throw error;
      }
    }
  } finally {
    clearTimeout(timer);
    ofCaller?.removeEventListener('abort', leave);
  }
}

function nameOf(order: NamedOrder): { readonly accountId: number; readonly orderId: number } {
  if ('orderId' in order) return order;
  const accountId = order.edges.account?.id;
  if (accountId === undefined || order.id === undefined) throw new Refusal('id_malformed');
  return { accountId, orderId: order.id };
}

/** A status that this version does not know is not final: a newer service may have more of them. */
const isSettled = ({ status = '', edges }: Order) =>
  isFinal(ORDER_STEPS, status) &&
  (edges.executions ?? []).every(
    (run) =>
      isFinal(EXECUTION_STEPS, run.status) &&
      (run.edges.transaction === undefined || isFinal(TRANSACTION_STEPS, run.edges.transaction.status)),
  );

/** The pending execution that the order waits for, or the order itself. */
function followed(order: Order, orderId: number): readonly [EventResourceType, number] {
  const pending = order.edges.executions?.find(({ status }) => status === 'pending');
  return pending?.id === undefined ? ['order', orderId] : ['execution', pending.id];
}

const isWithoutEvents = (error: unknown) => error instanceof Refusal && error.reason === 'route_not_found';
