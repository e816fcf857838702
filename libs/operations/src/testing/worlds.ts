import { openBooks, type Books } from '@banking/ledger';
import { Database, PROVISIONING_ROLE, SCHEMA } from '@banking/postgres';
import { freshDatabase, type FreshDatabase, type Preparation } from '@banking/postgres/testing';
import { makeDemoWorld, readDemoWorld, type DemoWorld } from '@banking/demo';
import { loadReference } from '../reference/load-reference.js';

/** A database with its reference data and its books. `owner` bypasses row-level security. */
export interface World extends FreshDatabase {
  readonly books: Books;
  /** The same database as the role that changes the directory. */
  readonly provisioning: Database;
  /** One more connection as that role, for `makeDemoWorld`, which closes it. */
  openProvisioning(): Promise<Database>;
}

const REFERENCE: Preparation = {
  name: 'reference',
  prepare: ({ database }) => loadReference(database),
};

const DEMO: Preparation = {
  name: 'demo',
  async prepare(fresh) {
    await loadReference(fresh.database);
    await makeDemoWorld({ books: openBooks(fresh.database), openProvisioning: () => openProvisioning(fresh) });
  },
};

export async function emptyWorld(preparation = REFERENCE): Promise<World> {
  const fresh = await freshDatabase({}, preparation);
  const provisioning = await openProvisioning(fresh);
  const close = async () => {
    await provisioning.end();
    await fresh.close();
  };
  return {
    ...fresh,
    books: openBooks(fresh.database),
    provisioning,
    openProvisioning: () => openProvisioning(fresh),
    close,
  };
}

/** The same with the demo world in it, and the ids of its people and things. */
export async function demoWorld(): Promise<World & { readonly demo: DemoWorld }> {
  const world = await emptyWorld(DEMO);
  return { ...world, demo: (await readDemoWorld(world.database))! };
}

/** For `makeDemoWorld`, which closes what it opens. */
export function openProvisioning({ connection }: Pick<FreshDatabase, 'connection'>): Promise<Database> {
  return Database.open({ connection, role: PROVISIONING_ROLE, schema: SCHEMA, poolSize: 1 });
}
