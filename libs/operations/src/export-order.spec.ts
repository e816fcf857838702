import type { Timestamp } from '@banking/domain';
import type { BookedTransaction } from '@banking/ledger';
import * as fc from 'fast-check';
import { ExportOrder } from './export-order.js';

const NOON = '2026-11-21T12:00:00.000000Z' as Timestamp;
const ACCOUNTS = [1, 2, 3, 4];

/** Transactions in the order in which they were posted, each on some accounts, one of them perhaps twice. */
const posted = fc
  .array(fc.array(fc.constantFrom(...ACCOUNTS), { minLength: 1, maxLength: 4 }), { maxLength: 30 })
  .map((touched) => {
    const versions = new Map<number, number>();
    return touched.map((accounts, index) => booked(index + 1, accounts, versions));
  });

describe('Given transactions whose ids are not in the order of their accounts', () => {
  it('When they come in any order, Then each is given out once, behind what its accounts have had before', () => {
    fc.assert(
      fc.property(
        posted.chain((all) => fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length }))),
        ([all, shuffled]) => {
          const order = new ExportOrder();

          const given = shuffled.flatMap((transaction) => [...order.take(transaction)]);

          expect(order.waiting).toBe(0);
          expect(new Set(given)).toEqual(new Set(all));
          expect(given).toHaveLength(all.length);
          for (const accountId of ACCOUNTS) {
            const versions = given.flatMap(({ content }) =>
              content.transfers.filter((side) => side.accountId === accountId).map((side) => side.accountVersion),
            );
            expect(versions).toEqual(versions.map((_, index) => index + 1));
          }
        },
      ),
    );
  });

  it('When they come in their order, Then none waits', () => {
    fc.assert(
      fc.property(posted, (all) => {
        const order = new ExportOrder();
        return all.every((transaction) => [...order.take(transaction)].length === 1 && order.waiting === 0);
      }),
    );
  });

  it('When one is missing, Then what follows it waits', () => {
    const order = new ExportOrder();
    const versions = new Map<number, number>();
    const [, second, third, elsewhere] = [[1], [1, 2], [2], [3]].map((accounts, index) =>
      booked(index, accounts, versions),
    );

    expect([second!, third!, elsewhere!].flatMap((transaction) => [...order.take(transaction)])).toEqual([elsewhere]);
    expect(order.waiting).toBe(2);
  });
});

function booked(id: number, accounts: readonly number[], versions: Map<number, number>): BookedTransaction {
  const transfers = accounts.map((accountId, side) => {
    const accountVersion = (versions.get(accountId) ?? 0) + 1;
    versions.set(accountId, accountVersion);
    const said = { currencyCode: 'EUR', direction: 'credit' as const, type: 'internal', amount: '1' };
    return { id: id * 10 + side, accountId, ...said, accountVersion, balanceAfter: String(accountVersion) };
  });
  const content = { workspaceId: 1, transactionId: id, valueDate: '2026-11-21', transfers, previous: [] };
  return { content, hash: '', status: 'completed', createdAt: NOON, updatedAt: NOON };
}
