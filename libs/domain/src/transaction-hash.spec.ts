import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import type { Timestamp } from './timestamp.js';
import { type TransactionContent, canonicalTransaction, transactionHash } from './transaction-hash.js';

/** A payout of 12.50 EUR with its fee of 0.30, through the workspace's own settlement and fee accounts. */
const PAYOUT: TransactionContent = {
  createdAt: '2026-11-21T09:30:00.000001Z' as Timestamp,
  workspaceId: 7,
  transactionId: 42,
  transfers: [
    {
      ...side(101, 1, 'debit', '1250', 'payout'),
      descriptionDigest: 'd4'.repeat(32),
      purpose: 'IR001',
      feeAmount: '30',
      recipientId: 12,
      accountVersion: 5,
      balanceAfter: '98750',
    },
    side(102, 90, 'credit', '1250', 'payout'),
    { ...side(103, 1, 'debit', '30', 'fee'), accountVersion: 6, balanceAfter: '98720' },
    side(104, 91, 'credit', '30', 'fee'),
  ],
  previous: [{ accountId: 1, hash: 'ab'.repeat(32) }],
};

const HEX = 'cd'.repeat(32);
/** The same payout, with the digests of its order, its conversion and its recipient. */
const COVERED: TransactionContent = {
  ...PAYOUT,
  orderDigest: 'a1'.repeat(32),
  conversionDigest: 'b2'.repeat(32),
  transfers: PAYOUT.transfers.map((transfer) =>
    transfer.recipientId === undefined ? transfer : { ...transfer, recipientDigest: 'c3'.repeat(32) },
  ),
};

const ids = fc.integer({ min: 1, max: 1_000_000 });
const digits = fc.bigInt({ min: 1n, max: 10n ** 18n }).map(String);
const details = { orderDigest: fc.constantFrom(HEX, undefined), conversionDigest: fc.constantFrom(HEX, undefined) };
const contents: fc.Arbitrary<TransactionContent> = fc.record(
  {
    ...details,
    createdAt: fc.constant('2026-11-21T09:30:00.000000Z' as Timestamp),
    workspaceId: ids,
    transactionId: ids,
    returnOf: ids,
    transfers: fc.uniqueArray(
      fc.record(
        {
          id: ids,
          accountId: ids,
          currencyCode: fc.constantFrom('EUR', 'JPY'),
          direction: fc.constantFrom('debit' as const, 'credit' as const),
          type: fc.constantFrom('payout', 'fee'),
          amount: digits,
          descriptionDigest: fc.constant(HEX),
          purpose: fc.constantFrom('IR001', 'IR002'),
          feeAmount: digits,
          recipientId: ids,
          recipientDigest: fc.constant(HEX),
          accountVersion: ids,
          balanceAfter: digits,
        },
        { requiredKeys: ['id', 'accountId', 'currencyCode', 'direction', 'type', 'amount'] },
      ),
      { selector: ({ id }) => id, minLength: 1, maxLength: 6 },
    ),
    previous: fc.uniqueArray(fc.record({ accountId: ids, hash: fc.constantFrom('', 'ab'.repeat(32)) }), {
      selector: ({ accountId }) => accountId,
      maxLength: 4,
    }),
  },
  { requiredKeys: ['createdAt', 'workspaceId', 'transactionId', 'transfers', 'previous'] },
);

describe('the hash of a transaction', () => {
  it('is SHA-256 of the canonical text in UTF-8, as node:crypto computes it', async () => {
    await fc.assert(
      fc.asyncProperty(contents, async (content) => {
        const elsewhere = createHash('sha256').update(canonicalTransaction(content), 'utf8').digest('hex');
        return (await transactionHash(content)) === elsewhere;
      }),
    );
  });

  it('does not depend on the order of rows', () => {
    fc.assert(
      fc.property(contents, (content) => {
        const backwards = {
          ...content,
          transfers: content.transfers.toReversed(),
          previous: content.previous.toReversed(),
        };
        return canonicalTransaction(backwards) === canonicalTransaction(content);
      }),
    );
  });

  it('covers the whole content, because different contents have different texts', () => {
    fc.assert(
      fc.property(contents, (content) => {
        const parsed = JSON.parse(canonicalTransaction(content)) as TransactionContent;
        expect(parsed).toEqual({
          ...content,
          hashVersion: 1,
          transfers: content.transfers.toSorted((left, right) => left.id - right.id),
          previous: content.previous.toSorted((left, right) => left.accountId - right.accountId),
        });
      }),
    );
  });

  it('ignores a status, a time and any other field outside of the content', () => {
    const later = {
      ...PAYOUT,
      status: 'completed',
      updatedAt: '2026-11-22T08:00:00.000Z',
      transfers: PAYOUT.transfers.map((transfer) => ({ ...transfer, createdAt: '2026-11-21T08:00:00.000Z' })),
    };

    expect(canonicalTransaction(later)).toBe(canonicalTransaction(PAYOUT));
  });

  it('changes with the previous hash of an account', async () => {
    const rewritten = { ...PAYOUT, previous: [{ accountId: 1, hash: 'cd'.repeat(32) }] };

    expect(await transactionHash(rewritten)).not.toBe(await transactionHash(PAYOUT));
  });

  it.each([{ descriptionDigest: HEX }, { purpose: 'IR002' }, { feeAmount: '0' }, { recipientId: 13 }])(
    'changes with the payee and the purpose: %j',
    async (edit) => {
      const [paid, ...rest] = PAYOUT.transfers;
      const edited = { ...PAYOUT, transfers: [{ ...paid!, ...edit }, ...rest] };

      expect(await transactionHash(edited)).not.toBe(await transactionHash(PAYOUT));
    },
  );

  it.each([
    { orderDigest: HEX },
    { orderDigest: undefined },
    { createdAt: '2026-11-21T09:30:00.000002Z' as Timestamp },
    { conversionDigest: HEX },
    { conversionDigest: undefined },
  ])('changes with its time and the digests that it covers: %j', async (edit) => {
    expect(await transactionHash({ ...COVERED, ...edit })).not.toBe(await transactionHash(COVERED));
  });

  it.each([{ recipientDigest: HEX }, { recipientDigest: undefined }])(
    'changes with the details of the recipient: %j',
    async (edit) => {
      const [paid, ...rest] = COVERED.transfers;
      const edited = { ...COVERED, transfers: [{ ...paid!, ...edit }, ...rest] };

      expect(await transactionHash(edited)).not.toBe(await transactionHash(COVERED));
    },
  );

  it('is the same for a missing and an undefined field', () => {
    expect(canonicalTransaction({ ...PAYOUT, returnOf: undefined })).toBe(canonicalTransaction(PAYOUT));
  });

  it('is fixed, so that exported hashes stay valid', async () => {
    expect(canonicalTransaction(COVERED)).toBe(
      '{"conversionDigest":"b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2b2","createdAt":"2026-11-21T09:30:00.000001Z","hashVersion":1,' +
        '"orderDigest":"a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1",' +
        '"previous":[{"accountId":1,"hash":"abababababababababababababababababababababababababababababababab"}],' +
        '"transactionId":42,"transfers":[' +
        '{"accountId":1,"accountVersion":5,"amount":"1250","balanceAfter":"98750","currencyCode":"EUR","descriptionDigest":"d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4d4","direction":"debit",' +
        '"feeAmount":"30","id":101,"purpose":"IR001","recipientDigest":"c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3c3","recipientId":12,"type":"payout"},' +
        '{"accountId":90,"amount":"1250","currencyCode":"EUR","direction":"credit","id":102,"type":"payout"},' +
        '{"accountId":1,"accountVersion":6,"amount":"30","balanceAfter":"98720","currencyCode":"EUR","direction":"debit","id":103,"type":"fee"},' +
        '{"accountId":91,"amount":"30","currencyCode":"EUR","direction":"credit","id":104,"type":"fee"}],' +
        '"workspaceId":7}',
    );
    expect(await transactionHash(COVERED)).toBe('c7d6ef10c74259ae1ceb7dabb7054e117470ec67cc46d16bd31cd83e99b6e76b');
  });
});

function side(id: number, accountId: number, direction: 'debit' | 'credit', amount: string, type: string) {
  return { id, accountId, currencyCode: 'EUR', direction, amount, type };
}
