import type { TransferAmount } from '../amount.js';
import type { CurrencyCode } from '../currencies.js';
import type { CurrencyId } from '../ids.js';
import type { Open } from '../open.js';
import type { Timestamp } from '../timestamp.js';

/** A currency. */
export interface Currency {
  /** In our responses the numeric code of ISO 4217. */
  readonly id: CurrencyId;
  /** Three capital letters of ISO 4217. Another deployment may have a newer one than this library. */
  readonly code: Open<CurrencyCode>;
  readonly name: string;
  readonly symbol?: string;
  /** Digits after the point: 2 for EUR, 0 for JPY, 3 for KWD. */
  readonly decimals?: number;
  /** The minimum of a SWIFT payout, in minor units of this currency: `"5000"` on USD is 50.00. */
  readonly swiftMinimumWithdrawalAmount?: TransferAmount;
  readonly createdAt?: Timestamp;
  readonly updatedAt?: Timestamp;
}
