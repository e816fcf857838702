import {
  parseAmount,
  type AccountId,
  type RecipientId,
  type Scope,
  type Transfer,
  type TransferQuery,
} from '@banking/domain';
import { post } from '@banking/ledger';
import { reasonOf } from '@banking/postgres/testing';
import { expectWellFormed } from '../testing/order-world.js';
import { orderWorld, type OrderWorld } from '../testing/order-world.js';
let { world, service, ada, eve } = {} as OrderWorld;

beforeAll(async () => {
  ({ world, service, ada, eve } = await orderWorld());
});
afterAll(() => world.close());

const usd = () => world.demo.accounts['Northwind Trading USD'] as AccountId;
const southwind = () => world.demo.accounts['Southwind Imports USD'] as AccountId;
const ravi = () => world.demo.recipients['international'] as RecipientId;

async function walk(scope: Scope, query: TransferQuery, onPage: () => Promise<void> = async () => undefined) {
  const pages: Transfer[][] = [];
  let cursor: string | undefined;
  do {
    const page = await service.listTransfers(scope, { ...query, cursor });
    pages.push([...page.items]);
    cursor = page.next;
    await onPage();
  } while (cursor !== undefined);
  return pages;
}

/** A further transfer to an account, newer than all others. */
async function addOne(): Promise<void> {
  const movement = { currencyId: 840, amount: parseAmount('1.00', 'USD'), type: 'funding' };
  await post(world.books, [
    {
      entries: [
        {
          workspaceId: ada.workspaceId as number,
          status: 'completed',
          legs: [
            { ...movement, account: usd(), direction: 'credit' },
            { ...movement, account: 'settlement', direction: 'debit' },
          ],
        },
      ],
    },
  ]);
}

describe('the list of transfers', () => {
  it('has each transfer of the workspace’s customers, newest first', async () => {
    const { items, next } = await service.listTransfers(ada);

    expect(next).toBeUndefined();
    expectWellFormed(items);
    expect(items.length).toBeGreaterThan(8);
    for (const transfer of items) {
      expect(await service.getTransfer(ada, { transferId: transfer.id })).toEqual(transfer);
    }
    const order = items.map(({ createdAt, id }) => `${createdAt} ${String(id).padStart(16, '0')}`);
    expect(order).toEqual([...order].sort().reverse());
    const others = await service.listTransfers(eve);
    expect(others.items.length).toBeGreaterThan(0);
    expect(others.items.filter(({ id }) => items.some((mine) => mine.id === id))).toEqual([]);
  });

  it.each([1, 2, 3, 7, 500])('has no gap and no repetition in pages of %d while more arrive', async (limit) => {
    const before = (await walk(ada, {})).flat().map(({ id }) => id);

    const pages = await walk(ada, { limit }, addOne);

    expect(pages.flat().map(({ id }) => id)).toEqual(before);
    expect(pages.slice(0, -1).every(({ length }) => length === limit)).toBe(true);
  });

  it('needs one round trip per page', async () => {
    const { next } = await service.listTransfers(ada, { limit: 2, accountId: usd() });
    const pipeline = jest.spyOn(world.database, 'pipeline');

    await service.listTransfers(ada, { limit: 2, accountId: usd(), cursor: next });

    // The reference data is read again when it is a few seconds old, in no scope.
    expect(pipeline.mock.calls.filter(([{ workspaces }]) => workspaces !== undefined)).toHaveLength(1);
    pipeline.mockRestore();
  });

  it.each<[string, () => TransferQuery, (transfer: Transfer) => boolean]>([
    ['an account', () => ({ accountId: usd() }), ({ edges }) => edges.account?.id === usd()],
    ['a recipient', () => ({ recipientId: ravi() }), ({ edges }) => edges.recipient?.id === ravi()],
    ['a direction', () => ({ direction: 'credit' }), ({ direction }) => direction === 'credit'],
    ['a type', () => ({ type: 'payout' }), ({ type }) => type === 'payout'],
    ['a status', () => ({ transactionStatus: 'pending' }), ({ edges }) => edges.transaction?.status === 'pending'],
    [
      'two of them',
      () => ({ accountId: usd(), direction: 'debit' }),
      ({ direction, edges }) => direction === 'debit' && edges.account?.id === usd(),
    ],
  ])('is filtered by %s', async (_, query, holds) => {
    const all = (await walk(ada, {})).flat();

    const listed = (await walk(ada, { ...query(), limit: 2 })).flat();

    expect(listed).toEqual(all.filter(holds));
    expect(listed.length).toBeGreaterThan(0);
    expect(listed.length).toBeLessThan(all.length);
  });

  it('includes createdFrom and excludes createdTo, in each offset', async () => {
    const all = (await walk(ada, {})).flat();
    const from = all[5]!.createdAt!;
    const to = all[2]!.createdAt!;

    const listed = (await walk(ada, { createdFrom: from, createdTo: to.replace('Z', '+00:00') })).flat();

    expect(listed).toEqual(all.filter(({ createdAt }) => createdAt! >= from && createdAt! < to));
    expect(listed.map(({ id }) => id)).toContain(all[5]!.id);
    expect(listed.map(({ id }) => id)).not.toContain(all[2]!.id);
  });

  it.each<[string, () => TransferQuery, string]>([
    ['an account of another workspace', () => ({ accountId: southwind() }), 'account_not_found'],
    ['an account that is not there', () => ({ accountId: 999_999 as AccountId }), 'account_not_found'],
    ['a recipient that is not there', () => ({ recipientId: 999_999 as RecipientId }), 'recipient_not_found'],
    ['a limit of none', () => ({ limit: 0 }), 'limit_invalid'],
    ['a limit over the largest', () => ({ limit: 501 }), 'limit_invalid'],
    ['half a limit', () => ({ limit: 1.5 }), 'limit_invalid'],
    ['an instant without an offset', () => ({ createdFrom: '2026-11-21T09:30:00' }), 'timestamp_invalid'],
    ['a day that does not exist', () => ({ createdTo: '2026-02-30T00:00:00Z' }), 'timestamp_invalid'],
    [
      'a period that ends before it begins',
      () => ({ createdFrom: '2026-11-21T10:00:00+01:00', createdTo: '2026-11-21T08:59:59Z' }),
      'timestamp_invalid',
    ],
    ['a cursor that is none', () => ({ cursor: 'AAAA' }), 'cursor_invalid'],
  ])('refuses %s', async (_, query, reason) => {
    expect(await reasonOf(service.listTransfers(ada, query()))).toBe(reason);
  });

  it('refuses a cursor of another workspace or filter', async () => {
    const { next: cursor } = await service.listTransfers(ada, { limit: 1 });

    expect(await reasonOf(service.listTransfers(eve, { limit: 1, cursor }))).toBe('cursor_invalid');
    expect(await reasonOf(service.listTransfers(ada, { limit: 1, cursor, type: 'payout' }))).toBe('cursor_invalid');
    expect((await service.listTransfers(ada, { limit: 3, cursor })).items).toHaveLength(3);
  });
});
