import type { Timestamp } from '@banking/domain';
import type { TransferContent } from '@banking/domain/proof';
import type { BookedTransaction } from './booked-transactions.js';
import { hashOf } from './hash-of.js';
import { BALANCED_CHECK, HASH_CHECK, LEGS_CHECK, verifyTransaction } from './verify-chain.js';

type Row = readonly [currencyCode: string, direction: 'debit' | 'credit', amount: string];

const contentOf = (rows: readonly Row[]): BookedTransaction['content'] => ({
  ...{
    workspaceId: 1,
    transactionId: 7,
    createdAt: '2026-11-21T09:30:00.000000Z' as Timestamp,
    previous: [],
  },
  transfers: rows.map(([currencyCode, direction, amount], index): TransferContent => ({
    ...{ id: index + 1, accountId: 100 + index, type: 'internal' },
    ...{ currencyCode, direction, amount },
  })),
});

/** The findings of a transaction of these transfers, with its own hash unless another is given. */
function findingsOf(rows: readonly Row[], hash?: string): string[][] {
  const findings: string[][] = [];
  const content = contentOf(rows);
  const transaction = { content, hash: hash ?? hashOf(content), isOfOneTime: true } as BookedTransaction;
  verifyTransaction(transaction, (check, detail) => findings.push([check, detail]));
  return findings;
}

describe('verifyTransaction', () => {
  it('finds nothing where each currency is in balance and the hash is that of the content', () => {
    expect(
      findingsOf([
        ['EUR', 'debit', '100'],
        ['EUR', 'credit', '60'],
        ['EUR', 'credit', '40'],
        ['USD', 'credit', '117'],
        ['USD', 'debit', '117'],
      ]),
    ).toEqual([]);
  });

  it('names each currency that is out of balance, with credits less debits', () => {
    expect(
      findingsOf([
        ['EUR', 'debit', '100'],
        ['EUR', 'credit', '99'],
        ['USD', 'credit', '1'],
        ['GBP', 'credit', '5'],
        ['GBP', 'debit', '5'],
      ]),
    ).toEqual([
      [BALANCED_CHECK, 'transaction 7 is out of balance by -1 in EUR'],
      [BALANCED_CHECK, 'transaction 7 is out of balance by 1 in USD'],
    ]);
  });

  it('finds a transaction without transfers', () => {
    expect(findingsOf([])).toEqual([[LEGS_CHECK, 'transaction 7 has no transfers']]);
  });

  it('finds another hash', () => {
    const rows: readonly Row[] = [
      ['EUR', 'debit', '1'],
      ['EUR', 'credit', '1'],
    ];

    expect(findingsOf(rows, '0'.repeat(64))).toEqual([[HASH_CHECK, 'transaction 7 does not have its hash']]);
  });
});
