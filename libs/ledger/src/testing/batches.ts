import { minorUnits, type Timestamp } from '@banking/domain';
import * as fc from 'fast-check';
import { decide, DecisionContext, type LockedAccount } from '../decide.js';
import { ownAccountKey } from '../books.js';
import type { Outcome, Proposal } from '../proposal.js';
import { comeback, crossing, funding, payment, payout } from './world.js';

/** Accounts 1 to 3 are in workspace 1, accounts 4 and 5 in workspace 2. Account 9 does not exist. */
const WORKSPACE_OF: Readonly<Record<number, number>> = { 1: 1, 2: 1, 3: 1, 4: 2, 5: 2, 9: 1 };
const place = (account: number) => ({ workspaceId: WORKSPACE_OF[account]! });
const accounts = fc.constantFrom(1, 2, 3, 4, 5, 9);
/** Small against the balances, so that both outcomes are common. A few are as large as the largest balance. */
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

/** Batches of every kind of proposal, on five accounts and one that does not exist. */
export const batches: fc.Arbitrary<Proposal[]> = fc.array(
  fc.oneof(
    payments,
    fc.tuple(accounts, amounts).map(([to, amount]) => funding(to, amount, place(to))),
    fc.tuple(accounts, amounts).map(([to, amount]) => comeback(to, amount, place(to))),
    fc.tuple(accounts, amounts, amounts).map(([from, amount, fee]) => payout(from, amount, fee, place(from))),
  ),
  { minLength: 1, maxLength: 20 },
);

/** Five locked accounts with different balances. Some are disabled. */
export const holdings: fc.Arbitrary<LockedAccount[]> = fc
  .array(fc.record({ balance: fc.bigInt({ min: 0n, max: 150n }), isEnabled: fc.boolean() }), {
    minLength: 5,
    maxLength: 5,
  })
  .map((list) =>
    list.map(({ balance, isEnabled }, index) => {
      return {
        workspaceId: WORKSPACE_OF[index + 1]!,
        id: index + 1,
        currencyId: 978,
        status: isEnabled || index < 3 ? 'enabled' : 'disabled',
        balance,
        version: index * 7,
        head: index === 2 ? '' : String(index).repeat(64),
        balanceAt: '2026-11-20T09:30:00.000000Z' as Timestamp,
      };
    }),
  );

const OWN_KINDS = ['settlement', 'fees', 'fx', 'interworkspace'] as const;
/** Own accounts have ids from 101 on, by kind. */
const OWN_ACCOUNTS = new Map(
  [1, 2].flatMap((workspaceId) =>
    OWN_KINDS.map((kind, index) => [ownAccountKey(workspaceId, 978, kind), 101 + index] as const),
  ),
);

/** A context with copies of these accounts and ids from 1 on. */
export function contextOf(
  accounts: readonly LockedAccount[],
  { own = OWN_ACCOUNTS }: { readonly own?: ReadonlyMap<string, number> } = {},
): { readonly context: DecisionContext; readonly accounts: readonly LockedAccount[] } {
  const copies = accounts.map((account) => ({ ...account }));
  const ids = Array.from({ length: 1_000 }, (_, index) => index + 1);
  const context = new DecisionContext(
    { ownAccounts: own, transactionIds: ids, transferIds: ids },
    copies,
    '2026-11-21T09:30:00.000000Z' as Timestamp,
  );
  return { context, accounts: copies };
}

/** Decides a whole batch, each proposal on what those before it left. */
export const decideAll = (context: DecisionContext, batch: readonly Proposal[]): Outcome[] =>
  batch.map((proposal) => decide(context, proposal));

/**
 * A model of `decide`: balances in a plain map, copied before every proposal.
 *
 * @returns `posted` or the reason of the refusal for each proposal, and the final balances
 */
export function decideByModel(
  accounts: readonly LockedAccount[],
  batch: readonly Proposal[],
): readonly [string[], bigint[]] {
  let balances = new Map(accounts.map(({ id, balance }) => [id, balance]));
  const reasons = batch.map(({ entries }) => {
    const trial = new Map(balances);
    for (const { legs } of entries) {
      for (const { account, direction, amount, type } of legs) {
        if (typeof account === 'string') continue;
        const before = accounts.find(({ id }) => id === account);
        if (!before) return 'account_not_found';
        if (before.status === 'disabled' && type !== 'return') return 'account_disabled';
        const after = trial.get(account)! + (direction === 'credit' ? amount : -amount);
        if (after < 0n) return 'insufficient_funds';
        if (after > 9_007_199_254_740_991n) return 'balance_limit_exceeded';
        trial.set(account, after);
      }
    }
    balances = trial;
    return 'posted';
  });
  return [reasons, accounts.map(({ id }) => balances.get(id)!)];
}

/** `posted` or the reason of the refusal. */
export const reasonOf = (outcome: Outcome): string => outcome.refused?.reason ?? 'posted';
