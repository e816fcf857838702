import { type Order, Refusal } from '@banking/domain';
import type { Gate, Outcome } from '@banking/ledger';
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

const FIND_ANSWERS = statement<{ place: number } & KeptAnswer>(
  'find_order_answers',
  `select (u.n - 1)::int as place, i.fingerprint, i.answer
   from unnest($1::bigint[], $2::text[], $3::text[]) with ordinality u(w, operation, key, n)
   join idempotency i on (i.workspace_id, i.operation, i.key) = (u.w, u.operation, u.key)
   where i.created_at > statement_timestamp() - ${KEPT}`,
);

/** An answer that is kept no longer makes room for the next. Four more of each workspace go with it: about as many as come. */
const FORGET_EXPIRED = statement(
  'forget_expired_order_answers',
  `delete from idempotency i where i.created_at <= statement_timestamp() - ${KEPT}
     and ((i.workspace_id, i.operation, i.key) in (select * from unnest($1::bigint[], $2::text[], $3::text[]))
       or (i.workspace_id, i.operation, i.key) in (
         select e.workspace_id, e.operation, e.key
         from (select distinct w from unnest($1::bigint[]) d(w)) d
         cross join lateral (
           select * from idempotency o where o.workspace_id = d.w and o.created_at <= statement_timestamp() - ${KEPT}
           order by o.created_at limit 4 for update skip locked) e))`,
);

/**
 * Each order is looked up for itself (`offset 0`): a plan made while the tables were small would read all orders of the workspace.
 *
 * Reads the orders as they are answered, and keeps the answers of those with a key, sorted: two batches never wait
 * crosswise.
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
     order by w, operation, key)
   select resource from made order by n`,
);

const columnsOf = (keys: readonly OrderKey[]) => [
  keys.map(({ workspaceId }) => workspaceId),
  keys.map(({ operation }) => operation),
  keys.map(({ key }) => key),
];

/** Reads what was answered before for these keys. */
export const findAnswers = (keys: readonly OrderKey[]) => bind(FIND_ANSWERS, ...columnsOf(keys));

/** Writes the answers of a batch, and reads them: its last statement has a row for each, in their order. */
export function answerOrders(orders: readonly Answerable[]): Bound<unknown>[] {
  if (orders.length === 0) return [];
  const keys = orders.flatMap(({ key }) => key ?? []);
  const answers = bind(
    ANSWER_ORDERS,
    orders.map(({ workspaceId }) => workspaceId),
    orders.map(({ orderId }) => orderId),
    orders.map(({ key }) => key?.operation ?? null),
    orders.map(({ key }) => key?.key ?? null),
    orders.map(({ key }) => key?.fingerprint.toString('hex') ?? null),
  );
  return keys.length === 0 ? [answers] : [bind(FORGET_EXPIRED, ...columnsOf(keys)), answers];
}

/** Which earlier order answers for one: one that was placed with its key before, or an earlier one of its batch. */
export type Replay = { readonly kept: string } | { readonly earlier: number };

/**
 * Lets through an order whose key is free. One whose key was used for the same is answered by that; for another request it is
 * refused. A key is free again when the order that had it was refused, also within a batch.
 *
 * @param replays is told, by the place of an order, what answers for it
 */
export function keyGate(
  keys: readonly (OrderKey | undefined)[],
  found: ReadonlyMap<number, KeptAnswer>,
  replays: Map<number, Replay>,
): Gate {
  const first = new Map<string, number>();
  return (index, before) => {
    const key = keys[index];
    if (!key) return undefined;
    const kept = found.get(index);
    const name = JSON.stringify([key.workspaceId, key.operation, key.key]);
    const earlier = first.get(name);
    const holder = earlier !== undefined && before[earlier]?.posted ? earlier : undefined;
    const fingerprint = kept?.fingerprint ?? (holder === undefined ? undefined : keys[holder]?.fingerprint);
    if (fingerprint === undefined) {
      first.set(name, index);
      return undefined;
    }
    if (!key.fingerprint.equals(fingerprint)) return { refused: new Refusal('idempotency_key_reused') };
    replays.set(index, kept ? { kept: kept.answer } : { earlier: holder ?? index });
    return { leftOut: 'answered' } satisfies Outcome;
  };
}

export const asOrder = (answer: string): Order => JSON.parse(answer) as Order;
