import { createHash } from 'node:crypto';
import { bind, sqlStatement, type BoundStatement } from '../sql-statement.js';

/** Any SQL as a statement of a pipeline. */
export function sql<Row = Record<string, unknown>>(text: string, ...values: unknown[]): BoundStatement<Row> {
  const name = createHash('sha256').update(text).digest('hex').slice(0, 16);
  return bind(sqlStatement<Row>(`spec.${name}`, text), ...values);
}
