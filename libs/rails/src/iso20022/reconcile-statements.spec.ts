import * as fc from 'fast-check';
import { OPERATOR_ROLE, WORKER_ROLE } from '@banking/postgres';
import { freshDatabase, type FreshDatabase } from '@banking/postgres/testing';
import { ignoreEntry, reconcileStatements, storeReconciliations } from './reconcile-statements.js';

const RAIL = 'bank-a';
const IBAN = 'DE89370400440532013000';
const ACCOUNT = { rail: RAIL, bankAccount: IBAN, currency: 'EUR' };

let world: FreshDatabase;
let files = 0;

beforeAll(async () => {
  world = await freshDatabase();
});
afterAll(() => world.close());
beforeEach(clear);

async function clear(): Promise<void> {
  await world.owner.query(
    `set session_replication_role = replica; truncate bank_file, bank_statement, bank_entry, payment_file, file_payment, bank_reconciliation;
     set session_replication_role = origin`,
  );
}

/** Days before today. */
const day = (ago: number) => `current_date - ${ago}`;

async function statement(options: {
  readonly opening: number;
  readonly closing: number;
  readonly sum?: number;
  readonly openedAgo: number;
  readonly closedAgo?: number;
}): Promise<number> {
  const { opening, closing, sum = closing - opening, openedAgo, closedAgo = openedAgo } = options;
  files += 1;
  const { rows } = await world.owner.query<{ id: bigint }>(
    `with file as (
       insert into bank_file (rail, name, digest, message, message_id, outcome)
       values ('${RAIL}', 'f${files}', sha256('${files}'), 'camt.053.001.08', 'm${files}', 'read') returning id)
     insert into bank_statement (file_id, bank_account, currency, statement_id, sequence, opening_balance, closing_balance, opened_on,
       closed_on, entry_count, entry_sum)
     select id, '${IBAN}', 'EUR', 's${files}', ${files}, ${opening}, ${closing}, ${day(openedAgo)}, ${day(closedAgo)}, 1, ${sum}
     from file returning id`,
  );
  return Number(rows[0]!.id);
}

interface Entry {
  readonly amount: number;
  readonly direction?: 'credit' | 'debit';
  readonly ago?: number;
  readonly status?: 'pending' | 'booked';
  readonly outcome?: 'deposit' | 'ignored';
  readonly statementId?: number;
  readonly receivedAgo?: string;
}

async function entry({ amount, direction = 'credit', ago = 1, status = 'booked', ...more }: Entry): Promise<void> {
  files += 1;
  const { outcome, statementId, receivedAgo = '1 hour' } = more;
  await world.owner.query(
    `insert into bank_entry (rail, bank_account, identity, direction, amount, currency, status, booked_on, statement_id, outcome,
       bank_reference, received_at)
     values ('${RAIL}', '${IBAN}', 'e${files}', '${direction}', ${amount}, 'EUR', '${status}',
       ${status === 'booked' ? day(ago) : 'null'}, $1, $2, 'ref-${files}', now() - interval '${receivedAgo}')`,
    [statementId ?? null, outcome ?? null],
  );
}

async function payment(key: string, amount: number, writtenAgo: number, rail = RAIL, debtor?: string): Promise<void> {
  await world.owner.query(
    `with file as (
       insert into payment_file (rail, message_id, created_at, prepared_at, prepared_as, written_at)
       select '${rail}', 'M-${key}', at, at, '0123abcd', at from (select now() - interval '${writtenAgo} days' as at) t returning id)
     insert into file_payment (rail, key, end_to_end_id, amount, currency, content, file_id)
     select '${rail}', '${key}', '${key}', ${amount}, 'EUR', '${JSON.stringify({ debtor: debtor && { account: debtor } })}', id from file`,
  );
}

const compare = () => reconcileStatements(world.database.as(WORKER_ROLE), ACCOUNT);
const kinds = async () => (await compare()).differences.map(({ kind, amount, direction }) => [kind, direction, amount]);

describe('the statements of a bank account', () => {
  it('agree where each continues the one before it and the books have all entries', async () => {
    const one = await statement({ opening: 1_000, closing: 1_500, openedAgo: 3 });
    const two = await statement({ opening: 1_500, closing: 1_400, openedAgo: 2 });
    await entry({ amount: 500, outcome: 'deposit', statementId: one, ago: 3 });
    await entry({ amount: 100, direction: 'debit', outcome: 'ignored', statementId: two, ago: 2 });

    expect(await compare()).toMatchObject({
      statements: 2,
      openingBalance: 1_000n,
      closingBalance: 1_400n,
      unknownAmount: 0n,
      differences: [],
    });
  });

  it('have no difference before the first one', async () => {
    expect(await compare()).toEqual({
      ...ACCOUNT,
      statements: 0,
      unknownAmount: 0n,
      differences: [],
      hasMore: false,
    });
  });

  it('show a gap by its amount, until the missing one is read', async () => {
    await statement({ opening: 1_000, closing: 1_500, openedAgo: 4 });
    await statement({ opening: 1_800, closing: 1_900, openedAgo: 2 });

    expect(await kinds()).toEqual([['statement_missing', 'credit', '300']]);

    await statement({ opening: 1_500, closing: 1_800, openedAgo: 3 });
    expect(await kinds()).toEqual([]);
  });

  it('show one whose entries do not add up to its balances', async () => {
    await statement({ opening: 1_000, closing: 1_500, sum: 600, openedAgo: 2 });

    expect(await kinds()).toEqual([['statement_sum', 'debit', '100']]);
  });

  it('may overlap, where their entries account for the difference', async () => {
    const one = await statement({ opening: 1_000, closing: 1_500, openedAgo: 5, closedAgo: 3 });
    await statement({ opening: 1_200, closing: 1_700, openedAgo: 4, closedAgo: 2 });
    await entry({ amount: 200, outcome: 'deposit', statementId: one, ago: 5 });
    await entry({ amount: 300, outcome: 'deposit', statementId: one, ago: 4 });
    await entry({ amount: 200, outcome: 'deposit', statementId: one, ago: 2 });

    expect(await kinds()).toEqual([]);
  });

  it('may be issued again', async () => {
    await statement({ opening: 1_000, closing: 1_500, openedAgo: 2 });
    await statement({ opening: 1_000, closing: 1_500, openedAgo: 2 });

    expect((await compare()).statements).toBe(1);
    expect(await kinds()).toEqual([]);
  });

  it('are late after six days', async () => {
    await statement({ opening: 0, closing: 0, openedAgo: 7 });

    expect(await kinds()).toEqual([['statement_late', undefined, undefined]]);
  });

  it('agree in any order in which they were read', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: -500, max: 500 }), { minLength: 1, maxLength: 6 }),
        fc.infiniteStream(fc.nat()),
        async (sums, order) => {
          await clear();
          let total = 10_000;
          const planned = sums.map((sum, index) => {
            const opening = total;
            total += sum;
            return { opening, closing: total, openedAgo: sums.length - index };
          });
          const shuffled = planned
            .map((one) => [order.next().value as number, one] as const)
            .sort(([one], [other]) => one - other)
            .map(([, one]) => one);
          for (const one of shuffled) await statement(one);

          const { differences, openingBalance, closingBalance } = await compare();
          expect([differences, openingBalance, closingBalance]).toEqual([[], 10_000n, BigInt(total)]);
        },
      ),
      { numRuns: 15 },
    );
  });
});

describe('an entry of a bank account', () => {
  it('is a difference while the books do not have it, and adds to the unknown amount', async () => {
    await entry({ amount: 700 });
    await entry({ amount: 200, direction: 'debit' });
    await entry({ amount: 900, receivedAgo: '1 second' });

    expect(await kinds()).toEqual([
      ['entry_unknown', 'credit', '700'],
      ['entry_unknown', 'debit', '200'],
    ]);
    expect((await compare()).unknownAmount).toBe(500n);
  });

  it('is a difference if it is pending for more than ten days', async () => {
    await entry({ amount: 700, status: 'pending', receivedAgo: '11 days' });
    await entry({ amount: 800, status: 'pending', receivedAgo: '9 days' });

    expect(await kinds()).toEqual([['entry_pending', 'credit', '700']]);
  });

  it('is a difference if it was notified and is on no statement of its days', async () => {
    await statement({ opening: 0, closing: 0, openedAgo: 5, closedAgo: 1 });
    await entry({ amount: 700, outcome: 'deposit', ago: 3 });
    await entry({ amount: 800, outcome: 'deposit', ago: 1 });

    expect(await kinds()).toEqual([['entry_unlisted', 'credit', '700']]);
  });
});

describe('an entry that an operator ignores', () => {
  const ignore = (entryId: number) =>
    ignoreEntry(world.database.as(OPERATOR_ROLE), { entryId, note: 'fee of the bank' });

  it('is no difference any more, and is ignored once', async () => {
    await entry({ amount: 700, direction: 'debit' });
    const { differences } = await compare();
    const entryId = differences[0]!.entryId!;

    expect(await ignore(entryId)).toBe('ignored');

    expect(await kinds()).toEqual([]);
    expect((await compare()).unknownAmount).toBe(0n);
    expect(await ignore(entryId)).toBe('known');
    const { rows } = await world.owner.query('select outcome, note, ignored_by from bank_entry where id = $1', [
      entryId,
    ]);
    expect(rows).toEqual([{ outcome: 'ignored', note: 'fee of the bank', ignored_by: world.connection.user }]);
  });

  it('is one that is booked and that the books do not have', async () => {
    await entry({ amount: 700, outcome: 'deposit' });
    await entry({ amount: 800, status: 'pending' });
    const { rows } = await world.owner.query<{ id: bigint }>('select id from bank_entry order by id');

    expect(await ignore(Number(rows[0]!.id))).toBe('known');
    expect(await ignore(Number(rows[1]!.id))).toBe('not_found');
    expect(await ignore(999_999)).toBe('not_found');
  });

  it('is not ignored by the worker', async () => {
    await entry({ amount: 700 });
    const { rows } = await world.owner.query<{ id: bigint }>('select id from bank_entry');
    const entryId = Number(rows[0]!.id);

    await expect(ignoreEntry(world.database.as(WORKER_ROLE), { entryId, note: 'fee' })).rejects.toMatchObject({
      code: '42501',
    });
  });
});

describe('a payment that was handed to the bank', () => {
  it('is one of the bank account that its file debits, whatever its rail', async () => {
    await payment('payout-1-1-000000000001', 500, 8, 'earlier', IBAN);
    await payment('payout-1-2-000000000002', 600, 8, RAIL, 'DE02120300000000202051');
    await payment('payout-1-3-000000000003', 700, 8, 'earlier');
    await statement({ opening: 0, closing: 0, openedAgo: 1 });

    expect(await kinds()).toEqual([['payment_missing', 'debit', '500']]);
  });

  it('is a difference if the statements of five days later have no entry of it', async () => {
    await payment('payout-1-1-000000000001', 500, 8);
    await payment('payout-1-2-000000000002', 600, 4);
    await statement({ opening: 0, closing: 0, openedAgo: 1 });

    expect(await kinds()).toEqual([['payment_missing', 'debit', '500']]);

    await world.owner.query(
      `insert into bank_entry (rail, bank_account, identity, direction, amount, currency, status, outcome, payout_key)
       values ('${RAIL}', '${IBAN}', 'paid', 'debit', 500, 'EUR', 'pending', 'payout', 'payout-1-1-000000000001')`,
    );
    expect(await kinds()).toEqual([]);
  });
});

describe('a comparison with a thousand differences of a kind', () => {
  it.each([
    ['entries that the books do not have', 'credit', 'null', 'null'],
    ['entries that no statement has', 'credit', `'deposit'`, 'null'],
    ['entries that are not booked', 'debit', 'null', `'pending'`],
  ])('says that there may be more %s', async (_what, direction, outcome, status) => {
    await statement({ opening: 0, closing: 0, openedAgo: 5 });
    await statement({ opening: 0, closing: 0, openedAgo: 1 });
    const insert = (first: number, last: number) =>
      world.owner.query(
        `insert into bank_entry (rail, bank_account, identity, direction, amount, currency, status, booked_on, outcome, received_at)
         select '${RAIL}', '${IBAN}', 'n' || n, '${direction}', 1, 'EUR', coalesce(${status}, 'booked'), ${day(3)}, ${outcome},
           now() - interval '11 days' from generate_series(${first}, ${last}) n`,
      );

    await insert(1, 999);
    expect((await compare()).hasMore).toBe(false);
    await insert(1_000, 1_001);

    expect((await compare()).hasMore).toBe(true);
  });
});

describe('the stored comparison', () => {
  it('has the first hundred of all differences, and those of accounts that are configured', async () => {
    for (let count = 0; count < 101; count += 1) await entry({ amount: 100 });
    const database = world.database.as(WORKER_ROLE);

    await storeReconciliations(database, RAIL, [{ id: 'OLD', currency: 'USD' }], 2);
    const accounts = [{ id: IBAN, currency: 'EUR', suspenseAccount: 'BA01' }];
    await storeReconciliations(database, RAIL, accounts, 1);
    const found = await storeReconciliations(database, RAIL, accounts, undefined);

    const { rows } = await world.owner.query<{ result: { differences: unknown[] } }>(
      'select * from bank_reconciliation',
    );
    expect(found).toBe(101);
    expect(rows).toMatchObject([
      {
        bank_account: IBAN,
        suspense_account: 'BA01',
        difference_count: 101,
        refused_count: 1,
        result: { unknownAmount: '10100', differenceCount: 101 },
      },
    ]);
    expect(rows[0]?.result.differences).toHaveLength(100);
  });
});
