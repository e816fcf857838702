import { type CurrencyCode, inverse, isInstant, type Rate, rateOf } from '@banking/domain';

/** What a source of rates answers: what one whole unit of `base` costs in each currency, and since when. */
export interface RateDocument {
  readonly base: string;
  /** RFC 3339, with an offset. */
  readonly asOf: string;
  /** Decimals as they were written. What is none is found when it is asked for: a bad rate spoils its own currency only. */
  readonly rates: Readonly<Record<string, unknown>>;
  /** Basis points by pair, such as `USD/INR`, for both directions of it; 0 for a pair that is not there. Read when a rate is wanted. */
  readonly spreadBasisPoints?: Readonly<Record<string, unknown>>;
}

const PAIR = /^[A-Z]{3}\/[A-Z]{3}$/;
/** A spread takes less than the whole rate. */
const BASIS_POINTS = /^(0|[1-9][0-9]{0,3})$/;
const WHOLE = 10_000n;

/**
 * Reads `{"base":"USD","asOf":"2026-11-21T09:30:00Z","rates":{"INR":"83.12"},"spreadBasisPoints":{"USD/INR":25}}`, the last of which may
 * be left out. Rates may also be JSON numbers: they are taken as they are written, never as a float.
 *
 * Undefined for anything else. A spread whose key is no pair makes the text no document: its pair would have no spread.
 */
export function readRateDocument(text: string): RateDocument | undefined {
  const { base, asOf, rates, spreadBasisPoints } = parsed(text);
  const isDocument = typeof base === 'string' && typeof asOf === 'string' && isInstant(asOf) && isRecord(rates);
  if (!isDocument) return undefined;
  if (spreadBasisPoints === undefined) return { base, asOf, rates };
  const hasPairs = isRecord(spreadBasisPoints) && Object.keys(spreadBasisPoints).every((key) => PAIR.test(key));
  return hasPairs ? { base, asOf, rates, spreadBasisPoints } : undefined;
}

/** Why a document has no rate between two currencies. */
export type NoRate =
  | { readonly lacks: CurrencyCode }
  | { readonly garbles: CurrencyCode }
  /** A pair, as the document names it. */
  | { readonly garblesSpread: string };

/** The rate over the base less the spread of the pair, exactly. */
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

/** One spread for both directions: a pair that is there in both is read in neither. */
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
