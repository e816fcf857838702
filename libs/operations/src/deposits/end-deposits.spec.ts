import { OPERATOR_ROLE } from '@banking/postgres';
import { booksAs } from '@banking/ledger';
import { depositWorld, type DepositWorld, type OpenedAccount } from '../testing/deposit-world.js';
import { type AssignedDeposit, assignDeposit, newestDeposits, returnDeposit, waitingEntries } from './end-deposits.js';

let at: DepositWorld;
let theirs: OpenedAccount;

beforeAll(async () => {
  at = await depositWorld();
  theirs = await at.open(at.south);
});
afterAll(() => at.expectInOrder().finally(() => at.close()));

const books = () => booksAs(at.books, OPERATOR_ROLE);

/** A deposit on the suspense account. */
async function unmatched(amount = 1250) {
  const entryId = await at.entry({ remittance: 'Invoice 4711', amount });
  await at.work();
  return { entryId, ...(await at.depositOf(entryId))! };
}

const ending = (depositId: number) => ({ workspaceId: at.north, depositId, note: 'ticket 4711' });

describe('the assignment of an unmatched deposit', () => {
  it.each([
    ['code', () => theirs.code],
    ['code in small letters and groups', () => theirs.code.toLowerCase().replace(/(.{4})/g, '$1 ')],
    ['id', () => String(theirs.id)],
  ])('moves its money to an account of another workspace, by its %s', async (_, name) => {
    const before = [await at.balanceOf(at.suspense), await at.balanceOf(theirs)];
    const { id, entryId } = await unmatched();

    const assigned = await assignDeposit(books(), { ...ending(id), account: name() });

    expect(assigned).toMatchObject({ workspaceId: at.south, accountId: theirs.id });
    expect(await at.balanceOf(at.suspense)).toBe(before[0]);
    expect(await at.balanceOf(theirs)).toBe(Number(before[1]) + 1250);
    const all = (await at.deposits()).filter(({ entry }) => entry === entryId);
    expect(all.map(({ workspace, status }) => [workspace, status])).toEqual([
      [at.north, 'assigned'],
      [at.south, 'booked'],
    ]);
  });

  it('may be to the suspense account itself: the money is the operator’s own', async () => {
    const { id } = await unmatched();

    expect(await assignDeposit(books(), { ...ending(id), account: at.suspense.code })).toMatchObject({
      accountId: at.suspense.id,
    });
  });

  it('may be made again from the wrong account once, and not from one that the payer named', async () => {
    const before = [await at.balanceOf(at.suspense), await at.balanceOf(theirs)];
    const wrong = await at.open(at.south);
    const { id, entryId } = await unmatched();
    const first = (await assignDeposit(books(), { ...ending(id), account: wrong.code })) as AssignedDeposit;
    const ofFirst = { ...ending(first.depositId), workspaceId: at.south };

    const calls = [1, 2].map(() => assignDeposit(books(), { ...ofFirst, account: theirs.code }));

    expect((await Promise.all(calls)).filter((outcome) => typeof outcome === 'object')).toHaveLength(1);
    expect([await at.balanceOf(at.suspense), await at.balanceOf(wrong)]).toEqual([before[0], 0]);
    expect(await at.balanceOf(theirs)).toBe(Number(before[1]) + 1250);
    const statuses = (await at.deposits()).flatMap(({ entry, status }) => (entry === entryId ? [status] : []));
    expect(statuses).toEqual(['assigned', 'assigned', 'booked']);

    const named = await at.entry({ remittance: theirs.code });
    await at.work();
    const theirOwn = { ...ending((await at.depositOf(named))!.id), workspaceId: at.south };
    expect(await assignDeposit(books(), { ...theirOwn, account: wrong.code })).toBe('not_assignable');
  });

  it('is refused for one that is not unmatched, an unknown account, and another currency', async () => {
    const { id } = await unmatched();
    const dollars = await at.open(at.south, 'USD');
    const account = theirs.code;

    expect(await assignDeposit(books(), { ...ending(987_654), account })).toBe('not_found');
    expect(await assignDeposit(books(), { ...ending(id), account: 'BA00' })).toBe('account_not_found');
    expect(await assignDeposit(books(), { ...ending(id), account: dollars.code })).toBe('wrong_currency');
    await assignDeposit(books(), { ...ending(id), account });
    expect(await assignDeposit(books(), { ...ending(id), account })).toBe('not_assignable');
  });

  it('happens once, although others ask at the same time', async () => {
    const { id, entryId } = await unmatched();
    const call = () => assignDeposit(books(), { ...ending(id), account: theirs.code });

    const outcomes = await Promise.all([call(), call(), returnDeposit(books(), ending(id))]);

    expect(outcomes.filter((outcome) => typeof outcome === 'object')).toHaveLength(1);
    expect(
      (await at.deposits()).filter(({ entry, status }) => entry === entryId && status !== 'assigned'),
    ).toHaveLength(1);
  });

  it('is refused if the other account takes no money', async () => {
    const { id } = await unmatched();
    const closed = await at.open(at.south);
    await at.service.changeAccount({ workspaceId: at.south }, { accountId: closed.id, status: 'disabled' });

    const assigning = assignDeposit(books(), { ...ending(id), account: closed.code });

    await expect(assigning).rejects.toMatchObject({ reason: 'account_disabled' });
    expect((await at.deposits()).find((deposit) => deposit.id === id)).toMatchObject({ status: 'unmatched' });
  });
});

describe('the return of a deposit', () => {
  it('takes its money from its account', async () => {
    const before = await at.balanceOf(theirs);
    const entryId = await at.entry({ remittance: theirs.code });
    await at.work();
    const { id } = (await at.depositOf(entryId))!;

    const returned = await returnDeposit(books(), { ...ending(id), workspaceId: at.south });

    expect(returned).toEqual({ transactionId: expect.any(Number) as number });
    expect(await at.balanceOf(theirs)).toBe(before);
    expect(await at.depositOf(entryId)).toMatchObject({ status: 'returned' });
    expect(await returnDeposit(books(), { ...ending(id), workspaceId: at.south })).toBe('ended');
  });

  it('of a pending deposit moves no money, and what the bank books nevertheless is another deposit', async () => {
    const before = await at.balanceOf(theirs);
    const entryId = await at.entry({ remittance: theirs.code, status: 'pending' });
    await at.work();
    const { id } = (await at.depositOf(entryId))!;

    expect(await returnDeposit(books(), { ...ending(id), workspaceId: at.south })).toEqual({
      transactionId: undefined,
    });

    await at.work();
    expect(await at.balanceOf(theirs)).toBe(before);
    expect(await at.depositOf(entryId)).toMatchObject({ status: 'returned' });
    await at.bookEntry(entryId);
    await at.work();
    expect(await at.balanceOf(theirs)).toBe(Number(before) + 1250);
  });

  it('is refused if the money is gone', async () => {
    const [spent, payee] = [await at.open(at.north), await at.open(at.north)];
    const entryId = await at.entry({ remittance: spent.code });
    await at.work();
    const { id } = (await at.depositOf(entryId))!;
    const scope = { workspaceId: at.north, actor: at.demo.users['ada@northwind.example'] as never };
    const { resource: recipient } = await at.service.addInternalRecipient(scope, { accountCode: payee.code });
    await at.service.placeOrder(scope, {
      ...{ accountId: spent.id, recipientID: recipient.id, amount: '1' as never, type: 'instant' },
    });

    await expect(returnDeposit(books(), ending(id))).rejects.toMatchObject({ reason: 'insufficient_funds' });

    expect(await at.depositOf(entryId)).toMatchObject({ status: 'booked' });
  });

  it('is noted in the audit trail and has an event of the operator', async () => {
    const { id } = await unmatched();
    await returnDeposit(books(), ending(id));
    await at.expectInOrder();

    const { rows } = await at.owner.query<{ entries: readonly object[] }>(
      `select entries from audit_outbox where entries::text like '%returnDeposit%' order by id desc limit 1`,
    );
    const events = await at.service.listEvents({ workspaceId: at.north }, { resourceType: 'deposit', resourceId: id });

    expect(rows[0]?.entries).toEqual([
      expect.objectContaining({ operation: 'returnDeposit', resourceType: 'deposit', resourceId: id }),
    ]);
    expect(events.items.map(({ type, actor }) => [type, actor.type])).toEqual([
      ['deposit.unmatched', 'system'],
      ['deposit.returned', 'operator'],
    ]);
  });
});

describe('the lists of operators', () => {
  it('have the newest deposits of workspaces, and what waits', async () => {
    const { id } = await unmatched();
    const entryId = await at.entry({ remittance: 'Nothing', amount: 7 });

    const [newest] = await newestDeposits(books().database, [at.north], 'unmatched');
    const { entries, hasMore } = await waitingEntries(books().database);

    expect(newest).toMatchObject({ id, status: 'unmatched', amount: '1250', payer: { name: 'Ada Payer' } });
    expect(entries.map((entry) => entry.entryId)).toEqual([entryId]);
    expect(entries[0]).toMatchObject({ amount: '7', currencyCode: 'EUR', reference: 'Nothing', isReversal: false });
    expect([entries[0]?.isReturn, hasMore]).toEqual([false, false]);
    await at.work();
  });

  it('have the returns that match no payment, which are no deposits', async () => {
    const [key, endToEndId] = ['payout-1-1-0123456789ab', 'sent-1'];
    await at.owner.query(
      `insert into file_payment (rail, key, end_to_end_id, amount, currency, content) values ('bank-a', $1, $2, 10002, 'EUR', '{}')`,
      [key, endToEndId],
    );
    const returns = [
      await at.entry({ remittance: theirs.code, returnReason: 'AC04' }),
      await at.entry({ endToEndId: 'NOTPROVIDED', returnReason: 'AC04' }),
      await at.entry({ endToEndId, amount: 9502, returnReason: 'AC04' }),
      await at.entry({ endToEndId, amount: 50000 }),
      await at.entry({ endToEndId, isReversal: true }),
    ];
    await at.work();

    const { entries } = await waitingEntries(books().database);

    const ours = { key };
    expect(entries.map(({ entryId, isReturn, payment }) => ({ entryId, isReturn, payment }))).toEqual(
      [undefined, undefined, ours, ours, ours].map((payment, index) => ({
        ...{ entryId: returns[index], isReturn: true, payment },
      })),
    );
    expect((await at.deposits()).filter(({ entry }) => returns.includes(entry))).toEqual([]);
    await at.owner.query(
      `update bank_entry set outcome = 'ignored', note = 'booked by hand' where id = any($1::bigint[])`,
      [returns],
    );
    expect(await waitingEntries(books().database)).toEqual({ entries: [], hasMore: false });
  });

  it('have the debits that name a payment, and no others', async () => {
    const key = 'payout-1-1-1123456789ab';
    await at.owner.query(
      `insert into file_payment (rail, key, end_to_end_id, amount, currency, content, is_in_books) values ('bank-a', $1, $1, 1250, 'EUR', '{}', false)`,
      [key],
    );
    const entryId = await at.entry({ direction: 'debit', endToEndId: key });
    const fee = await at.entry({ direction: 'debit' });

    const { entries } = await waitingEntries(books().database);

    expect(entries).toMatchObject([{ entryId, direction: 'debit', isReturn: false, payment: { key } }]);
    await at.owner.query(`update bank_entry set outcome = 'ignored', note = 'seen' where id = any($1::bigint[])`, [
      [entryId, fee],
    ]);
  });

  it('say what the books have of the payment of a return', async () => {
    const { rows } = await at.owner.query<{ key: string; status: string }>(
      `select distinct on (status) concat_ws('-', 'payout', workspace_id, transaction_id, key_nonce) as key, status from payout
       where status in ('settled', 'failed') order by status, transaction_id`,
    );
    const ids: number[] = [];
    for (const { key } of rows) {
      await at.owner.query(
        `insert into file_payment (rail, key, end_to_end_id, amount, currency, content) values ('bank-a', $1, $1, 1250, 'EUR', '{}')`,
        [key],
      );
      ids.push(await at.entry({ endToEndId: key }));
    }

    const { entries } = await waitingEntries(books().database);

    expect(rows.map(({ status }) => status)).toEqual(['failed', 'settled']);
    expect(entries.map(({ payment }) => payment)).toEqual(
      rows.map((payout) => ({ ...payout, isReturned: payout.status === 'failed' })),
    );
    await at.owner.query(`update bank_entry set outcome = 'ignored', note = 'seen' where id = any($1::bigint[])`, [
      ids,
    ]);
  });

  it('say that there are more than the hundred oldest', async () => {
    const ids: number[] = [];
    for (let count = 0; count < 101; count += 1) ids.push(await at.entry({ returnReason: 'AC04' }));

    const { entries, hasMore } = await waitingEntries(books().database);

    expect([entries.map(({ entryId }) => entryId), hasMore]).toEqual([ids.slice(0, 100), true]);
    await at.owner.query(`update bank_entry set outcome = 'ignored', note = 'seen' where id = $1`, [ids[0]]);
    expect((await waitingEntries(books().database)).hasMore).toBe(false);
  });
});
