import { canonicalJson } from './canonical-json.js';
import { present } from './present.js';

/** The details of a recipient that a transaction covers by their digest. None of them ever changes. */
export interface HashedRecipient {
  readonly id: number;
  readonly name: string;
  readonly accountCode: string;
  readonly currencyCode: string;
  /** Of an international recipient. */
  readonly corridorId?: number | undefined;
  /** The bank of an international recipient. */
  readonly routingCodeType?: string | undefined;
  readonly routingCode?: string | undefined;
}

/** The conversion of a transaction, which it covers by its digest. */
export interface HashedConversion {
  readonly quoteId?: number | undefined;
  readonly sourceCurrencyCode: string;
  /** Digits, in minor units. */
  readonly sourceAmount: string;
  readonly targetCurrencyCode: string;
  readonly targetAmount: string;
  readonly rate: string;
  readonly rateSource: string;
  /** In UTC with six fractional digits. */
  readonly rateAsOf: string;
  readonly rounding: string;
  /** Digits, in parts of a minor unit of the target currency. */
  readonly remainderNumerator: string;
  readonly remainderDenominator: string;
  readonly fixedSide: string;
}

/** The fields of an order as it was placed, which each of its transactions covers by their digest. */
export interface HashedOrder {
  readonly id: number;
  readonly accountId: number;
  readonly recipientId: number;
  /** Digits, in minor units. */
  readonly amount: string;
  readonly type: string;
  readonly description?: string | undefined;
  readonly purposeCode?: string | undefined;
  readonly repeatUnit?: string | undefined;
  readonly repeatValue?: number | undefined;
  /** As it was sent. */
  readonly startAt?: string | undefined;
  /** In UTC with six fractional digits. */
  readonly stopAt?: string | undefined;
  readonly quoteId?: number | undefined;
  readonly externalReference?: string | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

/** The text whose SHA-256 is the `recipientDigest` of a transfer: RFC 8785 JSON of exactly these fields. */
export function canonicalRecipient(recipient: HashedRecipient): string {
  const { id, name, accountCode, currencyCode, corridorId, routingCodeType, routingCode } = recipient;
  return canonicalJson(present({ id, name, accountCode, currencyCode, corridorId, routingCodeType, routingCode }));
}

/** The text whose SHA-256 is the `conversionDigest` of a transaction: RFC 8785 JSON of exactly these fields. */
export function canonicalConversion(conversion: HashedConversion): string {
  const { quoteId, sourceCurrencyCode, sourceAmount, targetCurrencyCode, targetAmount, fixedSide } = conversion;
  const { rate, rateSource, rateAsOf, rounding, remainderNumerator, remainderDenominator } = conversion;
  const amounts = { sourceCurrencyCode, sourceAmount, targetCurrencyCode, targetAmount, fixedSide };
  const rates = { rate, rateSource, rateAsOf, rounding, remainderNumerator, remainderDenominator };
  return canonicalJson({ ...amounts, ...rates, ...present({ quoteId }) });
}

/** The text whose SHA-256 is the `orderDigest` of a transaction: RFC 8785 JSON of exactly these fields. */
export function canonicalOrder(order: HashedOrder): string {
  const { id, accountId, recipientId, amount, type, description, purposeCode } = order;
  const { repeatUnit, repeatValue, startAt, stopAt, quoteId, externalReference, metadata } = order;
  return canonicalJson({
    ...{ id, accountId, recipientId, amount, type },
    ...present({ description, purposeCode, repeatUnit, repeatValue, startAt, stopAt }),
    ...present({ quoteId, externalReference, metadata: metadata && { ...metadata } }),
  });
}
