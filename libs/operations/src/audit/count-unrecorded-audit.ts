import { sqlStatement } from '@banking/postgres';

/** Rows of the outbox of the audit trail that wait for the recorder, up to 10,000, and the age of the oldest. Reads no more rows. */
export const COUNT_UNRECORDED_AUDIT = sqlStatement<{ waiting: number; seconds: number }>(
  'count_unrecorded_audit',
  'select waiting, seconds from count_unrecorded_audit(10000)',
);
