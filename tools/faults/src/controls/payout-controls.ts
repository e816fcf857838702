import type { Control } from './control.js';

const SUBMIT = 'libs/payouts/src/submit-payout.ts';
const CLAIMS = 'libs/work-queue/src/claims.ts';

/** Faults in payouts, leases and the mode of the database. */
export const PAYOUT_CONTROLS: readonly Control[] = [
  {
    name: 'success-before-sending',
    promise: 'P15',
    plants: 'A worker records a payout as submitted before it sends it.',
    changes: [
      {
        file: SUBMIT,
        from: '  { rail, readPayment, deadline',
        to: '  { books, rail, readPayment, deadline',
      },
      {
        file: SUBMIT,
        from: `  if (events === undefined) {
    const payment`,
        to: `  if (events === undefined) {
    const submitted = bind(MARK_SUBMITTED, [workspaceId], [transactionId]);
    await books.database.pipeline({ workspaces: [workspaceId] }, [submitted]);
    const payment`,
      },
    ],
    caughtBy: [
      {
        spec: 'libs/payouts/src/takeover.spec.ts',
        test: 'is finished by another worker and submitted once when its worker dies',
      },
    ],
  },
  {
    name: 'payout-sent-again-after-timeout',
    promise: 'P15',
    plants: 'A payout whose submission had no response is submitted again, without asking the network for it.',
    changes: [
      {
        file: 'libs/payouts/src/find-earlier-submission.ts',
        from: "  if (status !== 'submitted' && tries <= 1 && !isLate) return undefined;",
        to: "  if (status !== 'submitted' && tries >= 0 && !isLate) return undefined;",
      },
    ],
    caughtBy: [
      {
        spec: 'libs/payouts/src/submit-payout.spec.ts',
        test: 'is submitted once with 9020, for which the network accepts it without a response',
      },
    ],
  },
  {
    name: 'no-fencing-token',
    promise: 'P17',
    plants: 'A worker may write for work that another worker has taken over, while any lease on it is valid.',
    changes: [
      {
        file: 'libs/payouts/migrations/0010-payouts.sql',
        from: ' and fence = under_fence\n',
        to: '\n',
      },
      { file: CLAIMS, from: 'where w.fence = u.fence and w.leased_until', to: 'where w.leased_until' },
    ],
    caughtBy: [
      { spec: 'libs/work-queue/src/claims.spec.ts', test: 'permits no write after another worker has taken over' },
      { spec: 'libs/work-queue/src/claims.spec.ts', test: 'that another worker has taken over is left out' },
    ],
  },
  {
    name: 'expired-lease-accepted',
    promise: 'P17',
    plants: 'A worker may write for work whose lease has expired.',
    changes: [
      {
        file: 'libs/payouts/migrations/0010-payouts.sql',
        from: '    and leased_until > clock_timestamp()\n',
        to: '',
      },
      {
        file: CLAIMS,
        from: 'where w.fence = u.fence and w.leased_until > clock_timestamp()',
        to: 'where w.fence = u.fence',
      },
    ],
    caughtBy: [
      { spec: 'libs/work-queue/src/claims.spec.ts', test: 'permits no write after its lease has expired' },
      { spec: 'libs/work-queue/src/claims.spec.ts', test: 'whose lease has expired is left out' },
    ],
  },
  {
    name: 'sandbox-rail-in-live-database',
    promise: 'mode',
    plants:
      'A worker of a live deployment hands payouts to the sandbox network, and the database accepts its payments.',
    changes: [
      {
        file: 'libs/operations/src/worker/start-banking-worker.ts',
        from: '  if (!sandbox) return',
        to: '  if (sandbox === undefined) return',
      },
      {
        file: 'libs/operations/migrations/0031-deployment-mode.sql',
        from: 'create trigger sandbox_only before insert or update on sandbox_rail_payment for each statement execute function require_sandbox();\n',
        to: '',
      },
    ],
    caughtBy: [
      {
        spec: 'libs/operations/src/worker/start-banking-worker.spec.ts',
        test: 'leaves a payout waiting without a network',
      },
      { spec: 'libs/deployment/src/sandbox-only.spec.ts', test: 'a live database refuses a payment of its network' },
    ],
  },
  {
    name: 'mode-not-compared',
    promise: 'mode',
    plants: 'A process with SANDBOX=on serves a live database.',
    changes: [
      {
        file: 'libs/deployment/src/deployment-mode.ts',
        from: '  if (stored === isSandbox) return;',
        to: '  if (stored !== undefined) return;',
      },
    ],
    caughtBy: [{ spec: 'libs/deployment/src/deployment-mode.spec.ts', test: 'refuses a process of the other mode' }],
  },
];
