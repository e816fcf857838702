import { Refusal } from '@banking/domain';
import type { Outcome } from '@banking/ledger';
import { bind, statement } from '@banking/postgres';
import { WHOLE_ORDER } from '../edges.js';
import { dueRuns } from './due-runs.js';
import { ANSWERED, type LockedCheck, ordersWith } from './locked-check.js';
import { findAnswers, type KeptAnswer, type OrderKey } from './order-answers.js';
import type { ReadyOrder } from './post-orders.js';

/** A stored response that answers an order: its own, of an earlier attempt, or that of the order which had its key first. */
interface StoredResponse {
  readonly text: string;
  readonly isReplay: boolean;
}

/** Which order of its batch answers for one with the same key. */
interface EarlierOrder {
  readonly index: number;
}

export type Answers = Map<number, StoredResponse | EarlierOrder>;

/**
 * All checks of a batch as one, in their order: an order that exists is answered before its key is looked up, and a refusal that was
 * known beforehand comes after both.
 *
 * @param answers is told, by the place of an order, what answers for it
 */
export function lockedChecks(orders: readonly ReadyOrder[], waits: boolean, answers: Answers): LockedCheck {
  const checks = [placedEarlier(orders, answers), keyed(orders, answers), dueRuns(orders, waits), known(orders), taken(orders)]; // prettier-ignore
  return {
    reads: checks.flatMap(({ reads }) => reads),
    gate(rows) {
      let from = 0;
      const gates = checks.map(({ reads, gate }) => gate(rows.slice(from, (from += reads.length))));
      return (index, before) => {
        for (const gate of gates) {
          const outcome = gate(index, before);
          if (outcome) return outcome;
        }
        return undefined;
      };
    },
  };
}

/** Among orders that want what only one can have: the place of an earlier one of the batch that has it. */
function firstHolders() {
  const first = new Map<string, number>();
  return (name: string, index: number, before: readonly Outcome[]): number | undefined => {
    const earlier = first.get(name);
    if (earlier !== undefined && before[earlier]?.posted) return earlier;
    first.set(name, index);
    return undefined;
  };
}

const FIND_PLACED = statement<{ place: number; resource: string }>(
  'find_placed_orders',
  `select (u.n - 1)::int as place, (${WHOLE_ORDER.item})::text as resource
   from unnest($1::bigint[], $2::bigint[]) with ordinality u(w, id, n)
   cross join lateral (select * from customer_order o where o.workspace_id = u.w and o.id = u.id offset 0) t
   ${WHOLE_ORDER.joins}`,
);

/** An order whose earlier attempt may have been committed is looked up by its id, which no other order has. */
function placedEarlier(orders: readonly ReadyOrder[], answers: Answers): LockedCheck {
  const { reads, byIndex } = ordersWith(
    orders,
    ({ mayExist, placedId }) => (mayExist === true ? placedId : undefined),
    (ids, of) => [bind(FIND_PLACED, of.map(({ workspaceId }) => workspaceId), ids)], // prettier-ignore
  );
  return {
    reads,
    gate([rows]) {
      const found = byIndex<{ place: number; resource: string }>(rows);
      return (index) => {
        const placed = found.get(index);
        if (!placed) return undefined;
        answers.set(index, { text: placed.resource, isReplay: false });
        return ANSWERED;
      };
    },
  };
}

/**
 * Lets through an order whose key is free. One whose key was used for the same request is answered by that; for another request it is
 * refused. A key is free again when the order that had it was refused, also within a batch.
 */
function keyed(orders: readonly ReadyOrder[], answers: Answers): LockedCheck {
  const { reads, byIndex } = ordersWith<OrderKey>(orders, ({ key }) => key, (keys) => [findAnswers(keys)]); // prettier-ignore
  return {
    reads,
    gate([rows]) {
      const found = byIndex<KeptAnswer & { readonly place: number }>(rows);
      const holderOf = firstHolders();
      return (index, before) => {
        const key = orders[index]?.key;
        if (!key) return undefined;
        const kept = found.get(index);
        const holder = holderOf(JSON.stringify([key.workspaceId, key.operation, key.key]), index, before);
        const fingerprint = kept?.fingerprint ?? (holder === undefined ? undefined : orders[holder]?.key?.fingerprint);
        if (fingerprint === undefined) return undefined;
        if (!key.fingerprint.equals(fingerprint)) return { refused: new Refusal('idempotency_key_reused') };
        answers.set(index, kept ? { text: kept.answer, isReplay: true } : { index: holder ?? index });
        return ANSWERED;
      };
    },
  };
}

/** What was known to refuse an order before any lock was taken. */
const known = (orders: readonly ReadyOrder[]): LockedCheck => ({
  reads: [],
  gate: () => (index) => {
    const refusal = orders[index]?.refusal;
    return refusal && { refused: refusal };
  },
});

interface TakenRow {
  readonly place: number;
  readonly reference_is_taken: boolean;
  readonly quote_is_used: boolean;
  readonly quote_is_expired: boolean;
}

/** Expiry by the time the database transaction began, as the trigger of `quote_use` has it: the two always agree. */
const READ_TAKEN = statement<TakenRow>(
  'read_taken',
  `select (u.n - 1)::int as place,
          u.reference is not null and exists (
            select from customer_order o where o.workspace_id = u.w and o.external_reference = u.reference) as reference_is_taken,
          u.quote is not null and exists (
            select from quote_use q where q.workspace_id = u.w and q.quote_id = u.quote) as quote_is_used,
          u.quote is not null and exists (
            select from quote q where q.workspace_id = u.w and q.id = u.quote and q.expires_at <= now()) as quote_is_expired
   from unnest($1::bigint[], $2::text[], $3::bigint[]) with ordinality u(w, reference, quote, n)`,
);

/** References and quotes serve one order each. What became of them since the order was prepared is its refusal alone. */
function taken(orders: readonly ReadyOrder[]): LockedCheck {
  const { reads, byIndex } = ordersWith(
    orders,
    ({ unique }) => unique,
    (uniques, of) => [
      bind(
        READ_TAKEN,
        of.map(({ workspaceId }) => workspaceId),
        uniques.map(({ externalReference }) => externalReference ?? null),
        uniques.map(({ quoteId }) => quoteId ?? null),
      ),
    ],
  );
  return {
    reads,
    gate([rows]) {
      const found = byIndex<TakenRow>(rows);
      const holderOf = firstHolders();
      return (index, before) => {
        const { workspaceId, unique } = orders[index] ?? {};
        if (!unique) return undefined;
        const { externalReference, quoteId } = unique;
        const row = found.get(index);
        const isTaken = (kind: string, value: string | number | undefined) =>
          value !== undefined && holderOf(JSON.stringify([kind, workspaceId, value]), index, before) !== undefined;
        if (isTaken('reference', externalReference) || row?.reference_is_taken === true) {
          return { refused: new Refusal('external_reference_reused') };
        }
        if (isTaken('quote', quoteId) || row?.quote_is_used === true) return { refused: new Refusal('quote_used') };
        return row?.quote_is_expired === true ? { refused: new Refusal('quote_expired') } : undefined;
      };
    },
  };
}
