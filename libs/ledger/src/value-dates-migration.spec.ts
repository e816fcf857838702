import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { minorUnits } from '@banking/domain';
import { OWNER_ROLE } from '@banking/postgres';
import { LEDGER_MIGRATIONS } from './books.js';
import { payment, proposal } from './testing/proposals.js';
import { account, NORTH, openWorld, posted, SOUTH, type World } from './testing/world.js';
import { verifyBooks } from './verify-books.js';

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

/** What the migration makes, in an order of its own. */
async function kept() {
  const tables = [
    'select * from value_date_run order by workspace_id, account_id, first_version',
    'select * from back_valued_total order by workspace_id, account_id, value_date',
    'select workspace_id, id, value_date from account order by id',
  ];
  const results = [];
  for (const text of tables) results.push((await world.owner.query<Record<string, unknown>>(text)).rows);
  return results;
}

it('migrates the value dates of existing books as the trigger would have written them', async () => {
  for (const workspaceId of [NORTH, SOUTH]) {
    const [ada, bob] = [await account(world, '9.00', { workspaceId }), await account(world, '9.00', { workspaceId })];
    for (const day of [25, 20, 20, 22, 30, 28, 28, 1]) {
      const [entry] = payment(ada, bob, minorUnits(BigInt(day)), { workspaceId }).entries;
      await posted(world, proposal(entry!.legs, { workspaceId, valueDate: `2027-01-${String(day).padStart(2, '0')}` }));
    }
  }
  await account(world);
  const written = await kept();
  expect(written.map(({ length }) => length > 4)).toEqual([true, true, true]);
  const file = (await readdir(LEDGER_MIGRATIONS)).find((name) => name.endsWith('-value-dates.sql'))!;

  await world.owner.query(`set role ${OWNER_ROLE}`);
  await world.owner.query('drop table value_date_run, back_valued_total; alter table account drop column value_date');
  await world.owner.query(await readFile(join(LEDGER_MIGRATIONS, file), 'utf8'));
  await world.owner.query('reset role');

  expect(await kept()).toEqual(written);
  expect((await verifyBooks(world.database, [NORTH, SOUTH])).findings).toEqual([]);
  const { rows } = await world.owner.query(
    `select bool_and(relforcerowsecurity) as forced from pg_class where relname in ('account', 'transaction', 'transfer')`,
  );
  expect(rows).toEqual([{ forced: true }]);
});
