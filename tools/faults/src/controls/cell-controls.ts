import type { Control } from './control.js';

const ARRIVALS = 'libs/operations/src/crossings/arrivals.ts';
const SETTLE = 'libs/operations/src/crossings/settle-crossing.spec.ts';
const CELLS = 'libs/deployment/src/cells/cells.spec.ts';
const MOVES = 'libs/deployment/src/cells/move-interruptions.spec.ts';
const CROSSING_RUN = { run: { promise: 'P40', seed: 23, minutes: 0.6 } } as const;
/** What a process of a run has compiled. */
const OPERATIONS = ['libs/operations'] as const;

/** Faults in deployments with several databases. */
export const CELL_CONTROLS: readonly Control[] = [
  {
    name: 'arrival-without-key',
    promise: 'P40',
    plants: 'A payment that is submitted to the database of the payee twice arrives twice.',
    changes: [
      {
        file: 'libs/operations/migrations/0048-crossings.sql',
        from: '  primary key (workspace_id, origin_workspace_id, origin_transaction_id, key_nonce),\n',
        to: '',
      },
      {
        file: ARRIVALS,
        from: '        if (earlier) return isSame',
        to: "        if (earlier && key === '') return isSame",
      },
    ],
    compiles: OPERATIONS,
    caughtBy: [{ spec: SETTLE, test: 'an arrival is one for its key' }, CROSSING_RUN],
  },
  {
    name: 'refusal-not-recorded',
    promise: 'P40',
    plants: 'The database of the payee does not record that it has refused a payment.',
    changes: [
      {
        file: ARRIVALS,
        from: 'insertArrivals([...decided.values()])',
        to: "insertArrivals([...decided.values()].filter(({ outcome }) => outcome === 'accepted'))",
      },
    ],
    compiles: OPERATIONS,
    caughtBy: [
      {
        spec: SETTLE,
        test: 'an arrival is refused for an account that does not exist, in another currency, or elsewhere, and stays refused',
      },
      CROSSING_RUN,
    ],
  },
  {
    name: 'completed-before-arrival',
    promise: 'P40',
    plants: 'A payment is recorded as completed before it is submitted to the database of the payee.',
    changes: [
      {
        file: 'libs/operations/src/crossings/settle-crossing.ts',
        from: 'await recorder.record(claim, await port.arrive(crossing));',
        to: "await recorder.record(claim, 'accepted');\n      await port.arrive(crossing);",
      },
    ],
    compiles: OPERATIONS,
    caughtBy: [CROSSING_RUN],
  },
  {
    name: 'old-cell-answers',
    promise: 'P41',
    plants: 'A database serves a workspace that has moved to another one.',
    changes: [
      {
        file: 'libs/operations/migrations/0047-cells.sql',
        from: '  if not is_open then',
        to: '  if not is_open and ids is null then',
      },
    ],
    compiles: OPERATIONS,
    caughtBy: [
      {
        spec: CELLS,
        test: 'a database never answers for a workspace that has left it, also if a process remembers the former place',
      },
      { run: { promise: 'P41', seed: 23, minutes: 0.6 } },
    ],
  },
  {
    name: 'closed-without-waiting',
    promise: 'P41',
    plants: 'A workspace is switched to another database while an order is still written in the former one.',
    changes: [
      {
        file: 'libs/deployment/src/cells/switch-workspace.ts',
        from: '  if (pids.length > 0) return',
        to: '  if (pids.length > 1_000) return',
      },
    ],
    caughtBy: [
      { spec: MOVES, test: 'a move whose workspace cannot be closed in time leaves it open, and continues later' },
    ],
  },
  {
    name: 'abandoned-move-stays-closed',
    promise: 'P42',
    plants: 'A workspace whose move is abandoned stays closed.',
    changes: [
      {
        file: 'libs/deployment/src/cells/move-workspace.ts',
        from: '  await withCellOf(options, move.source, move.workspaceId, (source) => reopenWorkspace(source, move.workspaceId));\n',
        to: '  await withCellOf(options, move.source, move.workspaceId, () => Promise.resolve());\n',
      },
    ],
    caughtBy: [{ spec: MOVES, test: 'is abandoned without a trace' }],
  },
  {
    name: 'ids-of-two-cells',
    promise: 'P39',
    plants: 'The sequences of all databases give the same ids.',
    changes: [
      {
        file: 'libs/deployment/src/cells/step-sequences.ts',
        from: '  const first = firstAbove(last > floor ? last : floor, number);',
        to: '  const first = firstAbove(last > floor ? last : floor, 0 * number);',
      },
    ],
    caughtBy: [
      {
        spec: 'libs/deployment/src/cells/add-cell.spec.ts',
        test: 'the ids of a cell have its number as their remainder, of each sequence',
      },
    ],
  },
  {
    name: 'copies-of-home-not-used',
    promise: 'P38',
    plants: 'No user is known while home is away.',
    changes: [
      {
        file: 'libs/deployment/src/cells/cells-directory.ts',
        from: 'export const COPIES_VALID_MS = 15 * 60_000;',
        to: 'export const COPIES_VALID_MS = 0;',
      },
    ],
    caughtBy: [
      {
        spec: CELLS,
        test: 'home that is away leaves users and workspaces of other cells served from the copies, for the stated time',
      },
    ],
  },
  {
    name: 'requests-ask-all-cells',
    promise: 'P37',
    plants:
      'A request asks every database where its workspace is, so one that is away makes all workspaces unavailable.',
    changes: [
      {
        file: 'libs/deployment/src/cells/places.ts',
        from: '    const sources = [this.home, ...this.copies()];\n',
        to: '    const sources = [this.home, ...this.copies()];\n    for (const each of sources) await each.ping();\n',
      },
      {
        file: 'libs/deployment/src/cells/call-cell.ts',
        from: 'const place = places.known(workspaceId) ?? (await places.cellOf(workspaceId));',
        to: 'const place = await places.readAgain(workspaceId);',
      },
    ],
    caughtBy: [{ spec: CELLS, test: 'a cell that is away makes its own workspaces unavailable, and no other' }],
  },
];
