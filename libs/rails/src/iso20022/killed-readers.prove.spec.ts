import { mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type FreshDatabase, freshDatabase } from '@banking/postgres/testing';
import type { FileRailConfig } from '../rail-config.js';
import { cashReport, statusReport } from '../testing/bank-files.js';
import { numbersFrom, runFileWorker } from '../testing/file-worker.js';
import { fileRailConfig } from '../testing/file-rails.js';

const KILLS = 200;
const IBAN = 'DE89370400440532013000';
const KEYS = ['payout-7-1-0123456789ab', 'payout-7-2-0123456789ab', 'payout-7-3-0123456789ab'];

let world: FreshDatabase;
let config: FileRailConfig;

beforeAll(async () => {
  world = await freshDatabase();
});
afterAll(() => world.close());

/** @param killAt the operation at which the worker is killed */
async function read(killAt?: number) {
  const report = await runFileWorker('reading', world, config, { killAt });
  // In place of 30 s until the lease of the killed worker ends.
  if (report === undefined) await world.owner.query('update rail_cursor set leased_until = null');
  return report;
}

async function clear(): Promise<void> {
  await world.owner.query(`
    set session_replication_role = replica;
    delete from rail_event; delete from bank_entry; delete from bank_statement; delete from bank_file; delete from file_payment;
    delete from payment_file; delete from rail_cursor;
    set session_replication_role = default`);
  await world.owner.query(
    `with file as (
       insert into payment_file (rail, message_id, prepared_at, prepared_as) values ($1, 'OUT-1', now(), '00000001') returning id
     )
     insert into file_payment (rail, key, end_to_end_id, amount, currency, content, file_id)
     select $1, k, k, 12345, 'EUR', '{}', f.id from file f, unnest($2::text[]) k`,
    [config.name, KEYS],
  );
}

/** A batch as a bank reports it: statuses, a notification, the statement after it, a stranger's file, and one file under two names. */
function put(): void {
  const [first = '', second = ''] = KEYS;
  const debits = KEYS.map((endToEndId, at) => ({
    ...({ amount: '123.45', direction: 'DBIT', reference: `R${at}`, endToEndId } as const),
  }));
  const credit = { amount: '7.00', reference: 'C1' };
  const back = { amount: '123.45', endToEndId: second, returned: 'AC04', reference: 'B1' };
  const rejected = `<OrgnlPmtInfAndSts><OrgnlPmtInfId>P</OrgnlPmtInfId><TxInfAndSts><OrgnlEndToEndId>${first}</OrgnlEndToEndId><TxSts>ACSP</TxSts></TxInfAndSts></OrgnlPmtInfAndSts>`;
  const notified = cashReport('054', IBAN, [...debits, { ...credit, status: 'PDNG' }]);
  const files = {
    '1.xml': statusReport('OUT-1', '<GrpSts>ACCP</GrpSts>', rejected),
    '2.xml': notified,
    '3.xml': cashReport('053', IBAN, [...debits, credit, back, { amount: '1.00' }, { amount: '1.00' }]),
    '4.xml': cashReport('053', 'NL26VAYB8060476890', []),
    '5.xml': notified,
  };
  mkdirSync(join(config.folder, 'in'), { recursive: true });
  for (const [name, content] of Object.entries(files)) {
    const path = join(config.folder, 'in', name);
    writeFileSync(path, content);
    utimesSync(path, 1_000, 1_000);
  }
}

/** What the database has in the end, without ids and times. */
async function books(): Promise<readonly unknown[][]> {
  const queries = [
    'select key, provider_event, status, reason_code, amount::int, is_return from rail_event order by 1, 2',
    'select identity, direction, amount::int, status, outcome, payout_key, statement_id is not null as listed from bank_entry order by 1',
    'select statement_id, entry_count, entry_sum::int from bank_statement order by id',
    'select name, outcome, message, reason, note from bank_file order by name',
    'select message_id, written_at is not null as written from payment_file',
  ];
  const tables: unknown[][] = [];
  for (const query of queries) tables.push((await world.owner.query<Record<string, unknown>>(query)).rows);
  return tables;
}

const names = () =>
  ['in', 'done', 'refused'].map((folder) =>
    readdirSync(join(config.folder, folder)).filter((name) => !name.endsWith('.reason.txt')),
  );

describe('workers that read files', () => {
  it(`are killed ${KILLS} times at any operation, and the books are those of one that was not`, async () => {
    const random = numbersFrom(33);
    let [kills, rounds, operations] = [0, 0, 0];
    let expected: readonly unknown[][] | undefined;
    while (kills < KILLS) {
      config = fileRailConfig();
      await clear();
      put();
      if (expected === undefined) {
        operations = (await read())?.operations ?? 0;
        expected = await books();
      } else {
        // At most six in a round: others would find an empty folder.
        for (let count = 0; count < 6; count += 1) {
          if ((await read(1 + Math.floor(random() * operations))) === undefined) kills += 1;
        }
        await read();
        expect(await books()).toEqual(expected);
      }
      expect(names()).toEqual([[], ['1.xml', '2.xml', '3.xml', '5.xml'], ['4.xml']]);
      rmSync(config.folder, { recursive: true });
      rounds += 1;
    }
    process.stdout.write(`${kills} kills in ${rounds} rounds of ${operations} operations\n`);
    expect(expected?.map(({ length }) => length)).toEqual([7, 7, 1, 4, 1]);
  }, 1_800_000);
});
