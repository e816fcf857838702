import { createHash } from 'node:crypto';
import { openBooks, type Books } from '@banking/ledger';
import { bind, Database, PROVISIONING_ROLE, SCHEMA, statement, type Bound } from '@banking/postgres';
import { freshDatabase, type FreshDatabase } from '@banking/postgres/testing';
import { makeDemoWorld } from '../demo-world/make-demo-world.js';
import { readDemoWorld, type DemoWorld } from '../demo-world/world.js';
import { loadReference } from '../load-reference.js';

/** A database with its reference data and its books, and a look behind the walls. */
export interface World extends FreshDatabase {
  readonly books: Books;
  /** The same database as the role that changes the directory. */
  readonly provisioning: Database;
}

export async function emptyWorld(): Promise<World> {
  const fresh = await freshDatabase();
  await loadReference(fresh.database);
  const provisioning = await openProvisioning(fresh);
  const close = async () => {
    await provisioning.end();
    await fresh.close();
  };
  return { ...fresh, books: openBooks(fresh.database), provisioning, close };
}

/** The same with the demo world in it, and the ids of its people and things. */
export async function demoWorld(): Promise<World & { readonly demo: DemoWorld }> {
  const world = await emptyWorld();
  await makeDemoWorld(world.books, () => openProvisioning(world));
  return { ...world, demo: (await readDemoWorld(world.database))! };
}

/** For `makeDemoWorld`, which closes what it opens. */
export function openProvisioning({ connection }: FreshDatabase): Promise<Database> {
  return Database.open({ connection, role: PROVISIONING_ROLE, schema: SCHEMA, poolSize: 1 });
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
