import type { Books } from '@banking/ledger';
import { bind, statement } from '@banking/postgres';
import { makeMoney } from './money.js';
import { makePeople } from './people.js';
import { isWhole, markWhole } from './world.js';

/** Two starters of one database: the second waits until the first has made the world, however slow the machine. */
const WAIT_PATIENTLY = statement(
  'wait_patiently',
  `select set_config('lock_timeout', '120s', true), set_config('statement_timeout', '120s', true), set_config('idle_in_transaction_session_timeout', '120s', true)`,
);
const HOLD_PEN = statement('hold_demo_pen', `select pg_advisory_xact_lock(hashtext('banking demo world'))`);

/**
 * Makes the demo world through the same code that serves customers, or what of it is still missing.
 *
 * Every step remembers itself in the database transaction that makes it, so a start cut short goes on where it stopped.
 */
export async function makeDemoWorld(books: Books): Promise<void> {
  if (await isWhole(books.database)) return;
  await books.database.transaction({}, async (tx) => {
    await tx.flight([bind(WAIT_PATIENTLY), bind(HOLD_PEN)] as const);
    if (await isWhole(books.database)) return;
    const people = await makePeople(books);
    await makeMoney(books, people);
    await markWhole(books.database);
  });
}
