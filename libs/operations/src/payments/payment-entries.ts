import { type MinorUnits, minorUnits, type Refusal, type RefusalReason } from '@banking/domain';
import {
  canonicalConversion,
  canonicalOrder,
  canonicalOrderTexts,
  canonicalPerson,
  canonicalRecipient,
  type HashedConversion,
  type HashedOrder,
  type HashedRecipient,
  type OrderTexts,
  type RecipientPerson,
} from '@banking/domain/proof';
import {
  balanceAfter,
  type Conversion,
  currencyCode,
  digestNow,
  type Entry,
  type Leg,
  type OwnAccountKind,
} from '@banking/ledger';
import type { Database } from '@banking/postgres';
import {
  CONVERSION_ROUNDING,
  invalidRecipient,
  isElsewhere,
  type NamedPayment,
  type PayeeHere,
  type PaymentFacts,
  readPaymentFacts,
  statusOfPayment,
} from './payment-facts.js';
import { refusedField } from './field-refusal.js';
import type { ConversionTerms, PaymentTerms } from './payment-terms.js';
import { feeLegs } from './price-payment.js';

/** A payment without its terms. */
interface PaymentDetails {
  readonly workspaceId: number;
  readonly order: HashedOrder;
  /** Of the order: the text of the transfers of customers. */
  readonly description?: string | undefined;
  readonly recipient: HashedRecipient;
}

/**
 * The entries of a payment: one in the payer's workspace, and one in the payee's if that is another workspace of this database. The
 * payee's half of a crossing is posted when it arrives (`arrivalEntry`).
 *
 * The account is debited by amount and fee. The fee is a transfer of its own, and is repeated for display on the payment's transfer. A
 * conversion goes through the workspace's fx accounts, so that each currency balances by itself. The payer's entry covers the order, its
 * conversion and the recipient by their digests.
 *
 * Field by field: spreading legs took most of the time of these entries.
 */
export function paymentEntries(payment: PaymentDetails, terms: PaymentTerms): Entry[] {
  const { workspaceId, order, description, recipient } = payment;
  const { accountId, purposeCode: purpose } = order;
  const amount = minorUnits(BigInt(order.amount));
  const { currencyId, targetCurrencyId, targetAmount, fee, conversion, payee, rail, termsChangeId, convertedAmounts } =
    terms;
  const payeeHere = payee && !isElsewhere(payee) ? payee : undefined;
  const ownPayee = payeeHere?.workspaceId === workspaceId ? payeeHere : undefined;
  const type = conversion ? 'spot' : payee ? 'internal' : 'payout';
  const arriving: Arriving = { type, description, currencyId: targetCurrencyId, amount: targetAmount };
  const legs: Leg[] = [
    {
      type,
      description,
      purpose,
      recipientId: recipient.id,
      recipientDigest: knownDigestOf(recipient),
      account: accountId,
      currencyId,
      direction: 'debit',
      amount,
      feeAmount: fee > 0n ? fee : undefined,
    },
  ];
  if (conversion) {
    // The paid amount goes to the fx account of its currency. The arriving amount comes from the fx account of the other.
    legs.push(
      { type, account: 'fx', currencyId, direction: 'credit', amount },
      { type, account: 'fx', currencyId: targetCurrencyId, direction: 'debit', amount: targetAmount },
    );
  }
  if (ownPayee) legs.push(creditedLeg(arriving, ownPayee, refusedOwnAccount));
  else legs.push(ownLeg(payee ? 'interworkspace' : 'settlement', 'credit', arriving));
  if (fee > 0n) legs.push(...feeLegs(accountId, currencyId, fee));
  const entry: Entry = {
    workspaceId,
    status: statusOfPayment(payee),
    legs,
    orderDigest: digestOfOrder(order),
    conversion: conversion && conversionOf(order, terms, conversion),
    rail,
    termsChangeId,
    convertedAmounts: convertedAmounts?.length ? convertedAmounts : undefined,
  };
  return ownPayee || !payeeHere ? [entry] : [entry, arrivalEntry(payeeHere, arriving)];
}

/** A payment of another workspace as it arrives: the type and the text of its transfers, and the amount in the currency of the payee. */
interface Arriving {
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
    legs: [creditedLeg(arriving, payee, refusedAccountOfOthers), ownLeg('interworkspace', 'debit', arriving)],
  };
}

const ownLeg = (account: OwnAccountKind, direction: Leg['direction'], { type, currencyId, amount }: Arriving): Leg => ({
  type,
  account,
  currencyId,
  direction,
  amount,
});

function creditedLeg(
  { type, description, currencyId, amount }: Arriving,
  { accountId }: PayeeHere,
  refusedAs: RefusedPayee,
): Leg {
  return { type, description, account: accountId, currencyId, direction: 'credit', amount, refusedAs };
}

type RefusedPayee = (reason: RefusalReason) => Refusal;

const refusedOwnAccount: RefusedPayee = (reason) =>
  reason === 'balance_limit_exceeded'
    ? refusedField('recipientID', reason)
    : invalidRecipient('The account of the recipient is disabled. Enable it, or name another recipient.');

/** One refusal whatever the fault is, so that a payer learns nothing of the state of the account. */
const refusedAccountOfOthers: RefusedPayee = () =>
  invalidRecipient('The account of the recipient takes no such payment.');

/**
 * Refuses a payment that the account of the payee takes at no balance, as its posting would be refused. The balance is taken as zero,
 * because it may change until the posting, and amounts that are tried must not disclose it.
 *
 * @param workspaceId that of the payer
 * @throws Refusal `recipient_invalid`, `balance_limit_exceeded`
 */
export function checkPayee(workspaceId: number, payee: PayeeHere, status: string, amount: MinorUnits): void {
  const refusedAs = payee.workspaceId === workspaceId ? refusedOwnAccount : refusedAccountOfOthers;
  balanceAfter({ status, balance: 0n }, { type: 'internal', direction: 'credit', amount, refusedAs });
}

/** The conversion of a payment as it is stored, with the digest that its transaction covers. */
function conversionOf(
  { quoteId, amount: sourceAmount }: HashedOrder,
  { currencyId, targetCurrencyId, targetAmount: arriving }: PaymentTerms,
  conversion: ConversionTerms,
): Conversion {
  const { rate, rateSource, rateAsOf, remainderNumerator, remainderDenominator, fixedSide } = conversion;
  const targetAmount = arriving.toString();
  const rounding = CONVERSION_ROUNDING;
  const digest = digestOfConversion({
    rate,
    rateSource,
    rateAsOf,
    remainderNumerator,
    remainderDenominator,
    fixedSide,
    quoteId,
    sourceCurrencyCode: currencyCode(currencyId),
    sourceAmount,
    targetCurrencyCode: currencyCode(targetCurrencyId),
    targetAmount,
    rounding,
  });
  return {
    digest,
    quoteId,
    currencyId,
    amount: sourceAmount,
    targetCurrencyId,
    targetAmount,
    rate,
    rateSource,
    rateAsOf,
    rounding,
    remainderNumerator,
    remainderDenominator,
    fixedSide,
  };
}

/** The details of a recipient as they were read. The fields never change, so no lock is needed. */
export function recipientOf(id: number, facts: PaymentFacts): HashedRecipient {
  const known = recipients.get(facts);
  if (known?.id === id) return known;
  const recipient = {
    id,
    personDigest: facts.recipient_person_digest,
    currencyCode: facts.recipient_currency,
    corridorId: facts.corridor_id === null ? undefined : Number(facts.corridor_id),
    routingCodeType: facts.routing_code_type ?? undefined,
    routingCode: facts.routing_code ?? undefined,
  };
  recipients.set(facts, recipient);
  return recipient;
}

/** As long as their facts are remembered. */
const recipients = new WeakMap<PaymentFacts, HashedRecipient>();

/** Of recipients that are remembered: their details never change. */
const digests = new WeakMap<HashedRecipient, string>();

function knownDigestOf(recipient: HashedRecipient): string {
  let digest = digests.get(recipient);
  if (digest === undefined) digests.set(recipient, (digest = digestOfRecipient(recipient)));
  return digest;
}

export const digestOfRecipient = (recipient: HashedRecipient): string => digestNow(canonicalRecipient(recipient));

export const digestOfConversion = (conversion: HashedConversion): string => digestNow(canonicalConversion(conversion));

export const digestOfPerson = (person: RecipientPerson): string => digestNow(canonicalPerson(person));

export const digestOfOrderTexts = (texts: OrderTexts): string => digestNow(canonicalOrderTexts(texts));

export const digestOfOrder = (order: HashedOrder): string => digestNow(canonicalOrder(order));

/** The digest of a recipient for a payment that is booked without an order. The recipient must exist. */
export async function readRecipientDigest(
  database: Database,
  payment: NamedPayment & { readonly recipientId: number },
): Promise<string> {
  const [facts] = await readPaymentFacts(database, [payment], false);
  if (!facts?.recipient_kind) throw new Error(`there is no recipient ${payment.recipientId}`);
  return digestOfRecipient(recipientOf(payment.recipientId, facts));
}
