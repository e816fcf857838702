import type { BoundStatement, Database, DbTransaction } from '@banking/postgres';

/** A database that counts the statements which are sent to it, without BEGIN, COMMIT and the scope. */
export function countedDatabase(database: Database): { readonly database: Database; readonly names: string[] } {
  const names: string[] = [];
  const count = (bound: readonly BoundStatement<unknown>[] = []) =>
    void names.push(...bound.map(({ statement }) => statement.name));
  const { pipeline, transaction } = database;
  const counted = Object.create(database, {
    pipeline: {
      value: (...args: Parameters<Database['pipeline']>) => {
        count(args[1]);
        return pipeline.apply(database, args);
      },
    },
    transaction: {
      value: (...[scope, work, options]: Parameters<Database['transaction']>) =>
        transaction.call(database, scope, (tx) => work(countedTx(tx, count)), options),
    },
  }) as Database;
  return { database: counted, names };
}

function countedTx(tx: DbTransaction, count: (bound?: readonly BoundStatement<unknown>[]) => void): DbTransaction {
  return {
    pipeline: (bound) => {
      count(bound);
      return tx.pipeline(bound);
    },
    change: (bound) => {
      count(bound);
      return tx.change(bound);
    },
    commit: (bound) => {
      count(bound);
      return tx.commit(bound);
    },
  };
}
