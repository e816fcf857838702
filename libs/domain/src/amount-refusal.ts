import { type RefusalRow, BaseRefusal } from './base-refusal.js';

/** The rows that this library refuses with itself: amounts and their currencies. */
export const AMOUNT_REFUSALS = {
  amount_malformed: {
    status: 400,
    message: 'The amount is not in the format of this field.',
    action:
      'In a request, write digits in the smallest unit of the currency: no sign, no decimal point, no leading zero.',
  },
  amount_out_of_range: {
    status: 400,
    message: 'The amount is larger than the service can store or show.',
    action: 'Send a smaller amount: at most 9223372036854775807 minor units, and 9007199254740991 for a balance.',
  },
  amount_too_precise: {
    status: 400,
    message: 'The amount has more decimals than its currency.',
    action: 'Round the amount to the decimals of the currency before you send it.',
  },
  currency_unknown: {
    status: 400,
    message: 'The currency is not a current ISO 4217 code with a smallest unit.',
    action: 'Send the three capital letters of a current currency, such as EUR.',
  },
} as const satisfies Record<string, RefusalRow>;

/** Makes a refusal about an amount or its currency, without loading the whole table. `instanceof Refusal` holds for it. */
export function amountRefusal(reason: keyof typeof AMOUNT_REFUSALS, message: string): BaseRefusal {
  return new BaseRefusal(reason, AMOUNT_REFUSALS[reason], message);
}
