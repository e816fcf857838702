import { bind, sqlStatement, type Database } from '@banking/postgres';

/** How many keys one database transaction reads, and workspaces it locks at most. */
export const BATCH = 1_000;

export const DELETE_EXPIRED = sqlStatement<{ keys_read: number; deleted: number; last_time: string | null }>(
  'delete_expired_keys',
  'select keys_read, deleted, last_time::text as last_time from delete_expired_keys($1, $2)',
);

/** Deletes expired idempotency records of all workspaces, a batch at a time: a chore of the worker. */
export class ExpiredKeys {
  /** Where the last batch ended. Index entries of deleted records stay until a vacuum, and are not read again. */
  private from = '-infinity';

  constructor(private readonly database: Database) {}

  /** Reads one batch and deletes what may be deleted of it. @returns 0 at the end, if the last batch deleted none. @throws Refusal `unavailable` */
  async deleteBatch(): Promise<number> {
    const row = await this.database.read({}, bind(DELETE_EXPIRED, BATCH, this.from));
    const goesOn = row?.keys_read === BATCH && row.last_time !== this.from;
    this.from = goesOn ? row.last_time! : '-infinity';
    return goesOn ? BATCH : (row?.deleted ?? 0);
  }
}
