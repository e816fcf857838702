import type { Timestamp } from '@banking/domain';
import type { BookedTransaction } from '@banking/ledger';
import * as fc from 'fast-check';
import { ExportSequence } from './export-books.js';

const NOON = '2026-11-21T12:00:00.000000Z' as Timestamp;
const ACCOUNTS = [1, 2, 3, 4];

/** Transactions in the order in which they were posted, each on some accounts, one of them perhaps twice. */
const posted = fc
  .array(fc.array(fc.constantFrom(...ACCOUNTS), { minLength: 1, maxLength: 4 }), { maxLength: 30 })
  .map((touched) => {
    const versions = new Map<number, number>();
    return touched.map((accounts, index) => booked(index + 1, accounts, versions));
  });

describe('the sequence of an export', () => {
  it('yields each transaction once, after the earlier ones of its accounts', () => {
    fc.assert(
      fc.property(
        posted.chain((all) => fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length }))),
        ([all, shuffled]) => {
          const sequence = new ExportSequence();

          const yielded = shuffled.flatMap((transaction) => [...sequence.take(transaction)]);

          expect(sequence.waiting).toBe(0);
          expect(new Set(yielded)).toEqual(new Set(all));
          expect(yielded).toHaveLength(all.length);
          for (const accountId of ACCOUNTS) {
            const versions = yielded.flatMap(({ content }) =>
              content.transfers.filter((side) => side.accountId === accountId).map((side) => side.accountVersion),
            );
            expect(versions).toEqual(versions.map((_, index) => index + 1));
          }
        },
      ),
    );
  });

  it('yields transactions at once that are in order', () => {
    fc.assert(
      fc.property(posted, (all) => {
        const sequence = new ExportSequence();
        return all.every((transaction) => [...sequence.take(transaction)].length === 1 && sequence.waiting === 0);
      }),
    );
  });

  it('retains the transactions after a missing one', () => {
    const sequence = new ExportSequence();
    const versions = new Map<number, number>();
    const [, second, third, elsewhere] = [[1], [1, 2], [2], [3]].map((accounts, index) =>
      booked(index, accounts, versions),
    );

    expect([second!, third!, elsewhere!].flatMap((transaction) => [...sequence.take(transaction)])).toEqual([
      elsewhere,
    ]);
    expect(sequence.waiting).toBe(2);
  });
});

function booked(id: number, accounts: readonly number[], versions: Map<number, number>): BookedTransaction {
  const transfers = accounts.map((accountId, side) => {
    const accountVersion = (versions.get(accountId) ?? 0) + 1;
    versions.set(accountId, accountVersion);
    const fields = { currencyCode: 'EUR', direction: 'credit' as const, type: 'internal', amount: '1' };
    return { id: id * 10 + side, accountId, ...fields, accountVersion, balanceAfter: String(accountVersion) };
  });
  const content = {
    workspaceId: 1,
    transactionId: id,
    createdAt: NOON,
    transfers,
    previous: [],
  };
  return { content, hash: '', status: 'completed', isOfOneTime: true, updatedAt: NOON };
}
