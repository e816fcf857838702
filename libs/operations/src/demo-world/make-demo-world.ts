import { setTimeout as sleep } from 'node:timers/promises';
import type { Books } from '@banking/ledger';
import { bind, statement, type Database } from '@banking/postgres';
import { makeMoney } from './money.js';
import { makePeople } from './people.js';
import { isWhole, markWhole } from './world.js';

/** One starter of several holds the pen, and with it a connection that does nothing else, however long the work takes. */
const TAKE_PEN = statement<{ taken: boolean }>(
  'take_demo_pen',
  `select pg_try_advisory_xact_lock(hashtextextended('banking demo world', 0)) as taken,
          set_config('idle_in_transaction_session_timeout', '0', true)`,
);

/** How long a starter that has no pen waits before it looks again. */
const LOOK_AGAIN_MS = 100;

/**
 * Makes the demo world through the same code that serves customers, or what of it is still missing. Needs two connections.
 *
 * Every step remembers itself in the database transaction that makes it, so a start cut short goes on where it stopped. Steps of the
 * directory are remembered after it.
 *
 * @param openProvisioning called when there is something to make; what it opens is closed at the end
 * @returns whether there was anything to make
 */
export async function makeDemoWorld(books: Books, openProvisioning: () => Promise<Database>): Promise<boolean> {
  if (await isWhole(books.database)) return false;
  const provisioning = await openProvisioning();
  try {
    while (!(await isWhole(books.database))) {
      const isMine = await books.database.transaction({}, async (tx) => {
        const [[pen]] = await tx.flight([bind(TAKE_PEN)] as const);
        if (pen?.taken) await makeAll(books, provisioning);
        return pen?.taken;
      });
      if (!isMine) await sleep(LOOK_AGAIN_MS);
    }
  } finally {
    await provisioning.end();
  }
  return true;
}

async function makeAll(books: Books, provisioning: Database): Promise<void> {
  if (await isWhole(books.database)) return;
  await makeMoney(books, await makePeople(books, provisioning));
  await markWhole(books.database);
}
