import type { MinorUnits } from '@banking/domain';
import type { Entry, Leg } from '@banking/ledger';
import { feeLegs } from './charge-fee.js';
import { invalidRecipient } from './payment-parties.js';
import type { PaymentTerms } from './payment-terms.js';

/** A payment without its terms. */
export interface PaymentDetails {
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
 * The entries of a payment: one in the payer's workspace, and one in the payee's if that is another workspace.
 *
 * The account is debited by amount and fee. The fee is a transfer of its own, and is repeated for display on the payment's transfer. A
 * conversion goes through the workspace's fx accounts, so that each currency balances by itself.
 */
export function paymentEntries(payment: PaymentDetails, terms: PaymentTerms): Entry[] {
  const { workspaceId, accountId, recipientId, amount, description, purposeCode: purpose, valueDate } = payment;
  const { currencyId, targetCurrencyId, targetAmount, fee, conversion, payee } = terms;
  const isSameWorkspace = payee !== undefined && payee.workspaceId === workspaceId;
  const type = conversion ? 'spot' : payee ? 'internal' : 'payout';
  const common = { type, description };
  const arriving = { ...common, currencyId: targetCurrencyId, amount: targetAmount };
  const credited: Leg = {
    ...arriving,
    account: payee?.accountId ?? 'settlement',
    direction: 'credit',
    ...(payee && { refusedAs: invalidRecipient('The account of the recipient takes no such payment.') }),
  };

  const legs: Leg[] = [
    {
      ...common,
      purpose,
      recipientId,
      account: accountId,
      currencyId,
      direction: 'debit',
      amount,
      ...(fee > 0n && { feeAmount: fee }),
    },
    ...(conversion ? exchange(common, currencyId, amount, targetCurrencyId, targetAmount) : []),
    payee && !isSameWorkspace ? { ...arriving, account: 'interworkspace', direction: 'credit' } : credited,
    ...(fee > 0n ? feeLegs(accountId, currencyId, fee) : []),
  ];
  const status = payee ? 'completed' : 'pending';
  const entry: Entry = { workspaceId, status, valueDate, legs };
  if (!payee || isSameWorkspace) return [entry];

  const other: Leg = { ...arriving, account: 'interworkspace', direction: 'debit' };
  return [entry, { workspaceId: payee.workspaceId, status, valueDate, legs: [credited, other] }];
}

/** The paid amount goes to the fx account of its currency. The arriving amount comes from the fx account of the other. */
function exchange(
  common: Pick<Leg, 'type' | 'description'>,
  currencyId: number,
  amount: MinorUnits,
  targetCurrencyId: number,
  targetAmount: MinorUnits,
): Leg[] {
  return [
    { ...common, account: 'fx', currencyId, direction: 'credit', amount },
    { ...common, account: 'fx', currencyId: targetCurrencyId, direction: 'debit', amount: targetAmount },
  ];
}
