import { createHash } from 'node:crypto';
import { openBooks, type Books } from '@banking/ledger';
import { bind, statement, type Bound } from '@banking/postgres';
import { freshDatabase, type FreshDatabase } from '@banking/postgres/testing';
import { makeDemoWorld } from '../demo-world/make-demo-world.js';
import { readDemoWorld, type DemoWorld } from '../demo-world/world.js';
import { loadReference } from '../load-reference.js';

/** A database with its reference data and its books, and a look behind the walls. */
export interface World extends FreshDatabase {
  readonly books: Books;
}

export async function emptyWorld(): Promise<World> {
  const fresh = await freshDatabase();
  await loadReference(fresh.database);
  return { ...fresh, books: openBooks(fresh.database) };
}

/** The same with the demo world in it, and the ids of its people and things. */
export async function demoWorld(): Promise<World & { readonly demo: DemoWorld }> {
  const world = await emptyWorld();
  await makeDemoWorld(world.books);
  return { ...world, demo: (await readDemoWorld(world.database))! };
}

/** Any SQL as a statement of a flight. */
export function sql<Row = Record<string, unknown>>(text: string, ...values: unknown[]): Bound<Row> {
  const name = createHash('sha256').update(text).digest('hex').slice(0, 16);
  return bind(statement<Row>(`spec.${name}`, text), ...values);
}

/** The reason of a refusal, or the message of any other error, or undefined when there was none. */
export async function wordOf(work: Promise<unknown>): Promise<string | undefined> {
  return work.then(
    () => undefined,
    (error: Error & { reason?: string }) => error.reason ?? error.message,
  );
}
