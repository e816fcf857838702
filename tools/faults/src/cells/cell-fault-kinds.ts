/** How a database is away. */
export const CELL_OUTAGES = ['cell-unreachable', 'cell-killed', 'cell-frozen'] as const;
export type CellOutage = (typeof CELL_OUTAGES)[number];

/** What is killed while a payment between cells is written. */
export const CROSSING_FAULTS = ['kill-worker-at-arrival', 'kill-worker-at-outcome', 'kill-payee-cell'] as const;
export type CrossingFault = (typeof CROSSING_FAULTS)[number];

/** Where the command of a move is killed: a step that home has recorded, or `closed` while the workspace is closed at its cell. */
export const MOVE_POINTS = ['closed', 'switched', 'prepare', 'follow'] as const;
export type MovePoint = (typeof MOVE_POINTS)[number];

/** The kinds of faults of a run with three databases. */
export type CellFault = CellOutage | CrossingFault | 'move' | `kill-move-${MovePoint}`;
