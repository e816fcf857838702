import { type MinorUnits, type PlaceOrderInput, parseTransferAmount, Refusal } from '@banking/domain';
import type { CreationRequest } from '../idempotency/idempotency-key.js';

/** An order request with a parsed amount, and with instants in microseconds, as the database stores them. */
export interface OrderDraft extends Omit<PlaceOrderInput, 'amount'> {
  readonly amount: MinorUnits;
}

/** @throws Refusal `amount_malformed`, `amount_out_of_range` */
export function parseOrderInput(input: PlaceOrderInput): OrderDraft {
  const amount = parseTransferAmount(input.amount);
  if (amount === 0n) throw new Refusal('amount_malformed', 'The amount must be at least 1.');
  const { startAt, stopAt } = input;
  return {
    ...input,
    amount,
    ...(startAt !== undefined && { startAt: cutToMicroseconds(startAt) }),
    ...(stopAt !== undefined && { stopAt: cutToMicroseconds(stopAt) }),
  };
}

/** The request of an order for its idempotency key: the account of the path, and the body without undefined fields. */
export function requestOf(workspaceId: number, { accountId, ...body }: PlaceOrderInput): CreationRequest {
  const content = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
  return { workspaceId, operation: `placeOrder/${accountId}`, content };
}

/** Cuts the text of an instant to whole microseconds. */
const cutToMicroseconds = (text: string): string => text.replace(/(\.[0-9]{6})[0-9]+/, '$1');
