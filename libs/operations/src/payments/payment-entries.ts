import { type MinorUnits, minorUnits } from '@banking/domain';
import type { HashedConversion, HashedOrder, HashedRecipient } from '@banking/domain/proof';
import { currencyCode, type Entry, type Leg } from '@banking/ledger';
import { feeLegs } from './charge-fee.js';
import { digestOfConversion, digestOfOrder, digestOfRecipient } from './hashed-details.js';
import { invalidRecipient, isElsewhere, type PayeeHere, statusOfPayment } from './payment-parties.js';
import type { ConversionTerms, PaymentTerms } from './payment-terms.js';
import { CONVERSION_ROUNDING } from './rounding.js';

/** A payment without its terms. */
export interface PaymentDetails {
  readonly workspaceId: number;
  readonly order: HashedOrder;
  readonly recipient: HashedRecipient;
}

/**
 * The entries of a payment: one in the payer's workspace, and one in the payee's if that is another workspace of this database. The
 * payee's half of a crossing is posted when it arrives (`arrivalEntry`).
 *
 * The account is debited by amount and fee. The fee is a transfer of its own, and is repeated for display on the payment's transfer. A
 * conversion goes through the workspace's fx accounts, so that each currency balances by itself. The payer's entry covers the order, its
 * conversion and the recipient by their digests.
 */
export function paymentEntries(payment: PaymentDetails, terms: PaymentTerms): Entry[] {
  const { workspaceId, order, recipient } = payment;
  const { accountId, description, purposeCode: purpose } = order;
  const amount = minorUnits(BigInt(order.amount));
  const { currencyId, targetCurrencyId, targetAmount, fee, conversion, payee } = terms;
  const payeeHere = payee && !isElsewhere(payee) ? payee : undefined;
  const isSettledHere = payee === undefined || payeeHere?.workspaceId === workspaceId;
  const type = conversion ? 'spot' : payee ? 'internal' : 'payout';
  const common = { type, description };
  const arriving = { ...common, currencyId: targetCurrencyId, amount: targetAmount };
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
    isSettledHere ? creditedLeg(arriving, payeeHere) : { ...arriving, account: 'interworkspace', direction: 'credit' },
    ...(fee > 0n ? feeLegs(accountId, currencyId, fee) : []),
  ];
  const digests = {
    orderDigest: digestOfOrder(order),
    conversionDigest: conversion && digestOfConversion(convertedBy(order, terms, conversion)),
  };
  const entry: Entry = { workspaceId, status: statusOfPayment(payee), legs, ...digests };
  return isSettledHere || !payeeHere ? [entry] : [entry, arrivalEntry(payeeHere, arriving)];
}

/** A payment of another workspace as it arrives: the type and the text of its transfers, and the amount in the currency of the payee. */
export interface Arriving {
  readonly type: string;
  readonly description?: string | undefined;
  readonly currencyId: number;
  readonly amount: MinorUnits;
}

/** The payee's half of a payment between workspaces. */
export function arrivalEntry(payee: PayeeHere, arriving: Arriving): Entry {
  return {
    workspaceId: payee.workspaceId,
    status: 'completed',
    legs: [creditedLeg(arriving, payee), { ...arriving, account: 'interworkspace', direction: 'debit' }],
  };
}

const creditedLeg = (arriving: Arriving, payee: PayeeHere | undefined): Leg => ({
  ...arriving,
  account: payee?.accountId ?? 'settlement',
  direction: 'credit',
  ...(payee && { refusedAs: invalidRecipient('The account of the recipient takes no such payment.') }),
});

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
