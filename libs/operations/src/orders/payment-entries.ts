import type { MinorUnits } from '@banking/domain';
import type { Entry, Leg } from '@banking/ledger';
import { invalidRecipient } from '../quotes/payment-parties.js';
import type { PaymentTerms } from './payment-terms.js';

/** What stands on the movements, besides the terms. */
export interface PaymentText {
  readonly workspaceId: number;
  readonly accountId: number;
  readonly recipientId: number;
  readonly amount: MinorUnits;
  readonly description?: string | undefined;
  readonly purposeCode?: string | undefined;
  /** `YYYY-MM-DD` */
  readonly valueDate: string;
}

/**
 * A payment as the books take it: one transaction, and one in the other workspace where the money goes there.
 *
 * The account is debited amount and fee; the fee is a transfer of its own, repeated for display on the movement it belongs to. A
 * conversion goes through our fx accounts, so that each currency balances by itself.
 */
export function paymentEntries(payment: PaymentText, terms: PaymentTerms): Entry[] {
  const { workspaceId, accountId, recipientId, amount, description, purposeCode: purpose, valueDate } = payment;
  const { currencyId, targetCurrencyId, targetAmount, fee, conversion, payee } = terms;
  const isNear = payee !== undefined && payee.workspaceId === workspaceId;
  const type = conversion ? 'spot' : payee ? 'internal' : 'payout';
  const said = { type, description };
  const arriving = { ...said, currencyId: targetCurrencyId, amount: targetAmount };
  const credited: Leg = {
    ...arriving,
    account: payee?.accountId ?? 'settlement',
    direction: 'credit',
    ...(payee && { refusedAs: invalidRecipient('The account of the recipient takes no such payment.') }),
  };

  const legs: Leg[] = [
    { ...said, purpose, recipientId, account: accountId, currencyId, direction: 'debit', amount, ...(fee > 0n && { feeAmount: fee }) }, // prettier-ignore
    ...(conversion ? exchange(said, currencyId, amount, targetCurrencyId, targetAmount) : []),
    payee && !isNear ? { ...arriving, account: 'interworkspace', direction: 'credit' } : credited,
    ...(fee > 0n ? feeLegs(accountId, currencyId, fee) : []),
  ];
  const status = payee ? 'completed' : 'pending';
  const entry: Entry = { workspaceId, status, valueDate, legs };
  if (!payee || isNear) return [entry];

  const other: Leg = { ...arriving, account: 'interworkspace', direction: 'debit' };
  return [entry, { workspaceId: payee.workspaceId, status, valueDate, legs: [credited, other] }];
}

/** What was paid goes to our position in its currency, and what arrives comes from our position in the other. */
function exchange(
  said: Pick<Leg, 'type' | 'description'>,
  currencyId: number,
  amount: MinorUnits,
  targetCurrencyId: number,
  targetAmount: MinorUnits,
): Leg[] {
  return [
    { ...said, account: 'fx', currencyId, direction: 'credit', amount },
    { ...said, account: 'fx', currencyId: targetCurrencyId, direction: 'debit', amount: targetAmount },
  ];
}

function feeLegs(accountId: number, currencyId: number, amount: MinorUnits): Leg[] {
  const leg = { currencyId, amount, type: 'fee' };
  return [
    { ...leg, account: accountId, direction: 'debit' },
    { ...leg, account: 'fees', direction: 'credit' },
  ];
}
