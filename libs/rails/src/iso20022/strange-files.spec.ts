import { mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { Database, SCHEMA, WORKER_ROLE } from '@banking/postgres';
import { freshDatabase, type FreshDatabase, until } from '@banking/postgres/testing';
import type { FileRailConfig } from '../rail-config.js';
import { cashReport, statusReport } from '../testing/bank-files.js';
import { fileRailConfig } from '../testing/file-rails.js';
import { RailInbox } from '../rail-inbox.js';
import { BankFiles } from './receive-files.js';

let world: FreshDatabase;
let config: FileRailConfig;

const IBAN = 'DE89370400440532013000';
const KEY = 'order-1-2-0123456789ab';
const payer = (name: string) => `<TxDtls><RltdPties><Dbtr><Nm>${name}</Nm></Dbtr></RltdPties></TxDtls>`;
const one = cashReport('053', IBAN, [{ amount: '1.00', reference: 'R1', details: payer('Müller') }]);

beforeAll(async () => {
  world = await freshDatabase();
});
beforeEach(() => {
  config = fileRailConfig();
  mkdirSync(join(config.folder, 'in'));
});
afterEach(async () => {
  rmSync(config.folder, { recursive: true });
  await empty();
});
afterAll(() => world.close());

const empty = () =>
  world.owner.query(`
    set session_replication_role = replica;
    delete from rail_event; delete from bank_entry; delete from bank_statement; delete from bank_file; delete from file_payment;
    delete from payment_file; delete from rail_cursor;
    set session_replication_role = default`);
function put(name: string, content: string | Uint8Array): void {
  const path = join(config.folder, 'in', name);
  writeFileSync(path, content);
  utimesSync(path, 1_000, 1_000);
}
const receive = () => new BankFiles(world.database, config).readNext();
const rowsOf = async <T extends object>(query: string) => (await world.owner.query<T>(query)).rows;
const names = () => rowsOf<{ name: string }>(`select party ->> 'name' as name from bank_entry`);
const filesIn = (folder: string) => readdirSync(join(config.folder, folder));
const waitsForLock = async () =>
  (await rowsOf(`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`))
    .length > 0;
const fileCount = async () => (await rowsOf('select from bank_file')).length;

async function paid(messageId: string, keys: readonly string[] = [KEY], prepared = true): Promise<void> {
  await world.owner.query(
    `with file as (
       insert into payment_file (rail, message_id, prepared_at, prepared_as)
       values ($1, $2, case when $4 then now() end, case when $4 then '00000001' end) returning id
     )
     insert into file_payment (rail, key, end_to_end_id, amount, currency, content, file_id, payment_information_id)
     select $1, k, k, 12345, 'EUR', '{}', f.id, 'P1' from file f, unnest($3::text[]) k`,
    [config.name, messageId, keys, prepared],
  );
}

describe('a file of a stranger', () => {
  it.each([
    ['UTF-8 with a byte order mark', `\ufeff${one}`],
    ['Latin-1 that says so', Buffer.from(one.replace('UTF-8', 'ISO-8859-1'), 'latin1')],
  ])('is read in %s', async (_, content) => {
    put('a.xml', content);
    expect(await receive()).toBe(1);
    expect(await names()).toEqual([{ name: 'Müller' }]);
    expect(filesIn('done')).toEqual(['a.xml']);
  });

  const bomb = one.replace('<Document', '<!DOCTYPE d [<!ENTITY a "b">]><Document');
  const huge = one.replace('Müller', 'x'.repeat(10_000_000));
  it.each([
    ['Latin-1 that says UTF-8', Buffer.from(one, 'latin1'), 'not in the encoding'],
    ['UTF-8 that says Latin-1', one.replace('UTF-8', 'ISO-8859-1'), 'but is UTF-8'],
    ['gzip', gzipSync(one), 'compressed'],
    ['binary bytes', Buffer.from(Array.from({ length: 5_000 }, (_, at) => (at * 7) % 256)), ''],
    ['a document type declaration', bomb, 'DOCTYPE'],
    ['10 MB in one element', huge, 'more than 100000 characters'],
  ])('is refused as %s, and nothing of it is stored', async (_, content, reason) => {
    put('a.xml', content);
    expect(await receive()).toBe(1);
    expect(filesIn('refused')).toEqual(['a.xml', 'a.xml.reason.txt']);
    expect(readFileSync(join(config.folder, 'refused/a.xml.reason.txt'), 'utf8')).toContain(reason);
    expect(await names()).toEqual([]);
    expect(await fileCount()).toBe(1);
  });

  it('is refused where it is cut, at any place', async () => {
    const bytes = Buffer.from(one);
    let count = 0;
    for (let length = 0; length < bytes.length; length += 97) {
      put(`${(count += 1)}.xml`, bytes.subarray(0, length));
    }
    put('last.xml', bytes.subarray(0, -1));
    expect(await receive()).toBe(count + 1);
    expect(filesIn('done')).toEqual([]);
    expect(await names()).toEqual([]);
    expect(await rowsOf(`select from bank_statement`)).toEqual([]);
  });
});

describe('a file that cannot be taken now', () => {
  it('stays while the folder of those that were read is none, and moves later without a second row', async () => {
    put('a.xml', one);
    await receive();
    put('b.xml', cashReport('053', IBAN, [{ amount: '2.00', reference: 'R2' }], { id: 'S2' }));
    rmSync(join(config.folder, 'done'), { recursive: true });
    writeFileSync(join(config.folder, 'done'), '');
    await expect(receive()).rejects.toThrow();
    expect(filesIn('in')).toEqual(['b.xml']);
    rmSync(join(config.folder, 'done'));
    expect(await receive()).toBe(1);
    expect(filesIn('done')).toEqual(['b.xml']);
    expect(await fileCount()).toBe(2);
    expect(await names()).toHaveLength(2);
  });

  it('stays if the database stores nothing', async () => {
    put('a.xml', one);
    await world.owner.query(`create function no_space() returns trigger language plpgsql as
      $$ begin raise exception 'no space left' using errcode = '53100'; end $$;
      create trigger no_space before insert on bank_statement for each row execute function no_space()`);
    try {
      await expect(receive()).rejects.toThrow();
    } finally {
      await world.owner.query('drop function no_space cascade');
    }
    expect(filesIn('in')).toEqual(['a.xml']);
    expect(await names()).toEqual([]);
    expect(await receive()).toBe(1);
    expect(await names()).toHaveLength(1);
  });

  it('stays while another worker has the lease', async () => {
    put('a.xml', one);
    await world.owner.query(
      `insert into rail_cursor (rail, leased_until) values ('${config.name}', clock_timestamp() + interval '1 hour')`,
    );
    expect(await receive()).toBe(0);
    expect(filesIn('in')).toEqual(['a.xml']);
  });

  it('stays if the lease is lost while it is read', async () => {
    put('a.xml', one);
    const { renew } = RailInbox.prototype;
    const lost = jest.spyOn(RailInbox.prototype, 'renew').mockImplementationOnce(async function (
      this: RailInbox,
      lease,
    ) {
      await world.owner.query('update rail_cursor set fence = fence + 1');
      return renew.call(this, lease);
    });
    try {
      await expect(receive()).rejects.toThrow('another worker takes the files');
    } finally {
      lost.mockRestore();
    }
    expect(filesIn('in')).toEqual(['a.xml']);
    expect(await names()).toEqual([]);
  });
});

describe('what a bank says of payments', () => {
  const events = () => rowsOf('select key, status, is_return from rail_event order by id');

  it('holds for the payments of a PmtInf, and not for others', async () => {
    await paid('OUT-1', ['k1', 'k2']);
    const information = (id: string) =>
      `<OrgnlPmtInfAndSts><OrgnlPmtInfId>${id}</OrgnlPmtInfId><PmtInfSts>ACSP</PmtInfSts></OrgnlPmtInfAndSts>`;
    put('1.xml', statusReport('OUT-1', '', information('P2')));
    await receive();
    expect(await events()).toEqual([]);
    put('2.xml', statusReport('OUT-1', '', information('P1')));
    await receive();
    expect(await events()).toMatchObject([{ key: 'k1', status: 'ACSP' }, { key: 'k2' }]);
  });

  it('is no failure if a whole group is a duplicate', async () => {
    await paid('OUT-1', ['k1', 'k2']);
    const group = '<GrpSts>RJCT</GrpSts><StsRsnInf><Rsn><Cd>AM05</Cd></Rsn></StsRsnInf>';
    put('1.xml', statusReport('OUT-1', group, ''));
    await receive();
    expect(await events()).toEqual([]);
    expect(await rowsOf('select note from bank_file')).toEqual([{ note: expect.stringContaining('duplicates') }]);
  });

  it('is stored of a file that is not known to be written yet', async () => {
    await paid('OUT-1', [KEY], false);
    put('1.xml', statusReport('OUT-1', '<GrpSts>ACCP</GrpSts>', ''));
    await receive();
    expect(await events()).toMatchObject([{ key: KEY, status: 'ACCP' }]);
    expect(await rowsOf('select from payment_file where written_at is null')).toHaveLength(1);
  });

  it('has a return two months after the payment', async () => {
    await paid('OUT-1');
    const entry = { amount: '123.45', endToEndId: KEY, reference: 'R1' };
    put('1.xml', cashReport('053', IBAN, [{ ...entry, direction: 'DBIT' }], { day: '2026-09-25' }));
    put('2.xml', cashReport('054', IBAN, [{ ...entry, returned: 'AC04' }], { day: '2026-11-25', id: 'S2' }));
    await receive();
    expect(await events()).toMatchObject([
      { status: 'ACSC', is_return: false },
      { status: 'RJCT', is_return: true },
    ]);
  });
});

describe('the details of a batch', () => {
  const whole = { amount: '25.00', reference: 'BATCH', details: '' };
  const detail = (reference: string, amount: string) =>
    `<TxDtls><Refs><AcctSvcrRef>${reference}</AcctSvcrRef></Refs><Amt Ccy="EUR">${amount}</Amt></TxDtls>`;
  const details = [{ ...whole, details: detail('D1', '10.00') + detail('D2', '15.00') }];

  it('belong to the statement that has the whole, although they are deposits already', async () => {
    put('1.xml', cashReport('054', IBAN, details));
    await receive();
    await world.owner.query(`
      set session_replication_role = replica; update bank_entry set outcome = 'deposit'; set session_replication_role = default`);
    put('2.xml', cashReport('053', IBAN, [whole]));
    await receive();
    expect(
      await rowsOf('select amount::int, outcome, statement_id is not null as stated from bank_entry order by amount'),
    ).toEqual([
      { amount: 1_000, outcome: 'deposit', stated: true },
      { amount: 1_500, outcome: 'deposit', stated: true },
      { amount: 2_500, outcome: 'ignored', stated: true },
    ]);
  });

  it.each([
    ['is', false],
    ['becomes', true],
  ])('are ignored if the whole %s a deposit', async (_, meanwhile) => {
    put('1.xml', cashReport('053', IBAN, [whole]));
    await receive();
    await world.owner.query(`
      set session_replication_role = replica; begin; update bank_entry set outcome = 'deposit'`);
    if (!meanwhile) await world.owner.query('commit');
    put('2.xml', cashReport('054', IBAN, details));
    const received = receive();
    if (meanwhile) await until(waitsForLock).finally(() => world.owner.query('commit'));
    await received;
    await world.owner.query('set session_replication_role = default');
    expect(await rowsOf('select amount::int, outcome from bank_entry order by amount')).toEqual([
      { amount: 1_000, outcome: 'ignored' },
      { amount: 1_500, outcome: 'ignored' },
      { amount: 2_500, outcome: 'deposit' },
    ]);
  });
});

describe('one credit in two files', () => {
  const UETR = '7b9d0c1e-5a3f-4c2b-8d6e-0f1a2b3c4d5e';
  const NOT_VALUED = /<ValDt>.*?<\/ValDt>/g;
  const refs = (detail: string, uetr = '') =>
    `<TxDtls><Refs>${detail && `<AcctSvcrRef>${detail}</AcctSvcrRef>`}${uetr && `<UETR>${uetr}</UETR>`}</Refs></TxDtls>`;
  const report = (kind: '053' | '054', reference: string | undefined, details: string, amount = '5.00') =>
    cashReport(kind, IBAN, [{ amount, details, ...(reference !== undefined && { reference }) }]);
  const notIgnored = () =>
    rowsOf(`select amount::int, status from bank_entry where outcome is distinct from 'ignored' order by amount`);

  it.each([
    [
      'its UETR, with another value date',
      report('054', undefined, refs('', UETR)).replace(NOT_VALUED, ''),
      report('053', undefined, refs('', UETR)).replace(NOT_VALUED, '<ValDt><Dt>2026-11-27</Dt></ValDt>'),
    ],
    [
      'its UETR, with a reference in one',
      report('054', undefined, refs('', UETR)),
      report('053', 'E1', refs('', UETR)),
    ],
    ['the reference of its detail', report('054', undefined, refs('D1')), report('053', 'E1', refs('D1'))],
    ['the reference of the entry', report('054', 'E1', ''), report('053', 'E1', refs('D1'))],
    [
      'the reference of its entry, as the total of several payments in one',
      report('054', 'E1', '<Btch><NbOfTxs>2</NbOfTxs></Btch>'),
      report('053', 'E1', ''),
    ],
  ])('is one entry by %s, in either order', async (_, one, other) => {
    for (const files of [
      [one, other],
      [other, one],
    ]) {
      for (const [at, file] of files.entries()) {
        put(`${at}.xml`, file);
        await receive();
      }
      expect(filesIn('refused')).toEqual([]);
      expect(await notIgnored()).toEqual([{ amount: 500, status: 'booked' }]);
      await empty();
    }
  });

  it.each([
    ['two entries', 'of two days, which the bank gave one reference', '2026-11-29', 2],
    ['one entry', 'that overlap', '2026-11-26', 1],
  ])('is %s in statements %s', async (_what, _which, day, count) => {
    const entry = { amount: '5.00', reference: 'E1', details: refs('') };
    put('1.xml', cashReport('053', IBAN, [entry]));
    put('2.xml', cashReport('053', IBAN, [entry], { day, id: 'S2' }));
    put('3.xml', cashReport('053', IBAN, [entry], { day, id: 'S3' }));
    await receive();
    expect(await notIgnored()).toHaveLength(count);
  });

  it('is two entries by two UETR, whatever else is equal', async () => {
    put('1.xml', report('054', undefined, refs('', UETR)));
    put('2.xml', report('053', undefined, refs('', UETR.replace('7b', '8b'))));
    await receive();
    expect(await notIgnored()).toHaveLength(2);
  });
});

describe('credits that files name differently', () => {
  const DAYS = ['2026-11-26', '2026-11-27'] as const;
  const UETRS = ['7b9d0c1e-5a3f-4c2b-8d6e-0f1a2b3c4d5e', '8b9d0c1e-5a3f-4c2b-8d6e-0f1a2b3c4d5e'] as const;
  const refs = (names: { uetr?: string; endToEndId?: string }) =>
    `<TxDtls><Refs>${names.endToEndId === undefined ? '' : `<EndToEndId>${names.endToEndId}</EndToEndId>`}${
      names.uetr === undefined ? '' : `<UETR>${names.uetr}</UETR>`
    }</Refs></TxDtls>`;
  const RENT = { endToEndId: 'RENT' };
  const details = (...amounts: readonly string[]) =>
    amounts
      .map(
        (amount) => `<TxDtls><Refs><EndToEndId>E${amount}</EndToEndId></Refs><Amt Ccy="EUR">${amount}</Amt></TxDtls>`,
      )
      .join('');
  const credit = (reference: string | undefined, names: Parameters<typeof refs>[0] = {}) => ({
    ...{ amount: '5.00', details: refs(names) },
    ...(reference !== undefined && { reference }),
  });
  /** With the second entry on another day. */
  const ofTwoDays = (file: string) => {
    const at = file.lastIndexOf('<BookgDt>');
    return file.slice(0, at) + file.slice(at).replaceAll(DAYS[0], DAYS[1]);
  };
  const reference = credit('E1');
  const daily = DAYS.map((day) => cashReport('053', IBAN, [reference], { day, id: day }));
  const twice = [reference, reference];

  it.each<[string, readonly string[], entries: number, booked: number]>([
    [
      'one reference of two payers on two statements',
      [
        cashReport('053', IBAN, [credit('E1', RENT)]),
        cashReport('053', IBAN, [credit(undefined, { ...RENT, uetr: UETRS[0] })], { id: 'S2' }),
      ],
      ...([2, 1] as const),
    ],
    [
      'no other reference on two statements',
      ['S1', 'S2'].map((id) => cashReport('053', IBAN, [credit(undefined, RENT)], { id })),
      ...([2, 1] as const),
    ],
    [
      'references in a notification that the statement does not have',
      [
        cashReport('054', IBAN, [credit('E1', RENT), credit('E2', RENT)]),
        cashReport('053', IBAN, [credit(undefined, RENT), credit(undefined, RENT)]),
      ],
      ...([4, 2] as const),
    ],
    [
      'UETR on a statement, and references in a notification',
      [
        cashReport('054', IBAN, [credit('E1', RENT), credit('E2', RENT)]),
        cashReport(
          '053',
          IBAN,
          UETRS.map((uetr) => credit(undefined, { ...RENT, uetr })),
        ),
      ],
      ...([4, 2] as const),
    ],
    ['one reference of two days, and a statement of both', [...daily, ofTwoDays(cashReport('053', IBAN, twice))], 2, 2],
    [
      'one reference of two days, and a statement of both, first',
      [ofTwoDays(cashReport('053', IBAN, twice)), ...daily.toReversed()],
      ...([2, 2] as const),
    ],
    [
      'a reference of two batches, on statements of two days',
      [
        cashReport('053', IBAN, [{ amount: '5.00', reference: 'E1', details: details('2.00', '3.00') }]),
        cashReport('053', IBAN, [{ amount: '5.00', reference: 'E1', details: '' }], { day: DAYS[1], id: 'S2' }),
      ],
      ...([3, 3] as const),
    ],
    [
      'a reference that a later file adds',
      [
        cashReport('054', IBAN, [credit(undefined, { uetr: UETRS[0] })]),
        cashReport('052', IBAN, [credit('E1', { uetr: UETRS[0] })]),
        cashReport('053', IBAN, [credit('E1')]),
      ],
      ...([1, 1] as const),
    ],
    [
      'a total that says of how many payments, and details that do not sum to it',
      [
        cashReport('053', IBAN, [{ amount: '5.00', reference: 'E1', details: '<Btch><NbOfTxs>2</NbOfTxs></Btch>' }]),
        cashReport('054', IBAN, [
          {
            ...{ amount: '6.00', reference: 'E1' },
            details: details('2.00', '4.00'),
          },
        ]),
      ],
      ...([3, 0] as const),
    ],
  ])('are neither lost nor booked twice: %s', async (_, files, entries, booked) => {
    for (const [at, file] of files.entries()) {
      put(`${at}.xml`, file);
      await receive();
    }
    expect(filesIn('refused')).toEqual([]);
    const rows = await rowsOf<{ is_certain: boolean }>(
      `select batch_count is null and is_certain_credit(e) as is_certain from bank_entry e where outcome is distinct from 'ignored'`,
    );
    expect(rows).toHaveLength(entries);
    expect(rows.filter((row) => row.is_certain)).toHaveLength(booked);
  });

  it('have what a later file says of them', async () => {
    put('1.xml', cashReport('054', IBAN, [{ amount: '5.00', reference: 'E1', status: 'PDNG', details: '' }]));
    put('2.xml', cashReport('053', IBAN, [{ amount: '5.00', reference: 'E1', details: payer('Müller') }]));
    await receive();
    expect(await names()).toEqual([{ name: 'Müller' }]);
  });
});

describe('a large file', () => {
  it('reads few rows for each of its entries, although the table seemed small when its statements were planned', async () => {
    put('1.xml', one);
    await receive();
    await world.owner.query('analyze bank_entry');
    const entries = Array.from({ length: 6_000 }, (_, at) => ({
      amount: '5.00',
      reference: `E${at}`,
      endToEndId: `P${at}`,
    }));
    put('2.xml', cashReport('053', IBAN, entries, { id: 'S2' }));
    const database = await Database.open({
      ...{ connection: world.connection, role: WORKER_ROLE, schema: SCHEMA, poolSize: 2, statementTimeoutMs: 60_000 },
    });
    const read = new BankFiles(database, config).readNext();

    expect(await read.finally(() => database.end())).toBe(1);

    // A session adds what it has read when it ends.
    const counts = async () => {
      const [row] = await rowsOf<{ added: number; read: number }>(
        `select n_tup_ins::int as added, (select sum(idx_tup_read)::int from pg_stat_user_indexes where relname = 'bank_entry') as read
         from pg_stat_user_tables where relname = 'bank_entry'`,
      );
      return row!;
    };
    await until(async () => (await counts()).added >= entries.length);
    expect((await counts()).read).toBeLessThan(entries.length * 30);
  });
});

describe('a file that cannot be stored', () => {
  it('is refused if the database refuses a value of it, and keeps no other back', async () => {
    await world.owner.query(`alter table bank_entry add constraint strange check (amount <> 666)`);
    try {
      put('a.xml', cashReport('053', IBAN, [{ amount: '6.66', reference: 'R2' }]));
      put('b.xml', one);

      expect(await receive()).toBe(2);

      expect(filesIn('refused').sort()).toEqual(['a.xml', 'a.xml.reason.txt']);
      expect(readFileSync(join(config.folder, 'refused', 'a.xml.reason.txt'), 'utf8')).toBe(
        'The database refuses a value of it (SQLSTATE 23514).\n',
      );
      expect(await rowsOf('select amount::int from bank_entry')).toEqual([{ amount: 100 }]);
    } finally {
      await world.owner.query('alter table bank_entry drop constraint strange');
    }
  });

  it('is moved under a shorter name if its own is too long for that of the reason', async () => {
    const name = `${'ü'.repeat(125)}.xml`;
    put(name, 'no XML');

    expect(await receive()).toBe(1);

    const moved = 'ü'.repeat(100);
    expect(filesIn('refused').sort()).toEqual([moved, `${moved}.reason.txt`]);
  });
});
