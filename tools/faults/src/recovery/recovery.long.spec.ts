import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findPrograms, type PostgresPrograms } from './postgres-programs.js';
import { RECOVERY_KINDS } from './recovery-kinds.js';
import { type RecoveryKind, runRecovery } from './recovery-run.js';

const RUN_MS = 600_000;
const programs = findPrograms();
const isMissing = typeof programs === 'string';
// The name of a skipped test says why it is skipped.
const note = isMissing ? `, skipped: ${programs}` : '';

describe(`recovery of lost books${note}`, () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'banking-recovery-spec-'));
    // A server of root runs as another user, who must pass through.
    chmodSync(folder, 0o711);
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const kindOf = (name: string) => RECOVERY_KINDS.find((kind) => kind.name === name) as RecoveryKind;
  const run = (kind: RecoveryKind) =>
    runRecovery(kind, {
      ...{ programs: programs as PostgresPrograms, folder, onProgress: () => undefined },
      ...{ seed: 4711, orders: 40, transfers: 0 },
    });
  const recovers = isMissing ? it.skip : it;

  recovers(
    'restores a dump without a deviation, and reports the payments that it lacks',
    async () => {
      const { violations, lostOrders, acknowledged } = await run(kindOf('dump'));

      expect(violations).toEqual([]);
      expect(lostOrders).toBeGreaterThanOrEqual(40);
      expect(acknowledged).toBeGreaterThan(lostOrders);
    },
    RUN_MS,
  );

  recovers(
    'goes on at a synchronous replica without a restart and without a lost order',
    async () => {
      const { violations, lostOrders, lostPayments, seconds } = await run(kindOf('failover-sync'));

      expect({ violations, lostOrders, lostPayments }).toEqual({ violations: [], lostOrders: 0, lostPayments: 0 });
      expect(Object.keys(seconds)).toContain('from the kill to the first order');
    },
    RUN_MS,
  );

  recovers(
    'reports an order that an asynchronous replica lost when it is judged as a synchronous one',
    async () => {
      const replica = kindOf('replica-async');
      const recover: RecoveryKind['recover'] = async (running) => ({
        ...(await replica.recover(running)),
        moment: { keptUntil: Infinity, lostFrom: Infinity },
      });

      const { violations, lostOrders } = await run({ ...replica, recover });

      expect(lostOrders).toBeGreaterThan(0);
      expect(violations).toHaveLength(lostOrders);
      for (const violation of violations) expect(violation).toMatch(/was acknowledged before .+ lost$/);
    },
    RUN_MS,
  );
});
