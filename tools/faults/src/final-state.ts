import { setTimeout as sleep } from 'node:timers/promises';
import { minorUnits } from '@banking/domain';
import { checkIds } from './cells/check-ids.js';
import { checkAppendOnly } from './check-append-only.js';
import { checkMoney } from './check-books.js';
import { checkEvents } from './check-events.js';
import { checkOrders, checkOwnedBalances, checkPayouts, checkReads } from './check-orders.js';
import { checkPages } from './check-pages.js';
import { searchSecrets } from './check-secrets.js';
import { operationsOf } from './history.js';
import { countUnsettled, readBooks } from './read-books.js';
import type { Finish, RunContext } from './scenario.js';
import { FUNDS } from './world.js';

const SETTLE_MS = 150_000;

/** Ends all faults, waits until the payouts are settled, and compares the final state with the log. */
export async function checkFinalState(context: RunContext, finish: Finish): Promise<void> {
  if (context.finishLater !== undefined) return context.finishLater(finish);
  await settle(context, finish.startedAt);
  await compareWithLog(context, finish);
  await proveBooks(context);
}

/** Ends all faults, and waits until the payouts since a time are settled. */
export async function settle({ cluster, tally, onProgress }: RunContext, since: Date): Promise<void> {
  onProgress('ending all faults, and waiting until the payouts are settled');
  await cluster.heal();
  const ownEnds = cluster.members.flatMap(({ process }) => process.ownEnds);
  tally.addViolations(ownEnds.map((detail) => ({ check: 'processes', detail })));
  const until = Date.now() + SETTLE_MS;
  let unsettled = await countUnsettled(cluster.databases, since);
  while (unsettled > 0 && Date.now() < until) {
    await sleep(500);
    unsettled = await countUnsettled(cluster.databases, since);
  }
  if (unsettled > 0)
    tally.addViolations([
      { check: 'payouts', detail: `${unsettled} payouts or payments between cells are not settled` },
    ]);
}

/** Compares the orders of one scenario with what its clients know. */
export async function compareWithLog(context: RunContext, { owned = [], feeOf, check }: Finish): Promise<void> {
  const { cluster, log, tally, prefix, onProgress } = context;
  onProgress('comparing the client log with the database');
  const books = await readBooks(cluster.databases, prefix);
  const operations = operationsOf(log.events);
  const funded = owned.map(({ id }) => ({ id, funded: FUNDS }));
  tally.addViolations([
    ...checkOrders(operations, books),
    ...checkOwnedBalances(funded, operations, books, feeOf ?? (() => minorUnits(0n))),
    ...checkReads(log.events.filter((event) => event.event === 'read')),
    ...checkPayouts(books),
    ...((await check?.(operations, books)) ?? []),
  ]);
}

/** Checks what holds for each database, and the logs of its processes. */
export async function proveBooks({ cluster, tally, prefix, onProgress }: RunContext): Promise<void> {
  onProgress('running banking verify');
  for (const database of cluster.databases) tally.addViolations(await checkMoney(database));
  for (const database of cluster.databases) tally.addViolations(await checkEvents(database));
  const { exitCode, output } = await cluster.verify();
  if (exitCode !== 0) tally.addViolations([{ check: 'books', detail: `banking verify: ${output.slice(-2_000)}` }]);
  for (const database of cluster.databases) tally.addViolations(await checkPages(database));
  const secrets = await searchSecrets(cluster, prefix);
  tally.addViolations(secrets.violations);
  tally.count('searched', secrets.searched);
  for (const database of cluster.databases) {
    const appendOnly = await checkAppendOnly(database);
    tally.count('refusedChanges', appendOnly.refused);
    tally.addViolations(appendOnly.violations);
  }
  if (cluster.hasCells) {
    const ids = await checkIds(cluster.cells.all);
    tally.count('ids', ids.ids);
    tally.addViolations(ids.violations);
  }
}
