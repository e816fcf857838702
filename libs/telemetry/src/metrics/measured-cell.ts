import type { Database } from '@banking/postgres';

export type MeasuredDatabase = Pick<Database, 'stats' | 'pipeline'>;

/** A database of the process. */
export interface MeasuredCell<D = MeasuredDatabase> {
  /** Its name for the label `cell`; undefined if it is the only one. */
  readonly cell?: string | undefined;
  /** Undefined while it is away. */
  readonly database: D | undefined;
}

/** The label of the values of a database. Without cells, series have no label `cell`. */
export const labelOf = ({ cell }: Pick<MeasuredCell, 'cell'>): { readonly cell?: string } =>
  cell === undefined ? {} : { cell };
