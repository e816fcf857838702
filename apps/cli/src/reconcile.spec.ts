import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OPERATOR, World } from './testing/world.js';

const IBAN = 'DE89370400440532013000';

const world = new World();
let rails: string;

beforeAll(async () => {
  await world.openDemo();
  rails = join(world.dataDir, 'rails.yaml');
  mkdirSync(join(world.dataDir, 'bank'));
  writeFileSync(
    rails,
    `rails:
  - name: bank-a
    kind: iso20022
    testMode: true
    folder: bank
    accounts:
      - { currency: EUR, id: ${IBAN}, bic: COBADEFFXXX, holder: Harbour Ltd }
      - { currency: USD, id: "12345678", bic: CITIUS33, holder: Harbour Ltd }
  - { name: sandbox, kind: sandbox }
`,
  );
});
afterAll(() => world.close());
beforeEach(() => world.query('truncate bank_file, bank_statement, bank_entry'));

const run = (...args: readonly string[]) => world.run(['reconcile', ...args], { RAILS_FILE: rails });
const rowsOf = (text: string) => text.split('\n').map((line) => line.trim().split(/ {2,}/));

/** A statement of one day, so many days ago. */
async function statement(name: string, opening: number, closing: number, ago: number): Promise<void> {
  await world.query(
    `with file as (
       insert into bank_file (rail, name, digest, message, message_id, outcome)
       values ('bank-a', $1, sha256($1::text::bytea), 'camt.053.001.08', $1, 'read') returning id)
     insert into bank_statement (file_id, bank_account, currency, statement_id, opening_balance, closing_balance, opened_on, closed_on,
       entry_count, entry_sum)
     select id, $2, 'EUR', $1, $3, $4, current_date - $5::int, current_date - $5::int, 1, $4::bigint - $3::bigint from file`,
    ...[name, IBAN, opening, closing, ago],
  );
}

const entry = () =>
  world.query(
    `insert into bank_entry (rail, bank_account, identity, direction, amount, currency, status, booked_on, bank_reference, received_at)
     values ('bank-a', $1, 'e1', 'credit', 1250, 'EUR', 'booked', current_date - 1, 'NTRF-17', now() - interval '1 hour')`,
    IBAN,
  );

const dayOf = async (ago: number) =>
  (await world.query('select (current_date - $1::int)::text as day', ago))[0]!['day'] as string;

describe('banking reconcile', () => {
  it('shows each bank account and succeeds without a difference', async () => {
    await statement('S1', -100_000, 150_000, 2);
    const day = await dayOf(2);

    const { exitCode, stdout, stderr } = await run();

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(rowsOf(stdout)).toEqual([
      [
        'Rail',
        'Account',
        'Currency',
        'Statements',
        'From',
        'To',
        'Opening',
        'Closing',
        'Not in the books',
        'Differences',
      ],
      ['bank-a', IBAN, 'EUR', '1', day, day, '-1000.00', '1500.00', '0.00', '0'],
      ['bank-a', '12345678', 'USD', '0', '0.00', '0'],
      [''],
    ]);
  });

  it('lists the differences in plain words, and fails', async () => {
    await statement('S1', 100_000, 150_000, 3);
    await statement('S2', 151_000, 152_250, 1);
    await entry();

    const { exitCode, stdout, stderr } = await run();

    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: 'An operator must decide 2 differences.\n' });
    const [, differences = ''] = stdout.split('\n\n');
    const day = await dayOf(1);
    expect(rowsOf(differences)).toEqual([
      ['Rail', 'Account', 'Day', 'Difference', 'Amount', 'Direction', 'Reference', 'Entry'],
      [
        'bank-a',
        IBAN,
        day,
        'the books do not have this entry',
        '12.50 EUR',
        'credit',
        'NTRF-17',
        expect.stringMatching(/^\d+$/),
      ],
      ['bank-a', IBAN, day, 'the statement does not continue the one before it', '10.00 EUR', 'credit', 'S2'],
      [''],
    ]);
  });

  it('says that there may be more than the thousand that it lists', async () => {
    await world.query(
      `insert into bank_entry (rail, bank_account, identity, direction, amount, currency, status, booked_on, received_at)
       select 'bank-a', $1, 'n' || n, 'credit', 1250, 'EUR', 'booked', current_date - 1, now() - interval '1 hour'
       from generate_series(1, 1001) n`,
      IBAN,
    );

    const { stdout, stderr } = await run();

    expect(stderr).toBe('An operator must decide 1000 or more differences.\n');
    expect(rowsOf(stdout)[1]?.at(-1)).toBe('1000 or more');
  });

  it('prints amounts in minor units as JSON, and fails too', async () => {
    await statement('S1', 100_000, 150_000, 1);
    await entry();

    const { exitCode, stdout, stderr } = await run('--json');

    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: 'An operator must decide one difference.\n' });
    expect(JSON.parse(stdout)).toMatchObject([
      {
        ...{ rail: 'bank-a', bankAccount: IBAN, currency: 'EUR', statements: 1 },
        ...{ openingBalance: '100000', closingBalance: '150000', unknownAmount: '1250' },
        differences: [{ kind: 'entry_unknown', amount: '1250', direction: 'credit', reference: 'NTRF-17' }],
      },
      { currency: 'USD', statements: 0, unknownAmount: '0', differences: [] },
    ]);
  });

  it('shows a bank account that no rail has any more while it has differences', async () => {
    const run = () => world.run(['reconcile'], { RAILS_FILE: '' });
    await statement('S1', 100_000, 150_000, 3);
    expect((await run()).stdout).toBe('This deployment has no bank account with statements.\n');
    await statement('S2', 151_000, 152_250, 1);
    await entry();

    const { exitCode, stdout } = await run();

    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/^bank-a +DE\d+ +EUR +2 .* 12\.50 +2 +not configured$/m);
    expect(stdout).toMatch(/^bank-a .* the books do not have this entry +12\.50 EUR/m);
  });

  it('compares now and stores nothing', async () => {
    await run();

    expect(await world.query('select from bank_reconciliation')).toEqual([]);
  });

  it('has nothing to compare without a bank account with files', async () => {
    expect(await world.run(['reconcile'])).toEqual({
      ...{ exitCode: 0, stderr: '' },
      stdout: 'This deployment has no bank account with statements.\n',
    });
  });
});

describe('banking deposit ignore', () => {
  const ignore = (entryId: string) => world.run(['deposit', 'ignore', entryId, '--note', 'fee']);

  it('ends the difference of an entry, once', async () => {
    await entry();
    const [row] = await world.query('select id::text as id from bank_entry');
    const id = row!['id'] as string;

    expect(await ignore(id)).toMatchObject({ exitCode: 0, stdout: `Ignored entry ${id}.\n` });
    expect(await run()).toMatchObject({ exitCode: 0 });
    const again = await ignore(id);
    expect(again.exitCode).toBe(1);
    expect(again.stderr).toContain(`The books have entry ${id}, or it is ignored already.`);
    expect(await world.query('select ignored_by, note from bank_entry')).toEqual([
      { ignored_by: OPERATOR, note: 'fee' },
    ]);
  });

  it('refuses an entry that is not there', async () => {
    const { exitCode, stderr } = await ignore('999');

    expect(exitCode).toBe(1);
    expect(stderr).toContain('There is no booked entry 999. See banking reconcile.');
  });
});
