import type { TransferAmount } from '../amount.js';
import type { QuoteId } from '../ids.js';
import type { Timestamp } from '../timestamp.js';
import type { Account } from './account.js';
import type { Currency } from './currency.js';
import type { Recipient } from './recipient.js';

/**
 * The price of one payment, binding until `expiresAt`. The account is debited `amount` and `feeAmount`, and `targetAmount` arrives.
 *
 * Callers can verify it with `rateOf(from, to, rate)`. If the request gave `amount`, then `targetAmount` is
 * `convert(amount, rate, 'down').amount`. If it gave `targetAmount`, then `amount` is
 * `convert(targetAmount, inverse(rate), 'up').amount`. The remainder stays with the service, so no sequence of conversions gains.
 */
export interface Quote {
  readonly id: QuoteId;
  /** The amount that leaves the account, without the fee, in minor units of its currency. */
  readonly amount: TransferAmount;
  /**
   * The exact rate in use: whole units of the target currency for one whole unit of the account's currency. Rounded down to fifteen
   * significant digits, with up to fifteen digits on either side of a point. `1` within a currency.
   */
  readonly rate: string;
  /** In minor units of the account's currency. Omitted without a recipient, because the fee depends on the corridor. */
  readonly feeAmount?: TransferAmount;
  /** The amount that arrives, in minor units of the target currency. */
  readonly targetAmount: TransferAmount;
  readonly expiresAt: Timestamp;
  readonly createdAt?: Timestamp;
  readonly updatedAt?: Timestamp;
  readonly edges: {
    /** The account that pays. */
    readonly account: Account;
    readonly recipient?: Recipient;
    readonly targetCurrency: Currency;
  };
}
