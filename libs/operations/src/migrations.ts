import { resolve } from 'node:path';
import { LEDGER_MIGRATIONS } from '@banking/ledger';

/** Every folder of migrations a deployment needs; their numbers run through all of them. */
export const MIGRATIONS: readonly string[] = [LEDGER_MIGRATIONS, resolve(__dirname, '../migrations')];
