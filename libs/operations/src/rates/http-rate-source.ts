import { type CurrencyCode, Refusal } from '@banking/domain';
import { crossRate, readRateDocument, type RateDocument } from './rate-document.js';
import { type DatedRate, noRate, type RateSource } from './rate-source.js';

export interface HttpRateSourceOptions {
  /** May hold a login or a key: neither is ever logged or kept. */
  readonly url: string;
  /** How old rates may be, by their own `asOf`. */
  readonly maxAgeMs: number;
  /** Told why the source could not be used, once for each time it was asked. */
  readonly warn: (line: string) => void;
  /** The time of the database in milliseconds since 1970: the age of rates is measured by it. */
  readonly databaseTime: () => Promise<number>;
  /** Milliseconds of a clock that is never set. Default: `performance.now()`. */
  readonly now?: () => number;
  /** For one question, its answer included. Default 5,000. */
  readonly timeoutMs?: number;
}

/** How long a document serves before the source is asked again. */
const ASK_AGAIN_MS = 60_000;
/** A source that fails is left alone this long, so that callers are answered at once and it is not buried in questions. */
const ASK_FAILED_AGAIN_MS = 5_000;
/** How far ahead of ours the clock of a source may be. */
const AHEAD_MAX_MS = 60_000;
const BYTES_MAX = 1_048_576;

/** Why the source cannot be used; its message is for the log. */
class SourceError extends Error {}

/**
 * Rates that somebody publishes as a document over HTTP. It is asked when a rate is wanted and what is at hand is a minute old; while
 * it does not answer, what is at hand serves until it is too old.
 */
export class HttpRateSource implements RateSource {
  private readonly url: string;
  private readonly headers: Readonly<Record<string, string>>;
  /** Where the rates are from, without what is secret about it. */
  private readonly name: string;
  private readonly now: () => number;
  /** The time of the database less that of `now`, as of the last question. */
  private offsetMs = NaN;
  private kept: RateDocument | undefined;
  private askAtMs = -Infinity;
  private hasFailed = false;
  private asking: Promise<void> | undefined;

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
  }

  async rateOf(from: CurrencyCode, to: CurrencyCode): Promise<DatedRate> {
    if (this.now() >= this.askAtMs) {
      const asked = (this.asking ??= this.ask());
      // A source that failed is asked again, but who can be served from what is at hand does not wait for it.
      if (!this.hasFailed || !this.kept || this.faultOf(this.kept)) await asked;
    }
    const document = this.usable();
    const rate = crossRate(document, from, to);
    if ('lacks' in rate) throw noRate(from, to);
    if ('garbles' in rate) {
      this.options.warn(`The rates of ${this.name} are not used for ${rate.garbles}: it is not a decimal above zero.`);
      throw unavailable(`The rate of ${rate.garbles} cannot be read. Try again later, or choose another currency.`);
    }
    if ('garblesSpread' in rate) {
      this.options.warn(`The rates of ${this.name} are not used for ${rate.garblesSpread}: its spread is not one whole number of basis points from 0 to 9999.`); // prettier-ignore
      throw unavailable(`The rate from ${from} to ${to} cannot be read. Try again later, or choose another currency.`);
    }
    return { ...rate, source: this.name, asOf: document.asOf };
  }

  /** One question at a time, for everybody who waits. Never throws: what is at hand may still do. */
  private async ask(): Promise<void> {
    try {
      this.offsetMs = (await this.databaseTime()) - this.now();
      const document = readRateDocument(await this.fetched());
      if (!document) throw new SourceError('it is not the document that docs/operate.md describes');
      const fault = this.faultOf(document);
      if (fault) throw new SourceError(`its asOf, ${document.asOf}, is ${fault}`);
      [this.kept, this.hasFailed] = [document, false];
      this.askAtMs = this.now() + ASK_AGAIN_MS;
    } catch (error) {
      this.hasFailed = true;
      this.askAtMs = this.now() + ASK_FAILED_AGAIN_MS;
      this.options.warn(`The source of rates at ${this.name} cannot be used: ${whyOf(error)}.`);
    } finally {
      this.asking = undefined;
    }
  }

  private usable(): RateDocument {
    if (!this.kept) throw unavailable('The source of rates gives none at the moment. Try again later.');
    const fault = this.faultOf(this.kept);
    if (fault) throw unavailable(`The rates at hand are of ${this.kept.asOf}, which is ${fault}. Try again later.`);
    return this.kept;
  }

  private faultOf({ asOf }: RateDocument): string | undefined {
    const ageMs = this.now() + this.offsetMs - Date.parse(asOf);
    if (ageMs > this.options.maxAgeMs) return 'too old to deal at';
    return ageMs < -AHEAD_MAX_MS ? 'still to come' : undefined;
  }

  private databaseTime(): Promise<number> {
    return this.options.databaseTime().catch(() => {
      throw new SourceError('the database did not tell the time, so the age of its rates is not known');
    });
  }

  private async fetched(): Promise<string> {
    const { timeoutMs = 5_000 } = this.options;
    const signal = AbortSignal.timeout(timeoutMs);
    const response = await fetch(this.url, { headers: this.headers, redirect: 'manual', signal });
    if (response.status !== 200) {
      await response.body?.cancel();
      throw new SourceError(`it answered ${response.status}`);
    }
    const pieces: Uint8Array[] = [];
    let bytes = 0;
    for await (const piece of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      bytes += piece.byteLength;
      if (bytes > BYTES_MAX) throw new SourceError(`it answered more than ${BYTES_MAX} bytes`);
      pieces.push(piece);
    }
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(pieces));
  }
}

const unavailable = (message: string) => new Refusal('rate_unavailable', message);

/** Never the text of an error of the platform: it may repeat the address. */
function whyOf(error: unknown): string {
  if (error instanceof SourceError) return error.message;
  const { name, cause } = error as Error & { readonly cause?: { readonly code?: string } };
  return name === 'TimeoutError' ? 'it did not answer in time' : (cause?.code ?? name);
}
