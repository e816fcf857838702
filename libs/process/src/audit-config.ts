import type { EnvironmentReader } from './environment-reader.js';

/** How long entries of the audit trail are kept, in days. */
export const readAuditKeptDays = ({ whole }: EnvironmentReader): number =>
  whole('AUDIT_KEPT_DAYS', 365, 36_500) ?? 3_650;
