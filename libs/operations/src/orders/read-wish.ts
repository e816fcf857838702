import { type MinorUnits, type OrderWish, parseTransferAmount, Refusal } from '@banking/domain';
import { fingerprintOf } from '../idempotency.js';
import type { OrderKey } from './order-answers.js';

/** A wish whose amount is one. */
export interface OrderDraft extends Omit<OrderWish, 'amount'> {
  readonly amount: MinorUnits;
}

/** @throws Refusal `amount_malformed`, `amount_out_of_range` */
export function readWish(wish: OrderWish): OrderDraft {
  const amount = parseTransferAmount(wish.amount);
  if (amount === 0n) throw new Refusal('amount_malformed', 'The amount must be at least 1.');
  return { ...wish, amount };
}

/** What makes two requests for orders one: the account of the path, and the body. */
export function orderKey(workspaceId: number, key: string, { accountId, ...body }: OrderWish): OrderKey {
  const operation = `placeOrder/${accountId}`;
  const said = Object.entries(body).filter(([, value]) => value !== undefined);
  const fingerprint = fingerprintOf({ workspaceId, operation, content: Object.fromEntries(said) });
  return { workspaceId, operation, key, fingerprint };
}
