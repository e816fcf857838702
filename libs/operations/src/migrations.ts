import { resolve } from 'node:path';
import { LEDGER_MIGRATIONS } from '@banking/ledger';
import { PAYOUT_MIGRATIONS } from '@banking/payouts';

/** Every folder of migrations a deployment needs; their numbers run through all of them. */
export const MIGRATIONS: readonly string[] = [
  LEDGER_MIGRATIONS,
  PAYOUT_MIGRATIONS,
  resolve(__dirname, '../migrations'),
];
