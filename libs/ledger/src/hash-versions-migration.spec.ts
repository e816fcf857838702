import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { OWNER_ROLE } from '@banking/postgres';
import { bookedTransactions } from './booked-transactions.js';
import { LEDGER_MIGRATIONS } from './books.js';
import { hashOf } from './hash-of.js';
import { payout } from './testing/proposals.js';
import { account, euros, NORTH, openWorld, plant, posted, type World } from './testing/world.js';
import { verifyBooks } from './verify-books.js';

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

const bookedNow = async () => {
  const all = [];
  for await (const range of bookedTransactions(world.database, NORTH)) all.push(...range);
  return all;
};

it('keeps the hashes of existing transactions, and new ones continue their chain in version 2', async () => {
  const ada = await account(world, '100.00');
  const [funding] = await bookedNow();
  const content = { ...funding!.content, hashVersion: 1 as const };
  const file = (await readdir(LEDGER_MIGRATIONS)).find((name) => name.endsWith('-hash-versions.sql'))!;
  await world.owner.query(
    `alter table transaction drop column hash_version, drop column order_digest, drop column conversion_digest;
     alter table transfer drop column recipient_digest`,
  );
  await plant(world, 'update transaction set hash = $1', [hashOf(content)]);
  await plant(world, 'update account set head = $2 where id = $1', [ada, hashOf(content)]);

  await world.owner.query(`set role ${OWNER_ROLE}`);
  await world.owner.query(await readFile(join(LEDGER_MIGRATIONS, file), 'utf8'));
  await world.owner.query('reset role');
  await posted(world, payout(ada, euros('10.00'), euros('0.50')));

  expect((await bookedNow()).map(({ content: { hashVersion } }) => hashVersion)).toEqual([1, 2]);
  expect((await verifyBooks(world.database, [NORTH])).findings).toEqual([]);
});
