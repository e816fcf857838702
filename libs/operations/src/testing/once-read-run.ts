import type { Database } from '@banking/postgres';

/** Calls `happens` once, after the next run was read and before it is decided. */
export function onceReadRun(database: Database, happens: () => Promise<unknown>): void {
  const read = database.read.bind(database);
  const spy = jest.spyOn(database, 'read').mockImplementation(async (scope, bound) => {
    const row = await read(scope, bound);
    if (bound.statement.name === 'read_run') {
      spy.mockRestore();
      await happens();
    }
    return row as never;
  });
}
