export { PAYOUT_MIGRATIONS } from './migrations.js';
export * from './open-payouts.js';
export * from './track-remittance.js';
