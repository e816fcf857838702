import { type Rate, type CurrencyCode, inverse, isInstant, rateOf, Refusal } from '@banking/domain';
import { boundedFetch, ExpiringCache, fetchFailure } from '@banking/process';
import { ratesChannel, type DatedRate, noRate, type RateSource } from './rate-source.js';

/** The limit of `rateOf` on each side of the point, and of significant digits. */
const DIGITS_MAX = 15;

/**
 * The decimal that is shown and that conversions use: rounded down to 15 significant digits and at most 15 decimals. This decimal times
 * that of the reverse rate is at most 1, so no conversion there and back gains.
 *
 * Undefined for a rate that is too large or too small.
 */
export function writtenRate({ numerator, denominator }: Rate): string | undefined {
  const whole = numerator / denominator;
  const decimals = whole === 0n ? DIGITS_MAX : DIGITS_MAX - whole.toString().length;
  if (decimals < 0) return undefined;
  const digits = (numerator * 10n ** BigInt(decimals)) / denominator;
  if (digits === 0n) return undefined;
  const text = digits.toString().padStart(decimals + 1, '0');
  const point = text.length - decimals;
  return `${text.slice(0, point)}.${text.slice(point)}`.replace(/\.?0*$/, '');
}

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
type NoRate =
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

export interface HttpRateSourceOptions {
  /** It may contain a login or a key. Neither is logged or stored. */
  readonly url: string;
  /** The maximum age of rates, by their `asOf`. */
  readonly maxAgeMs: number;
  /** Receives the reason of each failed request. */
  readonly warn: (line: string) => void;
  /** The time of the database in milliseconds since 1970. It decides about the age of rates. */
  readonly databaseTime: () => Promise<number>;
  /** Milliseconds of a monotonic clock. Default: `performance.now()`. */
  readonly now?: () => number;
  /** For one request with its response. Default 5,000. */
  readonly timeoutMs?: number;
}

const TTL_MS = 60_000;
/** The time without a request after a failure: callers fail at once, and the source is not overloaded. */
const FAILURE_TTL_MS = 5_000;
/** The source's clock may be ahead of the database's by this. */
const AHEAD_MAX_MS = 60_000;
const BYTES_MAX = 1_048_576;

/** The reason why the source cannot be used, for the log. */
class SourceError extends Error {}

/**
 * Rates that are published as a document over HTTP. Requests the document when a rate is needed and the last response is a minute old.
 * After a failure, the last valid document is used until it is too old.
 */
export class HttpRateSource implements RateSource {
  private readonly url: string;
  private readonly headers: Readonly<Record<string, string>>;
  /** The origin of the URL, which contains no secret. */
  private readonly name: string;
  private readonly now: () => number;
  /** The time of the database minus that of `now`, as of the last request. */
  private offsetMs = NaN;
  private readonly cache: ExpiringCache<RateDocument>;
  /** The last valid document. It outlives the cache. */
  private lastDocument: RateDocument | undefined;
  /** Rates of the latest document that was used, by pair. */
  private known: { readonly document: RateDocument; readonly rates: Map<string, DatedRate> } | undefined;
  private hasFailed = false;

  constructor(private readonly options: HttpRateSourceOptions) {
    const url = new URL(options.url);
    const login = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
    this.headers = {
      accept: 'application/json',
      ...(login !== ':' && { authorization: `Basic ${Buffer.from(login).toString('base64')}` }),
    };
    url.username = url.password = '';
    this.url = url.href;
    this.name = url.origin;
    this.now = options.now ?? (() => performance.now());
    const { now: nowMs } = this;
    this.cache = new ExpiringCache({ entriesMax: 1, ttlMs: TTL_MS, failureTtlMs: FAILURE_TTL_MS, nowMs });
  }

  async rateOf(from: CurrencyCode, to: CurrencyCode): Promise<DatedRate> {
    // The reason of a failure is in the log, and the last document may still be valid.
    const refreshed = this.cache.get(this.url, () => this.load()).catch(() => undefined);
    // After a failure, a caller who can use the last document does not wait for the next request.
    if (!this.hasFailed || !this.lastDocument || this.faultOf(this.lastDocument)) await refreshed;
    const document = this.validDocument();
    const known = this.ratesOf(document);
    const pair = `${from}/${to}`;
    const dated = known.get(pair) ?? { ...this.rateIn(document, from, to), source: this.name, asOf: document.asOf };
    known.set(pair, dated);
    return dated;
  }

  /** Of the latest document only: at most all pairs of its currencies. */
  private ratesOf(document: RateDocument): Map<string, DatedRate> {
    if (this.known?.document !== document) this.known = { document, rates: new Map() };
    return this.known.rates;
  }

  private rateIn(document: RateDocument, from: CurrencyCode, to: CurrencyCode): Rate {
    const rate = crossRate(document, from, to);
    if ('lacks' in rate) throw noRate(from, to);
    if ('garbles' in rate) {
      this.options.warn(`The rates of ${this.name} are not used for ${rate.garbles}: it is not a decimal above zero.`);
      throw unavailable(`The rate of ${rate.garbles} cannot be read. Try again later, or choose another currency.`);
    }
    if ('garblesSpread' in rate) {
      const why = 'its spread is not one whole number of basis points from 0 to 9999';
      this.options.warn(`The rates of ${this.name} are not used for ${rate.garblesSpread}: ${why}.`);
      throw unavailable(`The rate from ${from} to ${to} cannot be read. Try again later, or choose another currency.`);
    }
    return rate;
  }

  private async load(): Promise<RateDocument> {
    try {
      this.offsetMs = (await this.databaseTime()) - this.now();
      const document = readRateDocument(await this.fetchText());
      if (!document) throw new SourceError('it is not the document that docs/books.md describes');
      const fault = this.faultOf(document) ?? this.formerFaultOf(document);
      if (fault) throw new SourceError(`its asOf, ${document.asOf}, is ${fault}`);
      [this.lastDocument, this.hasFailed] = [document, false];
      if (ratesChannel.hasSubscribers) ratesChannel.publish({ asOf: document.asOf });
      return document;
    } catch (error) {
      this.hasFailed = true;
      if (ratesChannel.hasSubscribers) ratesChannel.publish({});
      this.options.warn(`The source of rates at ${this.name} cannot be used: ${reasonOf(error)}.`);
      throw error;
    }
  }

  private validDocument(): RateDocument {
    const document = this.lastDocument;
    if (!document) throw unavailable('The source of rates gives none at the moment. Try again later.');
    const fault = this.faultOf(document);
    if (fault) throw unavailable(`The rates at hand are of ${document.asOf}, which is ${fault}. Try again later.`);
    return document;
  }

  private faultOf({ asOf }: RateDocument): string | undefined {
    const ageMs = this.now() + this.offsetMs - Date.parse(asOf);
    if (ageMs > this.options.maxAgeMs) return 'too old to deal at';
    return ageMs < -AHEAD_MAX_MS ? 'still to come' : undefined;
  }

  /** A cache on the way, or one of several servers of the source, may still send former rates: callers would choose the better of two. */
  private formerFaultOf({ asOf }: RateDocument): string | undefined {
    const last = this.lastDocument;
    return last && Date.parse(asOf) < Date.parse(last.asOf) ? 'before that of the rates at hand' : undefined;
  }

  private databaseTime(): Promise<number> {
    return this.options.databaseTime().catch(() => {
      throw new SourceError('the database did not tell the time, so the age of its rates is not known');
    });
  }

  private async fetchText(): Promise<string> {
    const { timeoutMs = 5_000 } = this.options;
    const limits = { bytesMax: BYTES_MAX, timeoutMs };
    const response = await boundedFetch(this.url, limits, { headers: this.headers, redirect: 'manual' });
    if (response.status !== 200) throw new SourceError(`it answered ${response.status}`);
    return new TextDecoder('utf-8', { fatal: true }).decode(await response.arrayBuffer());
  }
}

const unavailable = (message: string) => new Refusal('rate_unavailable', message);

function reasonOf(error: unknown): string {
  return error instanceof SourceError ? error.message : fetchFailure(error);
}
