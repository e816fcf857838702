import { testOrProve } from '@banking/postgres/testing';
import * as fc from 'fast-check';
import {
  BANK_ACCOUNT,
  depositWorld,
  type DepositWorld,
  type OpenedAccount,
  type PlantedEntry,
} from '../testing/deposit-world.js';
import { DEPOSITS_MAX, READ_BOOKED } from './book-deposits.js';

let at: DepositWorld;
let mine: OpenedAccount;
let theirs: OpenedAccount;

beforeAll(async () => {
  at = await depositWorld();
  mine = await at.open(at.north);
  theirs = await at.open(at.south);
});
beforeEach(() => at.errors.splice(0));
afterAll(() => at.expectInOrder().finally(() => at.close()));

const codeOf = ({ code }: OpenedAccount) => code;

describe('an entry of a bank account', () => {
  it('is booked on the account that it names, with what its payer wrote', async () => {
    const before = await at.balanceOf(mine);
    const entryId = await at.entry({ remittance: `Invoice 4711 ${codeOf(mine)}` });

    await at.work();

    expect(await at.depositOf(entryId)).toMatchObject({ status: 'booked', account: mine.id, amount: '1250' });
    expect(await at.balanceOf(mine)).toBe(Number(before) + 1250);
    const [transfer] = (await at.service.listTransfers({ workspaceId: at.north }, { accountId: mine.id })).items;
    expect(transfer).toMatchObject({ type: 'funding', description: `Invoice 4711 ${codeOf(mine)}`, amount: '1250' });
    expect(at.errors).toEqual([]);
  });

  it.each([
    ['names no account', () => 'Invoice 4711'],
    ['names two accounts', () => `${codeOf(mine)} ${codeOf(theirs)}`],
  ])('goes to the suspense account if it %s', async (_, textOf) => {
    const entryId = await at.entry({ remittance: textOf() });

    await at.work();

    expect(await at.depositOf(entryId)).toMatchObject({ status: 'unmatched', account: at.suspense.id });
  });

  it('goes to the suspense account of its bank account, which another rail had when it was read', async () => {
    const entryId = await at.entry({ rail: 'earlier' });

    await at.work();

    expect(await at.depositOf(entryId)).toMatchObject({ status: 'unmatched', account: at.suspense.id });
  });

  it('goes to the suspense account if the account has another currency, is disabled, or would exceed its limit', async () => {
    const dollars = await at.open(at.south, 'USD');
    const disabled = await at.open(at.south);
    await at.service.changeAccount({ workspaceId: at.south }, { accountId: disabled.id, status: 'disabled' });
    const full = await at.open(at.south);
    const limit = BigInt(Number.MAX_SAFE_INTEGER);
    const first = await at.entry({ remittance: codeOf(full), amount: limit - 10_000n });
    await at.work();
    const entries = [];
    for (const { code } of [dollars, disabled, full])
      entries.push(await at.entry({ remittance: code, amount: 20_000 }));

    await at.work();

    expect(await at.depositOf(first)).toMatchObject({ status: 'booked' });
    for (const id of entries) expect(await at.depositOf(id)).toMatchObject({ status: 'unmatched' });
  });

  it('waits without a suspense account, and delays no other', async () => {
    const [receiving] = at.receiving;
    const alone = at.workerOf([{ ...receiving!, suspenseAccount: undefined }]);
    const waiting = [];
    for (let count = 0; count < DEPOSITS_MAX + 1; count += 1) waiting.push(await at.entry({ remittance: 'Nothing' }));
    const named = await at.entry({ remittance: codeOf(mine) });

    await at.work(alone);

    expect(await at.depositOf(named)).toMatchObject({ status: 'booked' });
    expect(await at.depositOf(waiting[0]!)).toBeUndefined();
    expect(at.errors).toEqual([]);
    await at.work();
    for (const id of waiting) expect(await at.depositOf(id)).toMatchObject({ status: 'unmatched' });
  });

  it('waits for an operator while the whole and details that do not sum to it are both stated', async () => {
    const whole = await at.entry({ remittance: codeOf(mine), amount: 3000, bankReference: 'W-1' });
    const detail = (bankReference: string) =>
      at.entry({ remittance: codeOf(mine), amount: 1000, batchReference: 'W-1', bankReference });
    const first = await detail('W-1-1');
    await at.work();
    for (const id of [whole, first]) expect(await at.depositOf(id)).toBeUndefined();

    await at.owner.query(`update bank_entry set outcome = 'ignored' where id = $1`, [first]);
    await at.work();
    expect(await at.depositOf(whole)).toMatchObject({ status: 'booked' });

    const second = await detail('W-1-2');
    await at.work();
    expect(await at.depositOf(second)).toBeUndefined();
    await at.owner.query(`update bank_entry set outcome = 'ignored' where id = $1`, [second]);
  });

  it('waits for its statement if a notification names it by no reference of the bank', async () => {
    const { rows } = await at.owner.query<{ id: bigint }>(
      `insert into bank_file (rail, name, digest, message, message_id, outcome)
       values ('bank-a', '1.xml', sha256('1'), 'camt.054.001.08', 'N1', 'read') returning id`,
    );
    const [{ id: fileId } = { id: 0n }] = rows;
    const waiting = await at.entry({ remittance: codeOf(mine), endToEndId: 'INVOICE-1', fileId });
    const named = await at.entry({ remittance: codeOf(mine), bankReference: 'N-1', fileId });
    await at.work();
    expect(await at.depositOf(waiting)).toBeUndefined();
    expect(await at.depositOf(named)).toMatchObject({ status: 'booked' });

    await at.owner.query(
      `with statement as (
         insert into bank_statement (file_id, bank_account, currency, statement_id, opening_balance, closing_balance, opened_on, closed_on,
           entry_count, entry_sum)
         select $2, bank_account, currency, 'S-1', 0, amount, booked_on, booked_on, 1, amount from bank_entry where id = $1 returning id)
       update bank_entry b set statement_id = s.id from statement s where b.id = $1`,
      [waiting, fileId],
    );
    await at.work();
    expect(await at.depositOf(waiting)).toMatchObject({ status: 'booked' });
  });

  it('delays no other while it waits', async () => {
    const total = await at.entry({ amount: 9_999, bankReference: 'M-1' });
    const waiting = [total];
    for (let count = 0; count < DEPOSITS_MAX + 1; count += 1) waiting.push(await at.entry({ batchReference: 'M-1' }));
    const certain = await at.entry({ remittance: codeOf(mine) });

    await at.work();

    expect(await at.depositOf(certain)).toMatchObject({ status: 'booked' });
    expect(await at.depositOf(total)).toBeUndefined();
    await at.owner.query(`update bank_entry set outcome = 'ignored' where id = any($1)`, [waiting]);
  });

  it('waits for an operator if an entry of another amount has its UETR', async () => {
    const uetr = '7b9d0c1e-5a3f-4c2b-8d6e-0f1a2b3c4d5e';
    const first = await at.entry({ remittance: codeOf(mine), uetr });
    await at.work();
    const second = await at.entry({ remittance: codeOf(mine), uetr, amount: 12_500 });
    await at.work();
    expect(await at.depositOf(first)).toMatchObject({ status: 'booked' });
    expect(await at.depositOf(second)).toBeUndefined();
    await at.owner.query(`update bank_entry set outcome = 'ignored' where id = $1`, [second]);
  });

  it('is left to an operator if no account can hold it, and is reported once', async () => {
    const entryId = await at.entry({ remittance: codeOf(mine), amount: 9_223_372_036_854_775_807n });
    const beside = await at.entry({ remittance: codeOf(mine) });
    const chore = at.workerOf();

    await at.work(chore);
    await at.work(chore);

    expect(await at.depositOf(entryId)).toBeUndefined();
    expect(await at.depositOf(beside)).toMatchObject({ status: 'booked' });
    expect(at.errors).toEqual([`entry ${entryId} of a bank account waits for an operator: balance_limit_exceeded`]);
    await at.owner.query(`update bank_entry set outcome = 'ignored' where id = $1`, [entryId]);
  });

  it.each([
    ['a debit', { direction: 'debit' }],
    ['money of our own payment that comes back', { returnReason: 'AC04' }],
    ['a credit that takes a debit back', { isReversal: true }],
    ['one that is known', { outcome: 'ignored' }],
  ] as const)('is not booked if it is %s', async (_, planted) => {
    const entryId = await at.entry({ remittance: codeOf(mine), ...planted });

    await at.work();

    expect(await at.depositOf(entryId)).toBeUndefined();
  });

  it('is not booked if it has the reference of a payment that left', async () => {
    await at.owner.query(
      `insert into file_payment (rail, key, end_to_end_id, amount, currency, content) values ('bank-a', 'payout-1', 'PAYOUT-1', 1250, 'EUR', '{}')`,
    );
    const entryId = await at.entry({ remittance: codeOf(mine), endToEndId: 'PAYOUT-1' });

    await at.work();

    expect(await at.depositOf(entryId)).toBeUndefined();
  });

  it('is not booked as the whole of several payments, whose details may come', async () => {
    const before = await at.balanceOf(mine);
    const entryId = await at.entry({ remittance: codeOf(mine) });
    await at.owner.query('update bank_entry set batch_count = 2 where id = $1', [entryId]);

    await at.work();

    expect(await at.depositOf(entryId)).toBeUndefined();
    expect(await at.balanceOf(mine)).toBe(before);
  });

  it('is a pending deposit while the bank announces it, and the same deposit when it is booked', async () => {
    const before = await at.balanceOf(theirs);
    const entryId = await at.entry({ status: 'pending', remittance: codeOf(theirs) });
    const unnamed = await at.entry({ status: 'pending' });
    await at.work();
    const pending = await at.depositOf(entryId);
    expect(pending).toMatchObject({ status: 'pending', transaction: null });
    expect(await at.depositOf(unnamed)).toBeUndefined();
    expect(await at.balanceOf(theirs)).toBe(before);

    await at.bookEntry(entryId);
    await at.work();

    expect(await at.depositOf(entryId)).toMatchObject({ id: pending!.id, status: 'booked' });
    expect(await at.balanceOf(theirs)).toBe(Number(before) + 1250);
  });

  it('that was announced ends its pending deposit if its account cannot take it any more', async () => {
    const closing = await at.open(at.south);
    const entryId = await at.entry({ status: 'pending', remittance: codeOf(closing) });
    await at.work();
    await at.service.changeAccount({ workspaceId: at.south }, { accountId: closing.id, status: 'disabled' });
    await at.bookEntry(entryId);

    await at.work();

    const all = (await at.deposits()).filter(({ entry }) => entry === entryId);
    expect(all.map(({ status, account }) => [status, account])).toEqual([
      ['assigned', closing.id],
      ['unmatched', at.suspense.id],
    ]);
  });

  it('has events', async () => {
    const entryId = await at.entry({ status: 'pending', remittance: codeOf(mine) });
    await at.work();
    await at.bookEntry(entryId);
    await at.work();
    await at.expectInOrder();
    const { id, transaction } = (await at.depositOf(entryId))!;

    const { items } = await at.service.listEvents(
      { workspaceId: at.north },
      { resourceType: 'deposit', resourceId: id },
    );

    expect(items.map(({ type, changes }) => [type, changes])).toEqual([
      ['deposit.received', { accountID: mine.id, status: { after: 'pending' } }],
      [
        'deposit.booked',
        { accountID: mine.id, transactionID: transaction, status: { before: 'pending', after: 'booked' } },
      ],
    ]);
  });
});

describe('a reversal of an entry', () => {
  it('takes the money of its deposit back', async () => {
    const before = await at.balanceOf(mine);
    const entryId = await at.entry({ remittance: codeOf(mine), bankReference: 'R-1' });
    await at.work();
    await at.entry({ direction: 'debit', isReversal: true, bankReference: 'R-1' });

    await at.work();

    expect(await at.depositOf(entryId)).toMatchObject({ status: 'returned' });
    expect(await at.balanceOf(mine)).toBe(before);
    expect(at.errors).toEqual([]);
  });

  it.each([
    ['names no deposit', 'R-none', 0],
    ['may be of two deposits', 'R-two', 2],
  ])('is left to an operator if it %s', async (_, bankReference, count) => {
    for (let one = 0; one < count; one += 1) await at.entry({ remittance: codeOf(mine), bankReference });
    await at.work();
    const id = await at.entry({ direction: 'debit', isReversal: true, bankReference });

    await at.work();

    expect(at.errors).toContain(
      `entry ${id} of a bank account waits for an operator: it reverses no deposit, or one of several`,
    );
    await at.owner.query(`update bank_entry set outcome = 'ignored' where id = $1`, [id]);
  });

  const OF_PAYER = { endToEndId: 'RENT-NOVEMBER', amount: 2100 };
  const uetrOf = (digit: number) => `7b9d0c1e-5a3f-4c2b-8d6e-00000000000${digit}`;
  const reversal = (more: PlantedEntry) => at.entry({ ...OF_PAYER, direction: 'debit', isReversal: true, ...more });

  it('takes the money of the credit with its UETR, and not of one whose payer chose the same reference', async () => {
    const [one, other] = [
      await at.entry({ ...OF_PAYER, remittance: codeOf(mine), uetr: uetrOf(1) }),
      await at.entry({ ...OF_PAYER, remittance: codeOf(theirs), uetr: uetrOf(2) }),
    ];
    await at.work();
    await reversal({ uetr: uetrOf(1) });
    await at.work();
    expect(await at.depositOf(one)).toMatchObject({ status: 'returned' });
    expect(await at.depositOf(other)).toMatchObject({ status: 'booked' });
    expect(at.errors).toEqual([]);

    // The right one has been returned.
    const again = await reversal({ uetr: uetrOf(1) });
    await at.work();
    expect(await at.depositOf(other)).toMatchObject({ status: 'booked' });
    await at.owner.query(`update bank_entry set outcome = 'ignored' where id = $1`, [again]);
  });

  it('is left to an operator if it may be of a credit that was announced only', async () => {
    const payer = { ...OF_PAYER, endToEndId: 'RENT-DECEMBER' };
    await at.entry({ ...payer, remittance: codeOf(mine), status: 'pending', bankReference: 'D-1' });
    const other = await at.entry({ ...payer, remittance: codeOf(theirs), bankReference: 'D-2' });
    await at.work();
    const id = await reversal({ ...payer, bankReference: 'D-1' });
    await at.work();
    expect(await at.depositOf(other)).toMatchObject({ status: 'booked' });
    expect(at.errors).toContain(
      `entry ${id} of a bank account waits for an operator: it reverses no deposit, or one of several`,
    );
    await at.owner.query(`update bank_entry set outcome = 'ignored' where id = $1`, [id]);
  });

  it.each([
    ['was ignored', { bankReference: 'G-1' }, { bankReference: 'G-1', outcome: 'ignored' }],
    ['is not known', { bankReference: 'G-0' }, undefined],
  ])('is left to an operator if the credit that it names %s', async (_, named, ignored) => {
    const payer = { ...OF_PAYER, endToEndId: `RENT-${named.bankReference}` };
    if (ignored) await at.entry({ ...payer, ...ignored });
    const other = await at.entry({ ...payer, remittance: codeOf(theirs), bankReference: `${named.bankReference}-2` });
    await at.work();
    const id = await reversal({ ...payer, ...named });
    await at.work();
    expect(await at.depositOf(other)).toMatchObject({ status: 'booked' });
    expect(at.errors).toContain(
      `entry ${id} of a bank account waits for an operator: it reverses no deposit, or one of several`,
    );
    await at.owner.query(`update bank_entry set outcome = 'ignored' where id = $1`, [id]);
  });

  it('is left to an operator if the money is gone', async () => {
    const [spent, payee] = [await at.open(at.north), await at.open(at.north)];
    const entryId = await at.entry({ remittance: codeOf(spent), bankReference: 'R-spent' });
    await at.work();
    const scope = { workspaceId: at.north, actor: at.demo.users['ada@northwind.example'] as never };
    const { resource: recipient } = await at.service.addInternalRecipient(scope, { accountCode: payee.code });
    await at.service.placeOrder(scope, {
      ...{ accountId: spent.id, recipientID: recipient.id, amount: '1' as never, type: 'instant' },
    });
    const id = await at.entry({ direction: 'debit', isReversal: true, bankReference: 'R-spent' });

    await at.work();

    expect(await at.depositOf(entryId)).toMatchObject({ status: 'booked' });
    expect(at.errors).toEqual([`entry ${id} of a bank account waits for an operator: insufficient_funds`]);
    await at.owner.query(`update bank_entry set outcome = 'ignored' where id = $1`, [id]);
  });
});

describe('deposits', () => {
  const entry = fc.record({
    kind: fc.constantFrom('booked', 'pending', 'reversed'),
    amount: fc.integer({ min: 1, max: 5 }),
    names: fc.constantFrom('mine', 'theirs', 'both', 'none'),
  });
  const step = fc.oneof(
    { weight: 4, arbitrary: fc.record({ do: fc.constant('state' as const), entry }) },
    { weight: 2, arbitrary: fc.constant({ do: 'book what is pending' as const }) },
    { weight: 2, arbitrary: fc.constant({ do: 'work' as const }) },
    { weight: 2, arbitrary: fc.constant({ do: 'two workers' as const }) },
    { weight: 2, arbitrary: fc.constant({ do: 'killed before the commit' as const }) },
  );

  it('are what entries state, once, whatever the order of entries and workers', async () => {
    let round = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 10 }), async (steps) => {
        round += 1;
        const pending: number[] = [];
        let count = 0;
        for (const one of steps) {
          if (one.do === 'state') {
            const { kind, amount, names } = one.entry;
            const texts = { mine: mine.code, theirs: theirs.code, both: `${mine.code} ${theirs.code}`, none: 'none' };
            const bankReference = `L-${round}-${(count += 1)}`;
            const status = kind === 'pending' ? 'pending' : 'booked';
            const id = await at.entry({ status, amount, remittance: texts[names], bankReference });
            if (kind === 'pending') pending.push(id);
            if (kind === 'reversed') await at.entry({ direction: 'debit', isReversal: true, amount, bankReference });
          } else if (one.do === 'book what is pending') for (const id of pending.splice(0)) await at.bookEntry(id);
          else if (one.do === 'work') await at.work();
          else if (one.do === 'two workers') await Promise.all([at.work(), at.work(), at.work()]);
          else await killed();
          const { entries, deposits, credits, twice } = await at.sums();
          expect({ deposits, credits, twice }).toEqual({ deposits: entries, credits: entries, twice: '0' });
        }
        for (const id of pending) await at.bookEntry(id);
        await Promise.all([at.work(), at.work()]);
        const { rows } = await at.owner.query(
          `select id from bank_entry where outcome is null and bank_reference like $1`,
          [`L-${round}-%`],
        );
        expect(rows).toEqual([]);
        expect(at.errors).toEqual([]);
      }),
      { numRuns: testOrProve(15, 200) },
    );
  });

  /** A worker that ends before its commit: its database transaction is rolled back. */
  async function killed(): Promise<void> {
    const { database } = at.asWorker;
    const transaction = database.transaction.bind(database);
    const spy = jest.spyOn(database, 'transaction').mockImplementation((scope, work, options) =>
      transaction(
        scope,
        (tx) =>
          work({
            pipeline: tx.pipeline.bind(tx),
            commit: async (bound = []) => {
              await tx.pipeline(bound);
              throw new Error('killed');
            },
          } as never),
        options,
      ),
    );
    await at.work().catch((error: unknown) => expect(error).toEqual(new Error('killed')));
    spy.mockRestore();
  }
});

describe('the chore', () => {
  it('finds open entries among 20,000 that are done by the index of the open ones', async () => {
    await at.owner.query(
      `insert into bank_entry (rail, bank_account, identity, direction, amount, currency, status, outcome)
       select 'bank-b', $1, 'old-' || n, 'credit', 1, 'EUR', 'booked', 'ignored' from generate_series(1, 20000) n`,
      [BANK_ACCOUNT],
    );
    await at.owner.query('analyze bank_entry');
    const entryId = await at.entry({ remittance: codeOf(mine) });

    const { rows } = await at.owner.query<{ 'QUERY PLAN': string }>(
      `explain (analyze, timing off, buffers off) ${READ_BOOKED.text.replace('$1', '0').replace('$2', '64')}`,
    );
    await at.work();

    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    expect(plan).toContain('Index Scan using bank_entry_open');
    expect(plan).not.toMatch(/Seq Scan on bank_entry/);
    expect(await at.depositOf(entryId)).toMatchObject({ status: 'booked' });
  });
});
