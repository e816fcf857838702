import type { Order } from '@banking/domain';
import { bind, statement, type Bound } from '@banking/postgres';
import { WHOLE_ORDER } from '../edges.js';
import { KEPT } from '../idempotency.js';

/** The key of a placed order. Its account is part of the operation, so the lock of the account is the lock of the key. */
export interface OrderKey {
  readonly workspaceId: number;
  readonly operation: string;
  readonly key: string;
  readonly fingerprint: Buffer;
}

/** An order that was written, and the key its answer is kept for. */
export interface Answerable {
  readonly workspaceId: number;
  readonly orderId: number;
  readonly key?: OrderKey | undefined;
}

export interface KeptAnswer {
  readonly fingerprint: Buffer;
  readonly answer: string;
}

/** Each key is looked up for itself (`offset 0`): a plan made without statistics would read all keys of the operation. */
const FIND_ANSWERS = statement<{ place: number } & KeptAnswer>(
  'find_order_answers',
  `select (u.n - 1)::int as place, i.fingerprint, i.answer
   from unnest($1::bigint[], $2::text[], $3::text[]) with ordinality u(w, operation, key, n)
   cross join lateral (select * from idempotency k
     where k.workspace_id = u.w and k.operation = u.operation and k.key = u.key offset 0) i
   where i.created_at > statement_timestamp() - ${KEPT}`,
);

/**
 * Each order is looked up for itself (`offset 0`): a plan made while the tables were small would read all orders of the workspace.
 *
 * Reads the orders as they are answered, and keeps the answers of those with a key, sorted: two batches never wait crosswise. A key
 * that has expired is replaced; row-level security rejects the replacement of one that has not.
 */
const ANSWER_ORDERS = statement<{ resource: string }>(
  'answer_orders',
  `with made as materialized (
     select u.n, u.w, u.operation, u.key, u.fingerprint, (${WHOLE_ORDER.item})::text as resource
     from unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[]) with ordinality u(w, id, operation, key, fingerprint, n)
     cross join lateral (select * from customer_order o where o.workspace_id = u.w and o.id = u.id offset 0) t
     ${WHOLE_ORDER.joins}),
   kept as (
     insert into idempotency (workspace_id, operation, key, fingerprint, answer)
     select w, operation, key, decode(fingerprint, 'hex'), resource from made where key is not null
     order by w, operation, key
     on conflict (workspace_id, operation, key)
     do update set fingerprint = excluded.fingerprint, answer = excluded.answer, created_at = excluded.created_at)
   select resource from made order by n`,
);

/** Reads what was answered before for these keys. */
export const findAnswers = (keys: readonly OrderKey[]) =>
  bind(
    FIND_ANSWERS,
    keys.map(({ workspaceId }) => workspaceId),
    keys.map(({ operation }) => operation),
    keys.map(({ key }) => key),
  );

/** Writes the answers of a batch, and reads them: its last statement has a row for each, in their order. */
export function answerOrders(orders: readonly Answerable[]): Bound<unknown>[] {
  if (orders.length === 0) return [];
  return [
    bind(
      ANSWER_ORDERS,
      orders.map(({ workspaceId }) => workspaceId),
      orders.map(({ orderId }) => orderId),
      orders.map(({ key }) => key?.operation ?? null),
      orders.map(({ key }) => key?.key ?? null),
      orders.map(({ key }) => key?.fingerprint.toString('hex') ?? null),
    ),
  ];
}

export const asOrder = (answer: string): Order => JSON.parse(answer) as Order;
