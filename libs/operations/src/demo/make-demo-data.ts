import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkspaceId } from '@banking/domain';
import { type Books, booksAs } from '@banking/ledger';
import { bind, sqlStatement, type Database } from '@banking/postgres';
import { recordChanges } from '../events/record-changes.js';
import { DEPOSIT_TO, makeMoney } from './money.js';
import { type DemoCells, isComplete, makePeople, markComplete, oneDatabase } from './demo-bank.js';

/** A pending entry of a bank account that only the demo data has, and no RAILS_FILE: no file of it follows, so that it stays pending. */
const STATE_ENTRY = sqlStatement(
  'state_demo_entry',
  `insert into bank_entry (rail, bank_account, identity, direction, amount, currency, status, value_on, creditor_reference, remittance, party)
   values ('demo-bank', 'demo-bank', 'demo', 'credit', 125000, 'EUR', 'pending', current_date, null,
     'Invoice 4711 ' || $1::text,
     '{"name": "Meier Maschinen GmbH", "account": "DE02120300000000202051", "bank": "BYLADEM1001"}')
   on conflict do nothing`,
);

const ANNOUNCE = sqlStatement(
  'announce_demo_deposit',
  `select announce_deposits(array_agg(e.id), array_agg(o.workspace_id), array_agg(o.account_id))
   from bank_entry e cross join account_code o where e.rail = 'demo-bank' and o.code = $1`,
);

/** A deposit that the bank has announced, for the account with a code. Repeatable. */
async function announceDemoDeposit(database: Database, workspaceId: number, code: string): Promise<void> {
  await database.pipeline({ workspaces: [workspaceId] }, [bind(STATE_ENTRY, code), bind(ANNOUNCE, code)]);
}

/** Locks the demo data for one process, with a connection that does nothing else while the work lasts. */
const TRY_LOCK = sqlStatement<{ is_locked: boolean }>(
  'lock_demo_data',
  `select pg_try_advisory_xact_lock(hashtextextended('banking demo world', 0)) as is_locked,
          set_config('idle_in_transaction_session_timeout', '0', true)`,
);

/** How long a process without the lock waits before it tries again. */
const RETRY_MS = 100;

/** The open deployment in which the demo data is made. */
interface DemoTarget {
  readonly books: Books;
  /** Taken on to make it: money enters. Default: the role of the connections. */
  readonly role?: string;
  /** Opens the database as the role that may change the directory. */
  openProvisioning(): Promise<Database>;
  /** Analyzes the tables without current statistics of the planner. */
  refreshStatistics?(): Promise<void>;
  /**
   * Ends the work before it begins, or while another process does it. What has begun is completed, because ids of data made in two parts
   * differ from those that the documentation names.
   */
  readonly signal?: AbortSignal | undefined;
  /** The other databases, if the deployment has several. */
  readonly cells?: DemoCells | undefined;
}

/**
 * Makes the missing steps of the demo data. Needs two connections.
 *
 * Each step is recorded in the table `demo_step`, so an interrupted start continues where it stopped.
 *
 * @returns whether a step was missing
 * @throws the reason of the signal
 */
export async function makeDemoData(target: DemoTarget): Promise<boolean> {
  const asRole = (books: Books) => (target.role === undefined ? books : booksAs(books, target.role));
  const books = asRole(target.books);
  const { cells } = target;
  const demoCells = cells && { ...cells, booksOf: async (id: WorkspaceId) => asRole(await cells.booksOf(id)) };
  if (await isComplete(books.database)) return false;
  const provisioning = await target.openProvisioning();
  try {
    while (!(await isComplete(books.database))) {
      target.signal?.throwIfAborted();
      const isLocked = await books.database.transaction({}, async (tx) => {
        const [[lock]] = await tx.pipeline([bind(TRY_LOCK)] as const);
        if (lock?.is_locked) await makeAll(books, provisioning, demoCells);
        return lock?.is_locked;
      });
      if (!isLocked) await sleep(RETRY_MS);
    }
  } finally {
    await provisioning.end();
  }
  await target.refreshStatistics?.();
  return true;
}

async function makeAll(books: Books, provisioning: Database, several: DemoCells | undefined): Promise<void> {
  const cells = several ?? oneDatabase(books);
  if (await isComplete(books.database)) return;
  const people = await makePeople(books, provisioning, cells);
  await makeMoney(books, people, cells);
  // The files of a bank are read by one database.
  if (!several) await announceDemoDeposit(books.database, people.northwind, DEPOSIT_TO);
  // At once, so that the events of the demo data are there without a worker. The worker records those of other databases.
  while ((await recordChanges(books.database)) > 0);
  await markComplete(books.database);
}
