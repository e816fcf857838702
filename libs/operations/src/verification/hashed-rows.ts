import type { HashedConversion, HashedOrder, HashedRecipient } from '@banking/domain/proof';
import { currencyCode } from '@banking/ledger';

/** A recipient as JSON, from its row `r` and its beneficiary `n`. Currencies are ids. */
export const RECIPIENT_JSON = `json_strip_nulls(json_build_object(
  'id', r.id, 'name', r.name, 'accountCode', r.account_code, 'currencyId', r.currency_id, 'corridorId', r.corridor_id,
  'routingCodeType', n.data ->> 'routingCodeType1', 'routingCode', n.data ->> 'routingCodeValue1'))`;

/** An order as JSON, from its row `o`. */
export const ORDER_JSON = `json_strip_nulls(json_build_object(
  'id', o.id, 'accountId', o.account_id, 'recipientId', o.recipient_id, 'amount', o.amount::text, 'type', o.type,
  'description', o.description, 'purposeCode', o.purpose_code, 'repeatUnit', o.repeat_unit, 'repeatValue', o.repeat_value,
  'startAt', o.anchor, 'stopAt', rfc3339(o.stop_at), 'quoteId', o.quote_id, 'externalReference', o.external_reference,
  'metadata', o.metadata))`;

/** A conversion as JSON, from its row `c`. Currencies are ids. */
export const CONVERSION_JSON = `json_strip_nulls(json_build_object(
  'quoteId', c.quote_id, 'sourceCurrencyId', c.source_currency_id, 'sourceAmount', c.source_amount::text,
  'targetCurrencyId', c.target_currency_id, 'targetAmount', c.target_amount::text, 'rate', c.rate, 'rateSource', c.rate_source,
  'rateAsOf', rfc3339(c.rate_as_of), 'rounding', c.rounding, 'remainderNumerator', c.remainder_numerator::text,
  'remainderDenominator', c.remainder_denominator::text, 'fixedSide', c.fixed_side))`;

export type OrderJson = HashedOrder;
export type RecipientJson = Omit<HashedRecipient, 'currencyCode'> & { readonly currencyId: number };
export type ConversionJson = Omit<HashedConversion, 'sourceCurrencyCode' | 'targetCurrencyCode'> & {
  readonly sourceCurrencyId: number;
  readonly targetCurrencyId: number;
};

export function recipientFrom({ currencyId, ...recipient }: RecipientJson): HashedRecipient {
  return { ...recipient, currencyCode: currencyCode(currencyId) };
}

export function conversionFrom({
  sourceCurrencyId,
  targetCurrencyId,
  ...conversion
}: ConversionJson): HashedConversion {
  return {
    ...conversion,
    sourceCurrencyCode: currencyCode(sourceCurrencyId),
    targetCurrencyCode: currencyCode(targetCurrencyId),
  };
}
