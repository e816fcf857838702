import type { Timestamp } from '@banking/domain';
import { DecisionContext } from './decision-context.js';
import { contextOf } from './testing/batches.js';
import { crossing, funding, payment } from './testing/proposals.js';
import { euros } from './testing/world.js';

const account = (workspaceId: number, id: number) => ({
  ...{ workspaceId, id, currencyId: 978, status: 'enabled' },
  ...{ balance: 0n, version: 0, head: '' },
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
