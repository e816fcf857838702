import { type CurrencyCode, inverse, isInstant, type Rate, rateOf } from '@banking/domain';

/** What a source of rates answers: what one whole unit of `base` costs in each currency, and since when. */
export interface RateDocument {
  readonly base: string;
  /** RFC 3339, with an offset. */
  readonly asOf: string;
  /** Decimals as they were written. What is none is found when it is asked for: a bad rate spoils its own currency only. */
  readonly rates: Readonly<Record<string, unknown>>;
}

/**
 * Reads `{"base":"USD","asOf":"2026-11-21T09:30:00Z","rates":{"INR":"83.12"}}`. Rates may also be JSON numbers: they are taken as they
 * are written, never as a float. Undefined for anything else.
 */
export function readRateDocument(text: string): RateDocument | undefined {
  const { base, asOf, rates } = parsed(text);
  const isDocument = typeof base === 'string' && typeof asOf === 'string' && isInstant(asOf) && isRecord(rates);
  return isDocument ? { base, asOf, rates } : undefined;
}

/** Why a document has no rate between two currencies. */
export type NoRate = { readonly lacks: CurrencyCode } | { readonly garbles: CurrencyCode };

/** The rate over the base, exactly. */
export function crossRate(document: RateDocument, from: CurrencyCode, to: CurrencyCode): Rate | NoRate {
  const bought = fromBase(document, from);
  if (!('numerator' in bought)) return bought;
  const sold = fromBase(document, to);
  if (!('numerator' in sold)) return sold;
  const toBase = inverse(bought);
  return { from, to, numerator: toBase.numerator * sold.numerator, denominator: toBase.denominator * sold.denominator };
}

function fromBase({ base, rates }: RateDocument, currency: CurrencyCode): Rate | NoRate {
  if (currency === base) return rateOf(currency, currency, '1');
  if (!Object.hasOwn(rates, currency)) return { lacks: currency };
  const written = rates[currency];
  try {
    if (typeof written === 'string') return rateOf(currency, currency, written);
  } catch {
    // Said below, as of what is no text at all.
  }
  return { garbles: currency };
}

const NUMBER_OR_TEXT = /"[^"\\]*(?:\\.[^"\\]*)*"|-?[0-9][0-9.eE+-]*/g;

/** JSON whose numbers are the texts they were written as. */
function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    JSON.parse(text);
    const quoted = text.replace(NUMBER_OR_TEXT, (token) => (token.startsWith('"') ? token : `"${token}"`));
    const value: unknown = JSON.parse(quoted);
    return isRecord(value) ? value : {};
  } catch {
    return {};
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
