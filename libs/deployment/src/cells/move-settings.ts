import type { AdminSession, ConnectionOptions } from '@banking/postgres';

/** How an operator reaches the databases of the deployment. */
export interface CellAccess {
  /** Of a login that may migrate, publish, subscribe and switch off triggers. @throws ConfigError for a cell that is not configured */
  connectionOf(cell: string): ConnectionOptions;
  /** How the server of one cell reaches another cell, as libpq reads it. It may hold a password. */
  addressOf(cell: string, from: string): string;
}

export interface MoveSettings extends CellAccess {
  readonly workspaceId: number;
  /** The name of the operator, for the record of the move. */
  readonly operator: string;
  readonly log?: ((line: string) => void) | undefined;
  /** Stops the command before its next step, never while the workspace is closed. */
  readonly signal?: AbortSignal | undefined;
}

/** The steps of a move, in their order. Each is recorded at home before it begins. */
export type Step = 'prepare' | 'follow' | 'close' | 'switched' | 'done' | 'abandon';

/** Connections of one run of a command. */
export interface MoveSessions {
  readonly home: AdminSession;
  readonly source: AdminSession;
  readonly target: AdminSession;
}

/** The two cells of a move. */
export interface MoveCells {
  readonly workspaceId: number;
  readonly source: string;
  readonly target: string;
}
