import { createHash } from 'node:crypto';
import {
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
  mkdirSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { uetrOf } from '@banking/payouts';
import { freshDatabase, type FreshDatabase, testOrProve, until } from '@banking/postgres/testing';
import type { FileRailConfig } from '../rail-config.js';
import { cashReport, type SampleEntry, statusReport } from '../testing/bank-files.js';
import { BankFiles } from './receive-files.js';

let world: FreshDatabase;
let folder: string;

const OURS = 'DE89370400440532013000';
const SECOND = 'GB33BUKB20201555555555';
const KEY = 'order-1-2-0123456789ab';

const clear = `
  set session_replication_role = replica;
  delete from rail_event; delete from bank_entry; delete from bank_statement; delete from bank_file; delete from file_payment;
  delete from payment_file; delete from rail_cursor;
  set session_replication_role = default`;

beforeAll(async () => {
  world = await freshDatabase();
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bank-files-'));
  mkdirSync(join(folder, 'in'));
});
afterEach(async () => {
  rmSync(folder, { recursive: true });
  await world.owner.query(clear);
});
afterAll(() => world.close());

const config = (): FileRailConfig => ({
  ...{ name: 'bank', kind: 'iso20022', folder, isTestMode: true },
  accounts: [
    { currency: 'EUR', id: OURS, isIban: true, bic: 'COBADEFFXXX', holder: 'Harbour Ltd' },
    { currency: 'GBP', id: SECOND, isIban: true, bic: 'BUKBGB22XXX', holder: 'Harbour Ltd' },
  ],
});
const LONG_AGO = 1_000;
const put = (name: string, content: string | Uint8Array, isYoung = false) => {
  const path = join(folder, 'in', name);
  writeFileSync(path, content);
  if (!isYoung) utimesSync(path, LONG_AGO, LONG_AGO);
};
const receive = () => new BankFiles(world.database, config()).readNext();
/** By a rail of another name, with another folder: the files are read again. */
const receiveAs = async (name: string) => {
  const other = mkdtempSync(join(tmpdir(), 'bank-files-'));
  cpSync(join(folder, 'done'), join(other, 'in'), { recursive: true, preserveTimestamps: true });
  const taken = await new BankFiles(world.database, { ...config(), name, folder: other }).readNext();
  rmSync(other, { recursive: true });
  return taken;
};
const rowsOf = async <T extends object>(query: string) => (await world.owner.query<T>(query)).rows;
const entries = () =>
  rowsOf<{ amount: bigint; status: string; outcome: string | null }>(
    'select direction, amount::int, currency, status, outcome, payout_key from bank_entry order by bank_account, identity',
  );
const reasons = () => rowsOf<{ reason: string }>("select reason from bank_file where outcome = 'refused'");
const events = () => rowsOf('select key, status, reason_code, is_return from rail_event order by id');
const seeFolder = () => ['in', 'done', 'refused'].map((name) => readdirSync(join(folder, name)));

async function paid(messageId = 'OUT-1', keys: readonly string[] = [KEY]): Promise<void> {
  const { rows } = await world.owner.query<{ id: string }>(
    `insert into payment_file (rail, message_id, prepared_at, prepared_as) values ('bank', $1, now(), '00000001') returning id`,
    [messageId],
  );
  for (const key of keys) {
    await world.owner.query(
      `insert into file_payment (rail, key, end_to_end_id, amount, currency, content, file_id)
       values ('bank', $1, $1, 12345, 'EUR', '{}', $2)`,
      [key, rows[0]?.id],
    );
  }
}

describe('a folder that cannot be made', () => {
  it('is an error, and not a call without end', async () => {
    // The kernel refuses every folder there, as if a folder above it were missing.
    const files = new BankFiles(world.database, { ...config(), folder: '/proc/banking' });

    await expect(files.readNext()).rejects.toMatchObject({ code: expect.any(String) as string });
  });
});

describe('a bank account under another rail', () => {
  it('keeps its entries and statements when a rail with another name reads its files again', async () => {
    await paid();
    const ours = { amount: '123.45', endToEndId: KEY };
    put(
      '1.xml',
      cashReport('054', OURS, [{ amount: '7.77', reference: 'REF1' }, { amount: '1.00' }, { amount: '1.00' }]),
    );
    put('2.xml', cashReport('053', OURS, [{ ...ours, direction: 'DBIT', reference: 'REF2' }]));
    put('3.xml', cashReport('054', OURS, [{ ...ours, returned: 'AC04', reference: 'REF3' }], { id: 'S2' }));
    await receive();
    const before = [await entries(), await events()];

    expect(await receiveAs('renamed')).toBe(3);

    expect([await entries(), await events()]).toEqual(before);
    expect(await rowsOf('select from bank_statement')).toHaveLength(1);
  });

  it('has one entry for a credit that its earlier rail read in a notification, and the new one in a statement', async () => {
    put('1.xml', cashReport('054', OURS, [{ amount: '7.77', reference: 'REF1', status: 'PDNG' }]));
    await receive();
    writeFileSync(join(folder, 'done', '1.xml'), cashReport('053', OURS, [{ amount: '7.77', reference: 'REF1' }]));

    await receiveAs('renamed');

    expect(await entries()).toMatchObject([{ amount: 777, status: 'booked' }]);
  });

  it('knows the payments that left by its earlier rail, which gets their events', async () => {
    await paid();
    mkdirSync(join(folder, 'done'));
    const ours = { amount: '123.45', endToEndId: KEY };
    const back = { ...ours, returned: 'AC04', reference: 'REF3' };
    writeFileSync(
      join(folder, 'done', '1.xml'),
      cashReport('053', OURS, [{ ...ours, direction: 'DBIT', reference: 'REF2' }, back]),
    );

    await receiveAs('renamed');

    expect(await rowsOf('select outcome, payout_key from bank_entry order by outcome')).toEqual([
      { outcome: 'payout', payout_key: KEY },
      { outcome: 'return', payout_key: KEY },
    ]);
    expect(await rowsOf('select rail, status, is_return from rail_event order by id')).toEqual([
      { rail: 'bank', status: 'ACSC', is_return: false },
      { rail: 'bank', status: 'RJCT', is_return: true },
    ]);
  });
});

describe('a file of a bank', () => {
  it('is stored, and moves to done', async () => {
    put(
      'a.xml',
      cashReport('053', OURS, [
        { amount: '12.50', reference: 'REF1' },
        { amount: '1.00', direction: 'DBIT' },
      ]),
    );
    expect(await receive()).toBe(1);
    expect(await entries()).toMatchObject([
      { direction: 'debit', amount: 100, status: 'booked', outcome: null },
      { direction: 'credit', amount: 1_250, status: 'booked', outcome: null },
    ]);
    expect(await rowsOf('select entry_count, entry_sum::int, opening_balance::int from bank_statement')).toEqual([
      { entry_count: 2, entry_sum: 1_150, opening_balance: 10_000 },
    ]);
    expect(seeFolder()).toEqual([[], ['a.xml'], []]);
    expect(await receive()).toBe(0);
  });

  it('does nothing the second time, under any name', async () => {
    const file = cashReport('053', OURS, [{ amount: '12.50' }, { amount: '12.50' }]);
    put('a.xml', file);
    await receive();
    put('a.xml', file);
    put('b.xml', `${file}\n`);
    expect(await receive()).toBe(2);
    expect(await entries()).toHaveLength(2);
    expect(await rowsOf('select from bank_statement')).toHaveLength(1);
    expect(seeFolder()).toEqual([[], ['a.xml', 'a.xml.2', 'b.xml'], []]);
  });

  it('is stored again with a statement of the same name that has other entries', async () => {
    put('a.xml', cashReport('053', OURS, [{ amount: '12.50', reference: 'REF1' }]));
    await receive();
    const more = [{ amount: '12.50', reference: 'REF1' }, { amount: '1.00' }];
    put('b.xml', cashReport('053', OURS, more));
    await receive();
    put('c.xml', `${cashReport('053', OURS, more)} `);
    await receive();

    expect(await rowsOf('select entry_count from bank_statement order by id')).toEqual([
      { entry_count: 1 },
      { entry_count: 2 },
    ]);
    expect(
      await rowsOf('select distinct s.entry_count from bank_entry e join bank_statement s on s.id = e.statement_id'),
    ).toEqual([{ entry_count: 1 }]);
  });

  it('is done if another worker has stored it since this one looked for it', async () => {
    const file = cashReport('053', OURS, [{ amount: '12.50' }]);
    put('a.xml', file);
    await world.owner.query('begin');
    await world.owner.query(
      `insert into bank_file (rail, name, digest, message, outcome) values ('bank', 'a.xml', $1, 'camt.053', 'read')`,
      [createHash('sha256').update(file).digest()],
    );
    const received = receive();
    await until(async () => {
      const waiting = `select from pg_locks where not granted and pid in (select pid from pg_stat_activity where datname = current_database())`;
      return (await rowsOf(waiting)).length > 0;
    });
    await world.owner.query('commit');

    expect(await received).toBe(1);
    expect(seeFolder()).toEqual([[], ['a.xml'], []]);
    expect(await rowsOf('select outcome from bank_file')).toEqual([{ outcome: 'read' }]);
    expect(await entries()).toEqual([]);
  });

  it('has one statement if it gives the same one twice, with all entries', async () => {
    put(
      'a.xml',
      cashReport('053', OURS, [{ amount: '12.50', reference: 'REF1' }]).replace(
        /<Stmt>.*<\/Stmt>/s,
        (statement) => statement + statement.replaceAll('REF1', 'REF2'),
      ),
    );
    await receive();
    expect(seeFolder()).toEqual([[], ['a.xml'], []]);
    expect(await rowsOf('select entry_count from bank_statement')).toEqual([{ entry_count: 1 }]);
    expect(
      await rowsOf(
        'select e.bank_reference from bank_entry e join bank_statement s on s.id = e.statement_id order by e.bank_reference',
      ),
    ).toEqual([{ bank_reference: 'REF1' }, { bank_reference: 'REF2' }]);
  });

  it('leaves nothing to be checked when it is committed: that would be one statement for all its entries', async () => {
    const deferred = `select conname from pg_constraint where condeferrable and conrelid::regclass::text like 'bank%'`;
    expect(await rowsOf(deferred)).toEqual([]);
  });

  it('does not change once it is stored, nor its statements', async () => {
    put('a.xml', cashReport('053', OURS, [{ amount: '12.50' }]));
    await receive();
    for (const change of [
      `update bank_file set note = 'changed'`,
      'update bank_statement set entry_sum = 1',
      'delete from bank_file',
    ]) {
      await expect(world.owner.query(change)).rejects.toMatchObject({ code: 'BK003' });
    }
  });

  it('books an entry once that is notified, reported and listed', async () => {
    const entry = { amount: '12.50', reference: 'REF1' };
    put('1.xml', cashReport('054', OURS, [{ ...entry, status: 'PDNG' }]));
    await receive();
    expect(await entries()).toMatchObject([{ status: 'pending' }]);
    put('2.xml', cashReport('052', OURS, [entry]));
    put('3.xml', cashReport('053', OURS, [entry]));
    await receive();
    expect(await entries()).toMatchObject([{ status: 'booked', amount: 1_250 }]);
    expect(await rowsOf('select from bank_entry where statement_id is not null')).toHaveLength(1);
  });

  it('books an entry of the next year that has the same reference', async () => {
    put('1.xml', cashReport('053', OURS, [{ amount: '5.00', reference: 'R1' }], { day: '2025-11-26' }));
    put('2.xml', cashReport('053', OURS, [{ amount: '5.00', reference: 'R1' }], { day: '2026-11-26' }));
    await receive();
    expect(await entries()).toHaveLength(2);
  });

  it('is refused if it gives another amount for a reference of the same day', async () => {
    put('1.xml', cashReport('054', OURS, [{ amount: '5.00', reference: 'R1' }]));
    put('2.xml', cashReport('053', OURS, [{ amount: '50.00', reference: 'R1' }]));
    await receive();
    expect(await reasons()).toEqual([{ reason: expect.stringContaining('another amount than an earlier file') }]);
    expect(await entries()).toHaveLength(1);
  });

  it('is refused with the entry that has another amount, among others, and with the file that gave the first one', async () => {
    put(
      'first "one".xml',
      cashReport('054', OURS, [
        { amount: '1.00', reference: 'G"0' },
        { amount: '4.00', reference: 'G3' },
      ]),
    );
    const good = { amount: '2.00', reference: 'G1' };
    put(
      'second.xml',
      cashReport('053', OURS, [good, { amount: '1.50', reference: 'G"0' }, { amount: '3.00', reference: 'G3' }]),
    );
    await receive();

    const reason =
      'An entry has another amount than an earlier file gave for the same reference and day: "G\\"0" has 1.50 EUR, and had 1.00 EUR in ' +
      '"first \\"one\\".xml". See statement 1 of the message, entry 2.';
    expect(await reasons()).toEqual([{ reason }]);
    expect(readFileSync(join(folder, 'refused', 'second.xml.reason.txt'), 'utf8')).toBe(`${reason}\n`);
  });

  it('is refused with its entry although the file and the reference have long names', async () => {
    const reference = 'R'.repeat(100);
    put(`${'n'.repeat(240)}.xml`, cashReport('054', OURS, [{ amount: '1.00', reference }]));
    put('second.xml', cashReport('053', OURS, [{ amount: '90071992547409.91', reference }]));
    await receive();

    expect(await reasons()).toEqual([
      { reason: expect.stringMatching(/ See statement 1 of the message, entry 1[.]$/) },
    ]);
  });

  const detail = (reference: string, amount: string) =>
    `<TxDtls><Refs><AcctSvcrRef>${reference}</AcctSvcrRef></Refs><Amt Ccy="EUR">${amount}</Amt></TxDtls>`;
  const details = detail('D1', '10.00') + detail('D2', '15.00');
  const total: SampleEntry = { amount: '25.00', reference: 'BATCH', details: '<Btch><NbOfTxs>2</NbOfTxs></Btch>' };
  it.each([
    ['its details first', [{ ...total, details }], [total]],
    ['its total first', [total], [{ ...total, details }]],
    ['a total that does not say so', [{ ...total, details }], [{ ...total, details: '' }]],
  ])('books a batch once, with %s', async (_, first, second) => {
    put('1.xml', cashReport('054', OURS, first));
    put('2.xml', cashReport('053', OURS, second));
    await receive();
    const open = (await entries()).filter(({ outcome }) => outcome === null);
    expect(open).toMatchObject([{ amount: 1_000 }, { amount: 1_500 }]);
  });

  it('says that a payment left and came back', async () => {
    await paid();
    put('1.xml', cashReport('054', OURS, [{ amount: '123.45', direction: 'DBIT', endToEndId: KEY }]));
    put('2.xml', cashReport('053', OURS, [{ amount: '123.45', endToEndId: KEY, returned: 'AC04' }]));
    put('3.xml', cashReport('053', OURS, [{ amount: '100.00', endToEndId: KEY, returned: 'AC04' }], { id: 'S2' }));
    await receive();
    expect(await events()).toEqual([
      { key: KEY, status: 'ACSC', reason_code: null, is_return: false },
      { key: KEY, status: 'RJCT', reason_code: 'AC04', is_return: true },
    ]);
    expect((await entries()).map(({ outcome }) => outcome).toSorted()).toEqual(['payout', 'return', null].toSorted());
  });

  it('is left for later while it may still be written, and refused after that', async () => {
    const file = cashReport('053', OURS, [{ amount: '1.00' }]);
    put('a.xml', file.slice(0, -20), true);
    expect(await receive()).toBe(0);
    put('a.xml', file, true);
    expect(await receive()).toBe(1);
    put('b.xml', file.slice(0, -20));
    expect(await receive()).toBe(1);
    expect(seeFolder()).toEqual([[], ['a.xml'], ['b.xml', 'b.xml.reason.txt']]);
    expect(readFileSync(join(folder, 'refused', 'b.xml.reason.txt'), 'utf8')).toContain('ends before its document');
  });

  const one = cashReport('053', OURS, [{ amount: '1.00', reference: 'R1' }]);
  it.each([
    ['an empty file', '', 'empty'],
    ['another message', one.replaceAll('camt.053', 'camt.029'), 'not a pain.002, camt.052'],
    ['an unknown version', one.replace('053.001.08', '053.001.14'), 'version that is not read'],
    ['a file of another bank', cashReport('053', 'NL26VAYB8060476890', []), 'for another customer'],
    ['another currency', one.replaceAll('"EUR"', '"USD"'), 'another currency'],
    [
      'a negative amount',
      one.replace('>1.00', '>-1.00'),
      'not a decimal number of zero or more. See statement 1 of the message, entry 1',
    ],
    ['a fraction of a cent', one.replace('>1.00', '>1.001'), 'more decimals'],
    ['no amount', one.replace(/<Ntry><Amt.*?<\/Amt>/, '<Ntry>'), 'Amt is missing'],
    ['a date that is none', one.replace('<BookgDt><Dt>2026-11-26', '<BookgDt><Dt>2026-02-30'), 'BookgDt is not a date'],
    ['a message with two headers', one.replace(/<GrpHdr>.*?<\/GrpHdr>/s, '$&$&'), 'GrpHdr is there twice'],
    [
      'a status report with two headers',
      statusReport('NOT-OURS', '<GrpSts>RJCT</GrpSts>', '').replace(/<GrpHdr>.*?<\/GrpHdr>/s, '$&$&'),
      'GrpHdr is there twice',
    ],
    ['a status about another', statusReport('NOT-OURS', '<GrpSts>RJCT</GrpSts>', ''), 'not ours'],
  ])('is refused as %s', async (_, content, reason) => {
    put('a.xml', content);
    expect(await receive()).toBe(1);
    expect(await reasons()).toEqual([{ reason: expect.stringContaining(reason) }]);
    expect(await entries()).toEqual([]);
    expect(seeFolder()[2]).toEqual(['a.xml', 'a.xml.reason.txt']);
  });

  it('refuses a symbolic link, and passes over what is not complete', async () => {
    symlinkSync('/etc/hostname', join(folder, 'in', 'link.xml'));
    for (const name of ['a.tmp', 'a.part', '.a']) put(name, one);
    expect(await receive()).toBe(1);
    expect(seeFolder()[0]).toEqual(['.a', 'a.part', 'a.tmp']);
  });

  it('is one file in any order and however often', async () => {
    const files = [
      cashReport('054', OURS, [
        { amount: '5.00', reference: 'R1' },
        { amount: '6.00', status: 'PDNG', reference: 'R2' },
      ]),
      cashReport('053', OURS, [
        { amount: '5.00', reference: 'R1' },
        { amount: '6.00', reference: 'R2' },
        { amount: '7.00' },
        { amount: '7.00' },
      ]),
      cashReport('054', SECOND, [{ amount: '5.00', reference: 'R1' }], { currency: 'GBP' }),
      cashReport('053', OURS, [{ ...total, details }], { id: 'S2' }),
      cashReport('054', OURS, [total], { id: 'N2' }),
    ];
    let expected: unknown;
    const order = fc.shuffledSubarray([0, 1, 2, 3, 4, 0, 1, 2, 3, 4], { minLength: 10, maxLength: 10 });
    await fc.assert(
      fc.asyncProperty(order, fc.integer({ min: 1, max: 400 }), async (places, cut) => {
        await world.owner.query(clear);
        for (const [at, place] of places.entries()) {
          put(`${String(at).padStart(2, '0')}.xml`, files[place] ?? '');
          put(`${String(at).padStart(2, '0')}-cut.xml`, (files[place] ?? '').slice(0, -cut));
        }
        await receive();
        expected ??= await entries();
        expect(await entries()).toEqual(expected);
      }),
      { numRuns: testOrProve(5, 20) },
    );
    expect(expected).toHaveLength(8);
  });
});

describe('a report of statuses', () => {
  it('is an event of each payment, and of those that it does not name', async () => {
    await paid('OUT-1', ['k1', 'k2', 'k3']);
    const payment = (id: string, status: string, code: string) =>
      `<TxInfAndSts><OrgnlEndToEndId>${id}</OrgnlEndToEndId><TxSts>${status}</TxSts><StsRsnInf><Rsn><Cd>${code}</Cd></Rsn></StsRsnInf></TxInfAndSts>`;
    const named = `<OrgnlPmtInfAndSts><OrgnlPmtInfId>P1</OrgnlPmtInfId>${payment('k1', 'RJCT', 'AC04')}${payment('k2', 'RJCT', 'AM05')}</OrgnlPmtInfAndSts>`;
    put('a.xml', statusReport('OUT-1', '<GrpSts>ACSP</GrpSts>', named));
    await receive();
    expect(await events()).toEqual([
      { key: 'k1', status: 'RJCT', reason_code: 'AC04', is_return: false },
      { key: 'k3', status: 'ACSP', reason_code: null, is_return: false },
    ]);
    expect(await rowsOf('select note from bank_file')).toEqual([{ note: expect.stringContaining('duplicates') }]);
    expect(await rowsOf('select from payment_file where written_at is not null')).toHaveLength(1);
  });

  it('says nothing for others if a group is accepted in part', async () => {
    await paid();
    put('a.xml', statusReport('OUT-1', '<GrpSts>PART</GrpSts>', ''));
    await receive();
    expect(await events()).toEqual([]);
  });

  it('finds a payment by its UETR alone, and counts an unknown one', async () => {
    await paid('OUT-1', ['k1', 'k2']);
    const payment = (name: string, id: string, status: string) =>
      `<TxInfAndSts><${name}>${id}</${name}><TxSts>${status}</TxSts></TxInfAndSts>`;
    const named = [
      payment('OrgnlUETR', uetrOf('k1').toUpperCase(), 'RJCT'),
      payment('OrgnlUETR', uetrOf('k9'), 'RJCT'),
      payment('OrgnlEndToEndId', 'k2', 'ACSP'),
    ];
    put('a.xml', statusReport('OUT-1', '', `<OrgnlPmtInfAndSts>${named.join('')}</OrgnlPmtInfAndSts>`));
    await receive();
    expect(await events()).toMatchObject([
      { key: 'k1', status: 'RJCT' },
      { key: 'k2', status: 'ACSP' },
    ]);
    expect(await rowsOf('select note from bank_file')).toEqual([{ note: 'Payments that our file does not have: 1.' }]);
  });

  it('of what our file does not have is reported with the name of the file', async () => {
    await paid('OUT-1', ['k1']);
    const part = (id: string, inner: string) =>
      `<OrgnlPmtInfAndSts><OrgnlPmtInfId>${id}</OrgnlPmtInfId>${inner}</OrgnlPmtInfAndSts>`;
    const other = '<TxInfAndSts><OrgnlEndToEndId>k9</OrgnlEndToEndId><TxSts>RJCT</TxSts></TxInfAndSts>';
    put('a.xml', statusReport('OUT-1', '', part('P8', other) + part('P9', '<PmtInfSts>RJCT</PmtInfSts>')));
    const errors: unknown[] = [];

    await new BankFiles(world.database, config()).readNext(undefined, (error) => errors.push(error));

    const note = 'Parts (PmtInf) that our file does not have: 1. Payments that our file does not have: 1.';
    expect(errors).toMatchObject([{ message: `the rail bank has "a.xml" from the bank: ${note}` }]);
    expect(await rowsOf('select note from bank_file')).toEqual([{ note }]);
    expect(await events()).toEqual([]);
  });
});

describe('what is no file', () => {
  it('is reported once while it stays, and is not read', async () => {
    mkdirSync(join(folder, 'in', 'archive'));
    const files = new BankFiles(world.database, config());
    const errors: unknown[] = [];

    for (let count = 0; count < 2; count += 1) await files.readNext(undefined, (error) => errors.push(error));

    expect(errors).toMatchObject([{ message: expect.stringContaining('"archive" from the bank: is no file') }]);
    expect(seeFolder()).toEqual([['archive'], [], []]);
  });
});
