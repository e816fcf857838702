import * as fc from 'fast-check';
import type { Timestamp } from '@banking/domain';
import { type TransactionContent, transactionHash } from '@banking/domain/proof';
import { decide, DecisionContext, digestOfDescription } from './decide.js';
import type { Entry, Outcome } from './proposal.js';
import { batches, contextOf, decideAll, decideByModel, holdings, reasonOf } from './testing/batches.js';
import { CENTS, crossing, euros, funding, payment, proposal } from './testing/world.js';

/** Before the time of `contextOf`. */
const OPENED = '2026-11-20T09:30:00.000000Z' as Timestamp;

const transactionsOf = (outcomes: readonly Outcome[]) => outcomes.flatMap(({ posted }) => posted ?? []);

describe('any batch on any accounts', () => {
  it('has the outcomes and final balances of a simple model', () => {
    fc.assert(
      fc.property(holdings, batches, (held, batch) => {
        const { context, accounts } = contextOf(held);
        const outcomes = decideAll(context, batch);

        expect([outcomes.map(reasonOf), accounts.map(({ balance }) => balance)]).toEqual(decideByModel(held, batch));
      }),
    );
  });

  it('leaves no account below zero or beyond a safe integer', () => {
    fc.assert(
      fc.property(holdings, batches, (held, batch) => {
        for (const { transfers } of transactionsOf(decideAll(contextOf(held).context, batch))) {
          for (const { balanceAfter } of transfers) {
            if (balanceAfter === undefined) continue;
            expect(balanceAfter).toBeGreaterThanOrEqual(0n);
            expect(balanceAfter).toBeLessThanOrEqual(9_007_199_254_740_991n);
          }
        }
      }),
    );
  });

  it('posts transactions that sum to zero', () => {
    fc.assert(
      fc.property(holdings, batches, (held, batch) => {
        for (const { transfers } of transactionsOf(decideAll(contextOf(held).context, batch))) {
          const sum = transfers.reduce(
            (total, { leg }) => total + (leg.direction === 'credit' ? leg.amount : -leg.amount),
            0n,
          );
          expect(sum).toBe(0n);
        }
      }),
    );
  });

  it('leaves the accounts unchanged where a proposal is refused', () => {
    fc.assert(
      fc.property(holdings, batches, (held, batch) => {
        const { context, accounts } = contextOf(held);
        for (const one of batch) {
          const before = structuredClone(accounts);
          const outcome = decide(context, one);
          if (outcome.refused) expect(accounts).toEqual(before);
        }
      }),
    );
  });

  it('continues the versions and balances of each account without a gap', () => {
    fc.assert(
      fc.property(holdings, batches, (held, batch) => {
        const { context, accounts } = contextOf(held);
        const transfers = transactionsOf(decideAll(context, batch)).flatMap((transaction) => transaction.transfers);
        for (const { id, version, balance } of held) {
          const own = transfers.filter(({ accountId }) => accountId === id);
          let running = balance;
          own.forEach(({ leg, accountVersion, balanceAfter }, index) => {
            running += leg.direction === 'credit' ? leg.amount : -leg.amount;
            expect([accountVersion, balanceAfter]).toEqual([version + index + 1, running]);
          });
          expect(accounts.find((one) => one.id === id)).toMatchObject({
            version: version + own.length,
            balance: running,
          });
        }
      }),
    );
  });

  it('chains hashes that can be recomputed, each from those before', async () => {
    await fc.assert(
      fc.asyncProperty(holdings, batches, async (held, batch) => {
        const { context, accounts } = contextOf(held);
        const heads = new Map(held.map(({ id, head }) => [id, head]));
        for (const { workspaceId, id, hash, transfers } of transactionsOf(decideAll(context, batch))) {
          const touched = new Set(
            transfers.flatMap(({ leg }) => (typeof leg.account === 'number' ? [leg.account] : [])),
          );
          const again = await transactionHash({
            workspaceId,
            transactionId: id,
            createdAt: context.at,
            transfers: transfers.map(
              ({ id: transferId, accountId, leg, descriptionSalt, accountVersion, balanceAfter }) => ({
                id: transferId,
                accountId,
                currencyCode: 'EUR',
                direction: leg.direction,
                type: leg.type,
                amount: String(leg.amount),
                descriptionDigest: descriptionSalt && digestOfDescription(descriptionSalt, leg.description ?? ''),
                purpose: leg.purpose,
                feeAmount: leg.feeAmount?.toString(),
                recipientId: leg.recipientId,
                recipientDigest: leg.recipientDigest,
                accountVersion,
                balanceAfter: balanceAfter?.toString(),
              }),
            ),
            previous: [...touched].map((accountId) => ({ accountId, hash: heads.get(accountId)! })),
          });
          expect(again).toBe(hash);
          touched.forEach((accountId) => heads.set(accountId, hash));
        }
        expect(accounts.map(({ head }) => head)).toEqual(held.map((account) => heads.get(account.id)));
      }),
    );
  });
});

describe('an account', () => {
  const held = (balance: bigint) => ({
    ...{ workspaceId: 1, id: 1, currencyId: 978, status: 'enabled' },
    ...{ balance, version: 0, head: '', balanceAt: OPENED },
  });

  it('takes money up to the largest safe integer, and no more', () => {
    const { context, accounts } = contextOf([held(9_007_199_254_740_990n)]);

    const outcomes = decideAll(context, [
      funding(1, euros('0.02')),
      funding(1, euros('0.01')),
      funding(1, euros('0.01')),
    ]);

    expect(outcomes.map(reasonOf)).toEqual(['balance_limit_exceeded', 'posted', 'balance_limit_exceeded']);
    expect(accounts[0]?.balance).toBe(9_007_199_254_740_991n);
  });

  it('pays money down to zero, and no more', () => {
    const { context, accounts } = contextOf([held(2n), { ...held(0n), id: 2 }]);
    const outcomes = decideAll(context, [payment(1, 2, euros('0.03')), payment(1, 2, euros('0.02'))]);

    expect(outcomes.map(reasonOf)).toEqual(['insufficient_funds', 'posted']);
    expect(accounts[0]?.balance).toBe(0n);
  });
});

describe('the hash of a transaction', () => {
  const OWN = new Map(['settlement', 'fees'].map((kind, at) => [`1/978/${kind}`, 101 + at] as const));
  const leg = { currencyId: 978, amount: euros('1.00'), type: 'internal' };
  const legs = [
    { ...leg, account: 'settlement', direction: 'debit' },
    { ...leg, account: 'fees', direction: 'credit' },
  ] as const;

  it.each<[string, Pick<TransactionContent, 'returnOf' | 'orderDigest' | 'conversionDigest'>, Partial<Entry>?]>([
    ['no order, conversion or returned transaction', {}],
    ['a returned transaction', { returnOf: 17 }],
    ['the digest of an order', { orderDigest: 'a'.repeat(64) }],
    ['the digest of a conversion', { conversionDigest: CENTS.digest }, { conversion: CENTS }],
  ])('is that of its content with %s', async (_what, more, of = more) => {
    const { context } = contextOf([], { own: OWN });
    const { posted } = decide(context, proposal(legs, of));
    const transfer = { currencyCode: 'EUR', amount: '100', type: 'internal' };
    const content: TransactionContent = {
      ...{
        workspaceId: 1,
        transactionId: 1,
        previous: [],
        createdAt: context.at,
        ...more,
      },
      transfers: [
        { ...transfer, id: 1, accountId: 101, direction: 'debit' },
        { ...transfer, id: 2, accountId: 102, direction: 'credit' },
      ],
    };
    expect(posted?.map(({ hash }) => hash)).toEqual([await transactionHash(content)]);
  });
});

describe('a proposal that is a programming error', () => {
  const amount = euros('10.00');
  const leg = { currencyId: 978, amount, type: 'internal' };

  it.each([
    [
      'is out of balance',
      [{ ...leg, account: 'settlement', direction: 'credit' }],
      'out of balance by 1000 in currency 978',
    ],
    ['has no legs', [], 'a transaction must have legs'],
    [
      'moves nothing',
      [
        { ...leg, amount: euros('0.00'), account: 'settlement', direction: 'credit' },
        { ...leg, amount: euros('0.00'), account: 'fees', direction: 'debit' },
      ],
      'the amount of a leg must be above zero',
    ],
    [
      'moves another currency than the account holds',
      [
        { ...leg, currencyId: 840, account: 1, direction: 'credit' },
        { ...leg, currencyId: 840, account: 'settlement', direction: 'debit' },
      ],
      'account 1 does not hold 840',
    ],
  ] as const)('throws an Error where it %s', (_what, legs, message) => {
    const [held] = fc.sample(holdings, 1);
    const own = new Map(
      [840, 978].flatMap((currency) =>
        ['settlement', 'fees'].map((kind, at) => [`1/${currency}/${kind}`, 101 + at] as const),
      ),
    );

    const { context, accounts } = contextOf(held!, { own });
    const moves = proposal([
      { ...leg, account: 1, direction: 'credit' },
      { ...leg, account: 'settlement', direction: 'debit' },
    ]);

    expect(() => decide(context, { entries: [...moves.entries, ...proposal(legs).entries] })).toThrow(message);
    expect(accounts).toEqual(held);
  });
});

const account = (workspaceId: number, id: number) => ({
  ...{ workspaceId, id, currencyId: 978, status: 'enabled' },
  ...{ balance: 0n, version: 0, head: '', balanceAt: OPENED },
});

describe('the time of a booking', () => {
  const NOW = '2026-11-21T09:30:00.000000Z';
  const amount = euros('1.00');
  const timesOf = (outcomes: readonly Outcome[]) => transactionsOf(outcomes).map(({ at }) => at.slice(17, -1));
  const heldAt = (balanceAt: string) => ({ ...account(1, 1), balance: 1_000n, balanceAt: balanceAt as Timestamp });

  it.each([OPENED, NOW])('is now on accounts of before, as of %s', (balanceAt) => {
    const { context } = contextOf([heldAt(balanceAt), account(1, 2)]);

    expect(timesOf(decideAll(context, [payment(1, 2, amount), payment(1, 2, amount)]))).toEqual([
      '00.000000',
      '00.000000',
    ]);
  });

  it('is after the latest of its accounts if that is ahead, and now on others', () => {
    const ahead = '2026-11-21T09:30:07.999999Z';
    const { context, accounts } = contextOf([heldAt(ahead), account(1, 2), account(1, 3), account(2, 4)]);
    const abroad = crossing({ workspaceId: 1, account: 2 }, { workspaceId: 2, account: 4 }, amount);

    const outcomes = decideAll(context, [funding(3, amount), payment(1, 2, amount), abroad, payment(3, 2, amount)]);

    expect(timesOf(outcomes)).toEqual(['00.000000', '08.000000', '08.000001', '08.000001', '08.000002']);
    expect(accounts.map(({ balanceAt }) => balanceAt.slice(17, -1))).toEqual([
      '08.000000',
      '08.000002',
      '08.000002',
      '08.000001',
    ]);
  });

  it('does not depend on an account that is only locked', () => {
    const { context } = contextOf([heldAt('2026-11-21T10:30:00.000000Z')]);

    expect(context.timeOf({ entries: [], accountToLock: { workspaceId: 1, accountId: 1 } })).toBe(NOW);
  });
});

describe('the context of a decision', () => {
  const amount = euros('1.00');
  const { context } = contextOf([account(1, 1), account(1, 2), account(2, 4)]);

  it.each([
    [true, 'both accounts of a payment', payment(1, 2, amount)],
    [false, 'one account of a payment', payment(1, 9, amount)],
    [false, 'no account of a payment', payment(8, 9, amount)],
    [
      true,
      'an account in each workspace',
      crossing({ workspaceId: 1, account: 1 }, { workspaceId: 2, account: 4 }, amount),
    ],
    [false, 'an account of this id in another workspace', funding(4, amount)],
    [true, 'the account to lock', { entries: [], accountToLock: { workspaceId: 1, accountId: 2 } }],
    [false, 'another account to lock', { entries: [], accountToLock: { workspaceId: 2, accountId: 2 } }],
    [true, 'no account', { entries: [] }],
  ])('is %s for the locks of a proposal with %s', (expected, _what, proposal) => {
    expect(context.hasLocked(proposal)).toBe(expected);
  });

  it('has each reserved id once, and fails when they are used up', () => {
    const reserved = new DecisionContext(
      { ownAccounts: new Map(), transactionIds: [5, 6], transferIds: [7] },
      [],
      '2026-11-21T09:30:00.000000Z' as Timestamp,
    );

    expect([reserved.takeTransactionId(), reserved.takeTransactionId(), reserved.takeTransferId()]).toEqual([5, 6, 7]);

    expect(() => reserved.takeTransactionId()).toThrow('the batch has used all its reserved ids');
    expect(() => reserved.takeTransferId()).toThrow('the batch has used all its reserved ids');
  });

  it('fails for an own account that is not open', () => {
    expect(context.ownAccountId(1, 978, 'fees')).toBe(102);
    expect(() => context.ownAccountId(1, 840, 'fees')).toThrow('the own account fees is not open');
    expect(() => context.ownAccountId(3, 978, 'fees')).toThrow('the own account fees is not open');
  });
});
