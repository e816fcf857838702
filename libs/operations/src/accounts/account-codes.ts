import type { CurrencyElsewhere } from '../recipients/add-internal-recipient.js';
import type { NewAccountCode } from './open-account.js';

/** The codes of accounts over all databases of a deployment. */
export interface AccountCodes {
  readonly newCode: NewAccountCode;
  readonly currencyElsewhere?: CurrencyElsewhere;
}
