import { LEDGER_MIGRATIONS } from '@banking/ledger';
import { OPERATIONS_MIGRATIONS } from '@banking/operations';
import { PAYOUT_MIGRATIONS } from '@banking/payouts';

/** Every folder of migrations a deployment needs. The numbers of the files run through all of them. */
export const MIGRATIONS: readonly string[] = [LEDGER_MIGRATIONS, PAYOUT_MIGRATIONS, OPERATIONS_MIGRATIONS];
