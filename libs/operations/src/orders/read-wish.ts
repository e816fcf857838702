import { type MinorUnits, type OrderWish, parseTransferAmount, Refusal } from '@banking/domain';
import { fingerprintOf } from '../idempotency.js';
import { cutToMicroseconds } from './instant.js';
import type { OrderKey } from './order-answers.js';

/** An order request whose amount is one, and whose instants are in microseconds, as the database keeps them. */
export interface OrderDraft extends Omit<OrderWish, 'amount'> {
  readonly amount: MinorUnits;
}

/** @throws Refusal `amount_malformed`, `amount_out_of_range` */
export function readWish(wish: OrderWish): OrderDraft {
  const amount = parseTransferAmount(wish.amount);
  if (amount === 0n) throw new Refusal('amount_malformed', 'The amount must be at least 1.');
  const { startAt, stopAt } = wish;
  return {
    ...wish,
    amount,
    ...(startAt !== undefined && { startAt: cutToMicroseconds(startAt) }),
    ...(stopAt !== undefined && { stopAt: cutToMicroseconds(stopAt) }),
  };
}

/** What makes two requests for orders one: the account of the path, and the body. */
export function orderKey(workspaceId: number, key: string, { accountId, ...body }: OrderWish): OrderKey {
  const operation = `placeOrder/${accountId}`;
  const said = Object.entries(body).filter(([, value]) => value !== undefined);
  const fingerprint = fingerprintOf({ workspaceId, operation, content: Object.fromEntries(said) });
  return { workspaceId, operation, key, fingerprint };
}
