import { type MinorUnits, minorUnits } from '@banking/domain';
import type { HashedConversion, HashedOrder, HashedRecipient } from '@banking/domain/proof';
import { currencyCode, type Entry, type Leg } from '@banking/ledger';
import { feeLegs } from './charge-fee.js';
import { digestOfConversion, digestOfOrder, digestOfRecipient } from './hashed-details.js';
import { invalidRecipient } from './payment-parties.js';
import type { ConversionTerms, PaymentTerms } from './payment-terms.js';
import { CONVERSION_ROUNDING } from './rounding.js';

/** A payment without its terms. */
export interface PaymentDetails {
  readonly workspaceId: number;
  readonly order: HashedOrder;
  readonly recipient: HashedRecipient;
  /** `YYYY-MM-DD` */
  readonly valueDate: string;
}

/**
 * The entries of a payment: one in the payer's workspace, and one in the payee's if that is another workspace.
 *
 * The account is debited by amount and fee. The fee is a transfer of its own, and is repeated for display on the payment's transfer. A
 * conversion goes through the workspace's fx accounts, so that each currency balances by itself. The payer's entry covers the order, its
 * conversion and the recipient by their digests.
 */
export function paymentEntries(payment: PaymentDetails, terms: PaymentTerms): Entry[] {
  const { workspaceId, order, recipient, valueDate } = payment;
  const { accountId, description, purposeCode: purpose } = order;
  const amount = minorUnits(BigInt(order.amount));
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
      recipientId: recipient.id,
      recipientDigest: digestOfRecipient(recipient),
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
  const digests = {
    orderDigest: digestOfOrder(order),
    conversionDigest: conversion && digestOfConversion(convertedBy(order, terms, conversion)),
  };
  const entry: Entry = { workspaceId, status, valueDate, legs, ...digests };
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

/** The conversion of a payment as it is stored. */
function convertedBy(
  { quoteId, amount }: HashedOrder,
  { currencyId, targetCurrencyId, targetAmount }: PaymentTerms,
  conversion: ConversionTerms,
): HashedConversion {
  return {
    ...conversion,
    quoteId,
    sourceCurrencyCode: currencyCode(currencyId),
    sourceAmount: amount,
    targetCurrencyCode: currencyCode(targetCurrencyId),
    targetAmount: targetAmount.toString(),
    rounding: CONVERSION_ROUNDING,
  };
}
