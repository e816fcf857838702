import type { MinorUnits } from '@banking/domain';
import type { Entry, Leg, Proposal } from '../proposal.js';

/** The workspace and the currency of a proposal. The default is euros in the first workspace. */
export interface Place {
  readonly workspaceId?: number;
  readonly currencyId?: number;
}

/** One balanced transaction of these legs, alone in its proposal. */
export function proposal(legs: readonly Leg[], more: Partial<Entry> = {}): Proposal {
  return { entries: [{ workspaceId: 1, status: 'completed', legs, ...more }] };
}

export function funding(to: number, amount: MinorUnits, { workspaceId = 1, currencyId = 978 }: Place = {}): Proposal {
  const leg = { currencyId, amount, type: 'funding' };
  const legs: Leg[] = [
    { ...leg, account: to, direction: 'credit' },
    { ...leg, account: 'settlement', direction: 'debit' },
  ];
  return proposal(legs, { workspaceId });
}

export function payment(from: number, to: number, amount: MinorUnits, place: Place = {}): Proposal {
  const { workspaceId = 1, currencyId = 978 } = place;
  const leg = { currencyId, amount, type: 'internal' };
  const legs: Leg[] = [
    { ...leg, account: from, direction: 'debit' },
    { ...leg, account: to, direction: 'credit' },
  ];
  return proposal(legs, { workspaceId });
}

/** A payout with its fee. */
export function payout(from: number, amount: MinorUnits, fee: MinorUnits, place: Place = {}): Proposal {
  const { workspaceId = 1, currencyId = 978 } = place;
  const details = {
    description: 'Invoice 2107',
    purpose: 'IR001',
    recipientId: 12,
    recipientDigest: 'd'.repeat(64),
    feeAmount: fee,
  };
  const legs: Leg[] = [
    { account: from, currencyId, amount, type: 'payout', direction: 'debit', ...details },
    { account: 'settlement', currencyId, amount, type: 'payout', direction: 'credit' },
    { account: from, currencyId, amount: fee, type: 'fee', direction: 'debit' },
    { account: 'fees', currencyId, amount: fee, type: 'fee', direction: 'credit' },
  ];
  return proposal(legs, { workspaceId, status: 'pending' });
}

/** A return to an account. */
export function comeback(to: number, amount: MinorUnits, { workspaceId = 1, currencyId = 978 }: Place = {}): Proposal {
  const leg = { currencyId, amount, type: 'return' };
  const legs: Leg[] = [
    { ...leg, account: to, direction: 'credit' },
    { ...leg, account: 'settlement', direction: 'debit' },
  ];
  return proposal(legs, { workspaceId });
}

/** A payment between workspaces, with an entry in the books of each. */
export function crossing(
  from: { readonly workspaceId: number; readonly account: number },
  to: { readonly workspaceId: number; readonly account: number },
  amount: MinorUnits,
  currencyId = 978,
): Proposal {
  const leg = { currencyId, amount, type: 'internal' };
  const [debit] = proposal(
    [
      { ...leg, account: from.account, direction: 'debit' },
      { ...leg, account: 'interworkspace', direction: 'credit' },
    ],
    { workspaceId: from.workspaceId },
  ).entries;
  const [credit] = proposal(
    [
      { ...leg, account: 'interworkspace', direction: 'debit' },
      { ...leg, account: to.account, direction: 'credit' },
    ],
    { workspaceId: to.workspaceId },
  ).entries;
  return { entries: [debit!, credit!] };
}
