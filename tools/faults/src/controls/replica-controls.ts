import type { Control } from './control.js';

const POSITION = 'libs/postgres/src/wal-position.ts';
const READS = 'libs/postgres/src/replica-reads.spec.ts';

/** Faults in lists that are read on a replica. */
export const REPLICA_CONTROLS: readonly Control[] = [
  {
    name: 'replica-position-ignored',
    promise: 'P8',
    plants: 'A list is read on the replica, however far the replica is behind.',
    changes: [
      {
        file: POSITION,
        from: 'isCurrent: check.is_current === true,',
        to: 'isCurrent: check.is_current !== undefined,',
      },
    ],
    compiles: ['libs/postgres'],
    caughtBy: [
      { spec: READS, test: 'a list shows an acknowledged write while the replay is paused' },
      { run: { promise: 'P8', seed: 22, minutes: 1 } },
    ],
  },
  {
    name: 'replica-ahead-of-primary',
    promise: 'P8',
    plants: 'A list contains what the replica shows and the primary does not show yet.',
    changes: [
      {
        file: POSITION,
        from: '  if (xmax < seen.xmax) return false;',
        to: '  if (xmax < seen.xmax || xmax > 0n) return true;',
      },
    ],
    caughtBy: [{ spec: READS, test: 'a list shows a commit only once the primary shows it' }],
  },
  {
    name: 'replica-of-another-timeline',
    promise: 'P8',
    plants: 'A list is read on a replica of the server from before a failover.',
    changes: [
      {
        file: 'libs/postgres/src/replica-identity.ts',
        from: '  if (state.timeline !== primary.timeline) {',
        to: "  if (state.timeline === '') {",
      },
    ],
    caughtBy: [
      {
        spec: READS,
        test: 'a list is read on the primary if the replica follows the server from before a failover',
      },
    ],
  },
];
