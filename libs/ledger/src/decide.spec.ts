import { transactionHash } from '@banking/domain/proof';
import * as fc from 'fast-check';
import { decide } from './decide.js';
import { batches, deskOf, holdings, simply, wordOf } from './testing/batches.js';
import { proposal } from './testing/proposals.js';
import { euros } from './testing/world.js';
import type { Outcome } from './proposal.js';

const transactionsOf = (outcomes: readonly Outcome[]) => outcomes.flatMap(({ posted }) => posted ?? []);

describe('Given any batch on any accounts', () => {
  it('When it is decided, Then it says and leaves what a simple model does', () => {
    fc.assert(
      fc.property(holdings, batches, (held, batch) => {
        const desk = deskOf(held);

        const outcomes = decide(desk, batch);

        expect([outcomes.map(wordOf), desk.held.map(({ balance }) => balance)]).toEqual(simply(held, batch));
      }),
    );
  });

  it('When it is decided, Then no movement leaves an account under its floor or beyond a safe integer', () => {
    fc.assert(
      fc.property(holdings, batches, (held, batch) => {
        for (const { transfers } of transactionsOf(decide(deskOf(held), batch))) {
          for (const { accountId, balanceAfter } of transfers) {
            if (balanceAfter === undefined) continue;
            expect(balanceAfter).toBeGreaterThanOrEqual(held.find(({ id }) => id === accountId)!.floor);
            expect(balanceAfter).toBeLessThanOrEqual(9_007_199_254_740_991n);
          }
        }
      }),
    );
  });

  it('When it is decided, Then every transaction sums to zero', () => {
    fc.assert(
      fc.property(holdings, batches, (held, batch) => {
        for (const { transfers } of transactionsOf(decide(deskOf(held), batch))) {
          const sum = transfers.reduce(
            (total, { leg }) => total + (leg.direction === 'credit' ? leg.amount : -leg.amount),
            0n,
          );
          expect(sum).toBe(0n);
        }
      }),
    );
  });

  it('When a proposal is refused, Then the accounts are as it found them', () => {
    fc.assert(
      fc.property(holdings, batches, (held, batch) => {
        const desk = deskOf(held);
        for (const one of batch) {
          const before = structuredClone(desk.held);
          const [outcome] = decide(desk, [one]);
          if (outcome?.refused) expect(desk.held).toEqual(before);
        }
      }),
    );
  });

  it('When it is decided one by one, Then it is what it is at once', () => {
    fc.assert(
      fc.property(holdings, batches, (held, batch) => {
        const [together, alone] = [deskOf(held), deskOf(held)];

        const outcomes = decide(together, batch);

        expect(batch.flatMap((one) => decide(alone, [one]))).toEqual(outcomes);
        expect(alone.held).toEqual(together.held);
      }),
    );
  });

  it('When it is decided, Then versions and balances of each account continue without a gap', () => {
    fc.assert(
      fc.property(holdings, batches, (held, batch) => {
        const desk = deskOf(held);
        const transfers = transactionsOf(decide(desk, batch)).flatMap((transaction) => transaction.transfers);
        for (const { id, version, balance } of held) {
          const own = transfers.filter(({ accountId }) => accountId === id);
          let running = balance;
          own.forEach(({ leg, accountVersion, balanceAfter }, index) => {
            running += leg.direction === 'credit' ? leg.amount : -leg.amount;
            expect([accountVersion, balanceAfter]).toEqual([version + index + 1, running]);
          });
          expect(desk.held.find((one) => one.id === id)).toMatchObject({
            version: version + own.length,
            balance: running,
          });
        }
      }),
    );
  });

  it('When it is decided, Then anyone can make its hashes again, each on the ones before', async () => {
    await fc.assert(
      fc.asyncProperty(holdings, batches, async (held, batch) => {
        const desk = deskOf(held);
        const heads = new Map(held.map(({ id, head }) => [id, head]));
        for (const { workspaceId, id, hash, entry, transfers } of transactionsOf(decide(desk, batch))) {
          const touched = new Set(
            transfers.flatMap(({ leg }) => (typeof leg.account === 'number' ? [leg.account] : [])),
          );
          const again = await transactionHash({
            workspaceId,
            transactionId: id,
            valueDate: entry.valueDate,
            transfers: transfers.map(({ id: transferId, accountId, leg, accountVersion, balanceAfter }) => ({
              id: transferId,
              accountId,
              currencyCode: 'EUR',
              direction: leg.direction,
              type: leg.type,
              amount: String(leg.amount),
              description: leg.description,
              purpose: leg.purpose,
              feeAmount: leg.feeAmount?.toString(),
              recipientId: leg.recipientId,
              accountVersion,
              balanceAfter: balanceAfter?.toString(),
            })),
            previous: [...touched].map((accountId) => ({ accountId, hash: heads.get(accountId)! })),
          });
          expect(again).toBe(hash);
          touched.forEach((accountId) => heads.set(accountId, hash));
        }
        expect(desk.held.map(({ head }) => head)).toEqual(held.map((account) => heads.get(account.id)));
      }),
    );
  });
});

describe('Given a proposal that no caller should make', () => {
  const amount = euros('10.00');
  const leg = { currencyId: 978, amount, type: 'internal' };

  it.each([
    [
      'is out of balance',
      [{ ...leg, account: 'settlement', direction: 'credit' }],
      'out of balance by 1000 in currency 978',
    ],
    ['has no legs', [], 'a transaction has legs'],
    [
      'moves nothing',
      [
        { ...leg, amount: euros('0.00'), account: 'settlement', direction: 'credit' },
        { ...leg, amount: euros('0.00'), account: 'fees', direction: 'debit' },
      ],
      'a leg moves more than nothing',
    ],
    [
      'moves another currency than the account holds',
      [
        { ...leg, currencyId: 840, account: 1, direction: 'credit' },
        { ...leg, currencyId: 840, account: 'settlement', direction: 'debit' },
      ],
      'account 1 does not hold 840',
    ],
  ] as const)('When it %s, Then it is a bug and not a refusal', (_what, legs, message) => {
    const [held] = fc.sample(holdings, 1);

    expect(() => decide(deskOf(held!), [proposal(legs)])).toThrow(message);
  });
});
