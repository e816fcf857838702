import { ON_WORKER, WORKER, type AlertRule } from './alert-rule.js';

const NETWORK = 'banking_network_request_duration_seconds';
const SUCCESS = 'banking_verification_last_success_timestamp_seconds';

/** Alerts of due work, payouts and the verification of the books. */
export const WORK_ALERTS: readonly AlertRule[] = [
  {
    name: 'ValuesMissing',
    severity: 'warning',
    expr: 'banking_database_values_up == 0',
    for: '5m',
    summary: 'A process cannot read the state of due work and payouts.',
    test: {
      firing: { [`banking_database_values_up{${WORKER}}`]: '0x20' },
      quiet: { [`banking_database_values_up{${WORKER}}`]: '0 0 1x20' },
      at: '10m',
      labels: ON_WORKER,
    },
  },
  {
    name: 'WorkOverdue',
    severity: 'critical',
    expr: 'max by (kind, cell) (banking_work_oldest_due_seconds) > 60',
    for: '2m',
    summary: 'Due work waits for longer than a minute.',
    test: {
      firing: { [`banking_work_oldest_due_seconds{${WORKER}, kind="payout"}`]: '0 60+60x20' },
      quiet: { [`banking_work_oldest_due_seconds{${WORKER}, kind="payout"}`]: '30x20' },
      at: '10m',
      labels: { kind: 'payout' },
    },
  },
  {
    name: 'WorkParked',
    severity: 'warning',
    expr: 'max by (kind, cell) (banking_work_parked) > 0',
    for: '1m',
    summary: 'Work waits for an operator.',
    test: {
      firing: { [`banking_work_parked{${WORKER}, kind="payout"}`]: '0 2x20' },
      quiet: { [`banking_work_parked{${WORKER}, kind="payout"}`]: '0x20' },
      at: '5m',
      labels: { kind: 'payout' },
    },
  },
  {
    name: 'PayoutsOld',
    severity: 'warning',
    expr: 'max by (status, cell) (max_over_time(banking_payouts_oldest_seconds{status=~"due|submitting"}[5m])) > 900',
    for: '5m',
    summary: 'A payout was not submitted for 15 minutes.',
    test: {
      firing: { [`banking_payouts_oldest_seconds{${WORKER}, status="due"}`]: '0+60x60' },
      quiet: { [`banking_payouts_oldest_seconds{${WORKER}, status="submitted"}`]: '0+60x60' },
      at: '40m',
      labels: { status: 'due' },
    },
  },
  {
    name: 'PayoutsStopped',
    severity: 'critical',
    expr: 'max by (cell) (banking_payouts_stopped) > 0',
    for: '0m',
    summary: 'Payouts are stopped because a verification of the books has findings.',
    test: {
      firing: { [`banking_payouts_stopped{${WORKER}}`]: '0 1x10' },
      quiet: { [`banking_payouts_stopped{${WORKER}}`]: '0x10' },
      at: '5m',
      labels: {},
    },
  },
  {
    name: 'VerificationOld',
    severity: 'critical',
    expr:
      `time() - max by (cell) (${SUCCESS}{subject="new"}) > 600 or absent(${SUCCESS}{subject="new"}) or ` +
      `(max by (cell) (banking_database_values_up{cell!=""}) == 1 unless max by (cell) (${SUCCESS}{subject="new"}))`,
    for: '5m',
    summary: 'No worker has verified new transactions for 10 minutes.',
    test: {
      firing: { [`${SUCCESS}{${WORKER}, subject="account"}`]: '0+60x40' },
      quiet: { [`${SUCCESS}{${WORKER}, subject="new"}`]: '0+60x40' },
      at: '30m',
      labels: { subject: 'new' },
    },
  },
  {
    name: 'WorkFailing',
    severity: 'warning',
    expr: 'sum by (chore) (increase(banking_chore_failures_total[10m])) > 5',
    for: '5m',
    summary: 'A chore of the workers fails again and again.',
    test: {
      firing: { [`banking_chore_failures_total{${WORKER}, chore="verification"}`]: '0+2x30' },
      quiet: { [`banking_chore_failures_total{${WORKER}, chore="verification"}`]: '0x10 1x20' },
      at: '20m',
      labels: { chore: 'verification' },
    },
  },
  {
    name: 'NetworkFailing',
    severity: 'critical',
    expr:
      `sum by (operation) (rate(${NETWORK}_count{outcome!="ok"}[5m])) / ` +
      `sum by (operation) (rate(${NETWORK}_count[5m])) > 0.5`,
    for: '5m',
    summary: 'More than half of the calls of the payment network fail.',
    test: {
      firing: {
        [`${NETWORK}_count{${WORKER}, operation="submit", outcome="ok"}`]: '0+10x30',
        [`${NETWORK}_count{${WORKER}, operation="submit", outcome="timeout"}`]: '0+20x30',
      },
      quiet: {
        [`${NETWORK}_count{${WORKER}, operation="submit", outcome="ok"}`]: '0+20x30',
        [`${NETWORK}_count{${WORKER}, operation="submit", outcome="failed"}`]: '0+10x30',
      },
      at: '20m',
      labels: { operation: 'submit' },
    },
  },
];
