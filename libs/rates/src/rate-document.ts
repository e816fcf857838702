import { type CurrencyCode, inverse, isInstant, type Rate, rateOf } from '@banking/domain';

/** A document of rates: the price of one unit of `base` in each currency, and its time. */
export interface RateDocument {
  readonly base: string;
  /** RFC 3339, with an offset. */
  readonly asOf: string;
  /** Decimals as written. A rate is validated when it is used, so an invalid one affects its currency only. */
  readonly rates: Readonly<Record<string, unknown>>;
  /** Basis points by pair, such as `USD/INR`, for both directions. 0 for a missing pair. Validated when it is used. */
  readonly spreadBasisPoints?: Readonly<Record<string, unknown>>;
}

const PAIR = /^[A-Z]{3}\/[A-Z]{3}$/;
/** 0 to 9999: less than the whole rate. */
const BASIS_POINTS = /^(0|[1-9][0-9]{0,3})$/;
const WHOLE = 10_000n;

/**
 * Reads `{"base":"USD","asOf":"2026-11-21T09:30:00Z","rates":{"INR":"83.12"},"spreadBasisPoints":{"USD/INR":25}}`. The last field is
 * optional. Rates may also be JSON numbers: they are read as written, never as floats.
 *
 * Undefined for any other text. A spread whose key is not a pair invalidates the document: its pair would have no spread.
 */
export function readRateDocument(text: string): RateDocument | undefined {
  const { base, asOf, rates, spreadBasisPoints } = parsed(text);
  const isDocument = typeof base === 'string' && typeof asOf === 'string' && isInstant(asOf) && isRecord(rates);
  if (!isDocument) return undefined;
  if (spreadBasisPoints === undefined) return { base, asOf, rates };
  const hasPairs = isRecord(spreadBasisPoints) && Object.keys(spreadBasisPoints).every((key) => PAIR.test(key));
  return hasPairs ? { base, asOf, rates, spreadBasisPoints } : undefined;
}

/** The reason why a document has no rate between two currencies. */
export type NoRate =
  | { readonly lacks: CurrencyCode }
  | { readonly garbles: CurrencyCode }
  /** A pair as written in the document. */
  | { readonly garblesSpread: string };

/** The exact cross rate over the base, minus the spread of the pair. */
export function crossRate(document: RateDocument, from: CurrencyCode, to: CurrencyCode): Rate | NoRate {
  const bought = fromBase(document, from);
  if (!('numerator' in bought)) return bought;
  const sold = fromBase(document, to);
  if (!('numerator' in sold)) return sold;
  const spread = spreadOf(document, from, to);
  if (typeof spread !== 'bigint') return spread;
  const toBase = inverse(bought);
  const [numerator, denominator] = [toBase.numerator * sold.numerator, toBase.denominator * sold.denominator];
  if (spread === 0n) return { from, to, numerator, denominator };
  return { from, to, numerator: numerator * (WHOLE - spread), denominator: denominator * WHOLE };
}

/** One spread for both directions. A document with both directions of a pair is ambiguous: none is used. */
function spreadOf({ spreadBasisPoints = {} }: RateDocument, from: CurrencyCode, to: CurrencyCode): bigint | NoRate {
  const [key, other] = [`${from}/${to}`, `${to}/${from}`].filter((pair) => Object.hasOwn(spreadBasisPoints, pair));
  if (key === undefined) return 0n;
  const written = spreadBasisPoints[key];
  const isReadable = other === undefined && typeof written === 'string' && BASIS_POINTS.test(written);
  return isReadable ? BigInt(written) : { garblesSpread: key };
}

function fromBase({ base, rates }: RateDocument, currency: CurrencyCode): Rate | NoRate {
  if (currency === base) return rateOf(currency, currency, '1');
  if (!Object.hasOwn(rates, currency)) return { lacks: currency };
  const written = rates[currency];
  try {
    if (typeof written === 'string') return rateOf(currency, currency, written);
  } catch {
    // The rate is invalid, as one that is not a string: see below.
  }
  return { garbles: currency };
}

const NUMBER_OR_TEXT = /"[^"\\]*(?:\\.[^"\\]*)*"|-?[0-9][0-9.eE+-]*/g;

/** Parses JSON and keeps each number as the text that was written. */
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
