import { ACCOUNT_COLUMNS, type AccountRow } from './compose-account.js';
import { BENEFICIARY_COLUMNS, beneficiaryOf, RECIPIENT_COLUMNS, type RecipientFacts } from './compose-recipient.js';
import { joined } from './columns.js';
import { selectedOf } from './composed.js';

/** What the account and the recipient of a payment are composed of. */
export type PartiesRow = AccountRow & RecipientFacts;

/** The account `a` and the recipient `r`, if there is one, of a row `t`. */
export const PARTIES = {
  columns: selectedOf([ACCOUNT_COLUMNS, 'a'], [RECIPIENT_COLUMNS, 'r'], [BENEFICIARY_COLUMNS, 'n']),
  joins: `${joined('account', 'a', 'l.workspace_id = t.workspace_id and l.id = t.account_id')}
   ${joined('recipient', 'r', 'l.workspace_id = t.workspace_id and l.id = t.recipient_id')}
   ${beneficiaryOf('r')}`,
} as const;
