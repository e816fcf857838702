import { type CurrencyCode, type MinorUnits, minorUnits, Refusal } from '@banking/domain';
import type { PaymentFacts } from './payment-facts.js';

/** The limits of a corridor. They are inclusive, in minor units of `limitCurrency`. */
export interface PaidCorridor {
  readonly id: number;
  readonly enabled: boolean;
  readonly payoutMethod: string;
  readonly limitCurrency: CurrencyCode;
  readonly minimum: MinorUnits;
  readonly maximum: MinorUnits;
  /** The minimum of the correspondent banks, in minor units of the recipient's currency. */
  readonly swiftMinimum?: MinorUnits;
}

/** The currencies and the corridor of a payment. A payment to an internal account has no corridor. */
export interface PaymentParties {
  readonly from: CurrencyCode;
  readonly to: CurrencyCode;
  readonly recipient?: { readonly corridor?: PaidCorridor };
}

/** The internal account that is paid: in this database, or in another one of the deployment. */
export type Payee = PayeeHere | PayeeElsewhere;

export interface PayeeHere {
  readonly workspaceId: number;
  readonly accountId: number;
}

/** It is paid by a crossing. */
export interface PayeeElsewhere {
  readonly accountCode: string;
}

export const isElsewhere = (payee: Payee): payee is PayeeElsewhere => 'accountCode' in payee;

/** A payout is pending until the network reports its final status, and a crossing until it has arrived. */
export const statusOfPayment = (payee: Payee | undefined): 'completed' | 'pending' =>
  payee && !isElsewhere(payee) ? 'completed' : 'pending';

/** @throws Refusal `account_not_found`, `account_disabled` */
export function payerOf(facts: PaymentFacts): { readonly from: CurrencyCode; readonly currencyId: number } {
  const { payer_currency: from, payer_currency_id: currencyId } = facts;
  if (from === null || currencyId === null) throw new Refusal('account_not_found');
  if (facts.payer_status !== 'enabled') throw new Refusal('account_disabled');
  return { from, currencyId };
}

/**
 * The parties of a payment, for quotes and orders. Without a payee it is a payout, which needs a payment network: without one it would be
 * debited and never leave.
 *
 * @throws Refusal `account_not_found`, `account_disabled`, `recipient_invalid`, `payouts_unavailable`
 */
export function partiesOf(
  facts: PaymentFacts,
  accountId: number,
  hasPayoutNetwork: boolean,
): PaymentParties & { readonly payee?: Payee } {
  const { from } = payerOf(facts);
  const payee = payeeOf(facts, accountId);
  if (!payee && !hasPayoutNetwork) throw new Refusal('payouts_unavailable');
  const corridor = corridorOf(facts);
  return { from, to: facts.recipient_currency, recipient: { ...(corridor && { corridor }) }, ...(payee && { payee }) };
}

function payeeOf(facts: PaymentFacts, accountId: number): Payee | undefined {
  if (facts.recipient_kind === null) throw invalidRecipient('The workspace has no recipient with this id.');
  if (facts.recipient_kind === 'international') return undefined;
  if (facts.payee_is_elsewhere) return { accountCode: facts.recipient_account_code };
  if (facts.payee_account_id === null) throw invalidRecipient('The account of the recipient does not exist any more.');
  const payee = { workspaceId: Number(facts.payee_workspace_id), accountId: Number(facts.payee_account_id) };
  if (payee.accountId === accountId)
    throw invalidRecipient('The recipient is the paying account itself. Name another recipient.');
  return payee;
}

/** The refusal for a recipient that cannot be paid. */
export function invalidRecipient(message: string): Refusal {
  return new Refusal('recipient_invalid', message, {
    details: [{ path: '/recipientID', reason: 'recipient_invalid', message }],
  });
}

function corridorOf(facts: PaymentFacts): PaidCorridor | undefined {
  if (facts.corridor_id === null) return undefined;
  return {
    id: Number(facts.corridor_id),
    enabled: facts.corridor_enabled,
    payoutMethod: facts.payout_method,
    limitCurrency: facts.limit_currency,
    minimum: minorUnits(facts.minimum_amount),
    maximum: minorUnits(facts.maximum_amount),
    ...(facts.swift_minimum !== null && { swiftMinimum: minorUnits(facts.swift_minimum) }),
  };
}
