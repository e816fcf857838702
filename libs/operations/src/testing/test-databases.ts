import { type Books, openBooks } from '@banking/ledger';
import { type Database, OPERATOR_ROLE, PROVISIONING_ROLE, SCHEMA } from '@banking/postgres';
import {
  freshDatabase,
  type FreshDatabase,
  openDatabase,
  type Preparation,
  type Wire,
} from '@banking/postgres/testing';
import { type DemoIds, makeDemoData, readDemoIds } from '../demo/index.js';
import { missingReference, recordReference } from '../reference/reference-changes.js';

/** A database with its reference data and its books. `owner` bypasses row-level security. */
export interface TestDatabase extends FreshDatabase {
  readonly books: Books;
  /** The same database as the role that changes the directory. */
  readonly provisioning: Database;
  /** One more connection as that role, for `makeDemoData`, which closes it. */
  openProvisioning(): Promise<Database>;
}

const REFERENCE: Preparation = {
  name: 'reference',
  prepare: loadReference,
};

const DEMO: Preparation = {
  name: 'demo',
  async prepare(fresh) {
    await loadReference(fresh);
    await makeDemoData({ books: openBooks(fresh.database), openProvisioning: () => openProvisioning(fresh) });
  },
};

/** What a new sandbox has. */
export async function loadReference({ connection }: Pick<FreshDatabase, 'connection'>): Promise<void> {
  const database = await openDatabase({ connection, role: OPERATOR_ROLE, schema: SCHEMA, poolSize: 1 });
  try {
    const missing = await missingReference(database, { isSandbox: true, release: 'this release' });
    for (const change of missing) await recordReference(database, change);
  } finally {
    await database.end();
  }
}

export async function emptyDatabase(preparation = REFERENCE): Promise<TestDatabase> {
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

/** A database with reference data, books and demo data, and the ids of the demo data. */
export async function demoDatabase(): Promise<TestDatabase & { readonly demo: DemoIds }> {
  const world = await emptyDatabase(DEMO);
  return { ...world, demo: (await readDemoIds(world.database))! };
}

/** For `makeDemoData`, which closes what it opens. */
function openProvisioning({ connection }: Pick<FreshDatabase, 'connection'>): Promise<Database> {
  return openDatabase({ connection, role: PROVISIONING_ROLE, schema: SCHEMA, poolSize: 1 });
}

/** Cuts the connection once, at the first bytes that contain the text. */
export function cutOnce(
  wire: Wire,
  direction: 'toServer' | 'toClient',
  text: string,
  onCut: () => unknown = () => undefined,
): void {
  let isCut = false;
  wire[direction] = (bytes) => {
    if (isCut || !bytes.includes(text)) return { pass: bytes };
    isCut = true;
    void onCut();
    return { isCut: true };
  };
}

/** Cuts the connection at the first response that contains the text, and every connection after it. */
export function cutAll(wire: Wire, text: string): void {
  let isCut = false;
  wire.toClient = (bytes) => {
    isCut ||= bytes.includes(text);
    return isCut ? { isCut } : { pass: bytes };
  };
}

/** Restores the connection. */
export function heal(wire: Wire): void {
  wire.toServer = (bytes) => ({ pass: bytes });
  wire.toClient = (bytes) => ({ pass: bytes });
}
