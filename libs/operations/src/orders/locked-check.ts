import type { Gate, Outcome } from '@banking/ledger';
import type { Bound } from '@banking/postgres';
import type { ReadyOrder } from './post-orders.js';

/** What is read behind the locks of a batch, and what follows from it for each order before the books decide. */
export interface LockedCheck {
  readonly reads: readonly Bound<unknown>[];
  /** @param rows the rows of each of `reads` */
  gate(rows: readonly (readonly unknown[])[]): Gate;
}

/** There is nothing to write for the order: what answers for it is known, or its run is over. */
export const ANSWERED: Outcome = { leftOut: 'answered' };
export const LOCKED: Outcome = { leftOut: 'locked' };

/** The orders that have something, with their places in the batch. No statement for none. */
export function ordersWith<T>(
  orders: readonly ReadyOrder[],
  part: (order: ReadyOrder) => T | undefined,
  read: (parts: readonly T[], of: readonly ReadyOrder[]) => readonly Bound<unknown>[],
) {
  const chosen = orders.flatMap((order, index) => {
    const has = part(order);
    return has === undefined ? [] : [{ index, order, has }];
  });
  const reads = chosen.length === 0 ? [] : read(chosen.map(({ has }) => has), chosen.map(({ order }) => order)); // prettier-ignore
  /** Rows by the place of their order in the batch. */
  const byIndex = <Row extends { readonly place: number }>(rows: readonly unknown[] = []) =>
    new Map((rows as readonly Row[]).map((row) => [chosen[row.place]!.index, row]));
  return { reads, byIndex };
}
