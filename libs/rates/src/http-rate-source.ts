import { type CurrencyCode, Refusal } from '@banking/domain';
import { boundedFetch, ExpiringCache, ResponseTooLargeError } from '@banking/process';
import { crossRate, readRateDocument, type RateDocument } from './rate-document.js';
import { ratesChannel } from './rates-channel.js';
import { type DatedRate, noRate, type RateSource } from './rate-source.js';

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
    return { ...rate, source: this.name, asOf: document.asOf };
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

/** Never the message of a platform error: it may contain the URL. */
function reasonOf(error: unknown): string {
  if (error instanceof SourceError) return error.message;
  if (error instanceof ResponseTooLargeError) return `it answered more than ${error.bytesMax} bytes`;
  const { name, cause } = error as Error & { readonly cause?: { readonly code?: string } };
  return name === 'TimeoutError' ? 'it did not answer in time' : (cause?.code ?? name);
}
