import { type RefusalRow, RowRefusal } from './refusal.js';

/** The rows of the refusal table that this library gives as a reason itself: those about amounts and their currencies. */
export const AMOUNT_REFUSALS = {
  amount_malformed: {
    status: 400,
    errorCode: 'invalid_request',
    meaning: 'An amount is not written the way this field asks for.',
  },
  amount_out_of_range: {
    status: 400,
    errorCode: 'invalid_request',
    meaning: 'An amount is larger than can be stored or shown.',
  },
  amount_too_precise: {
    status: 400,
    errorCode: 'invalid_request',
    meaning: 'An amount has more decimals than its currency.',
  },
  currency_unknown: {
    status: 400,
    errorCode: 'invalid_request',
    meaning: 'The currency is not a current ISO 4217 code with a smallest unit.',
  },
} as const satisfies Record<string, RefusalRow>;

/** Refuses an amount or its currency. It is a `Refusal` to whoever catches it, and does not bring the whole table along. */
export function amountRefusal(reason: keyof typeof AMOUNT_REFUSALS, message: string): RowRefusal {
  return new RowRefusal(reason, AMOUNT_REFUSALS[reason], message);
}
