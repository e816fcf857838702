import { minorUnits } from '@banking/domain';
import * as fc from 'fast-check';
import type { Desk, HeldAccount } from '../decide.js';
import type { Outcome, Proposal } from '../proposal.js';
import { comeback, crossing, funding, payment, payout } from './proposals.js';

/** Accounts 1 to 3 lie in workspace 1, accounts 4 and 5 in workspace 2; account 9 is nowhere. */
const WORKSPACE_OF: Readonly<Record<number, number>> = { 1: 1, 2: 1, 3: 1, 4: 2, 5: 2, 9: 1 };
const place = (account: number) => ({ workspaceId: WORKSPACE_OF[account]! });

const accounts = fc.constantFrom(1, 2, 3, 4, 5, 9);
/** Small against what the accounts hold, so that yes and no are both common; sometimes as large as a balance gets. */
const amounts = fc
  .oneof(
    { weight: 19, arbitrary: fc.bigInt({ min: 1n, max: 60n }) },
    { weight: 1, arbitrary: fc.constant(BigInt(Number.MAX_SAFE_INTEGER) - 50n) },
  )
  .map(minorUnits);

const payments = fc
  .tuple(accounts, accounts, amounts)
  .map(([from, to, amount]) =>
    WORKSPACE_OF[from] === WORKSPACE_OF[to]
      ? payment(from, to, amount, place(from))
      : crossing({ account: from, ...place(from) }, { account: to, ...place(to) }, amount),
  );

/** Batches of every kind of proposal, on five accounts and one that is not there. */
export const batches: fc.Arbitrary<Proposal[]> = fc.array(
  fc.oneof(
    payments,
    fc.tuple(accounts, amounts).map(([to, amount]) => funding(to, amount, place(to))),
    fc.tuple(accounts, amounts).map(([to, amount]) => comeback(to, amount, place(to))),
    fc.tuple(accounts, amounts, amounts).map(([from, amount, fee]) => payout(from, amount, fee, place(from))),
  ),
  { minLength: 1, maxLength: 20 },
);

/** Five accounts as a lock would find them: some hold more than others, one may be overdrawn, some are disabled. */
export const holdings: fc.Arbitrary<HeldAccount[]> = fc
  .array(fc.record({ above: fc.bigInt({ min: 0n, max: 150n }), isEnabled: fc.boolean() }), {
    minLength: 5,
    maxLength: 5,
  })
  .map((list) =>
    list.map(({ above, isEnabled }, index) => {
      const floor = index === 0 ? -100n : 0n;
      return {
        workspaceId: WORKSPACE_OF[index + 1]!,
        id: index + 1,
        currencyId: 978,
        status: isEnabled || index < 3 ? 'enabled' : 'disabled',
        floor,
        balance: floor + above,
        version: index * 7,
        head: index === 2 ? '' : String(index).repeat(64),
      };
    }),
  );

/** Our own accounts are numbered by kind, from 101. */
const OWN = ['settlement', 'fees', 'fx', 'interworkspace'];

/** A desk with copies of these accounts, so that the originals stay what they were. */
export function deskOf(held: readonly HeldAccount[]): Desk & { readonly held: readonly HeldAccount[] } {
  const copies = held.map((one) => ({ ...one }));
  let transactionId = 0;
  let transferId = 0;
  return {
    held: copies,
    account: (workspaceId, id) => copies.find((one) => one.workspaceId === workspaceId && one.id === id),
    ownAccount: (_workspaceId, _currencyId, kind) => 101 + OWN.indexOf(kind),
    currencyCode: () => 'EUR',
    takeTransactionId: () => ++transactionId,
    takeTransferId: () => ++transferId,
  };
}

/**
 * The same decisions made the simple way: balances in a plain map, copied before every proposal.
 *
 * Answers the reason of each refusal, or `posted`, and what the accounts hold in the end.
 */
export function simply(held: readonly HeldAccount[], batch: readonly Proposal[]): readonly [string[], bigint[]] {
  let balances = new Map(held.map(({ id, balance }) => [id, balance]));
  const words = batch.map(({ entries }) => {
    const trial = new Map(balances);
    for (const { legs } of entries) {
      for (const { account, direction, amount, type } of legs) {
        if (typeof account === 'string') continue;
        const found = held.find(({ id }) => id === account);
        if (!found) return 'account_not_found';
        if (found.status === 'disabled' && type !== 'return') return 'account_disabled';
        const after = trial.get(account)! + (direction === 'credit' ? amount : -amount);
        if (after < found.floor) return 'insufficient_funds';
        if (after > 9_007_199_254_740_991n) return 'balance_limit_exceeded';
        trial.set(account, after);
      }
    }
    balances = trial;
    return 'posted';
  });
  return [words, held.map(({ id }) => balances.get(id)!)];
}

/** An outcome in one word. */
export const wordOf = (outcome: Outcome): string => outcome.refused?.reason ?? 'posted';
