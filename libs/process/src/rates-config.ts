import type { EnvironmentReader } from './environment-reader.js';
import { isTrustworthy } from './trustworthy-url.js';

/** The document that exchange rates come from. */
export interface RatesConfig {
  readonly url: string;
  readonly maxAgeS: number;
}

/** Undefined if no source of rates is configured. */
export function readRates({ url, whole, mistakes }: EnvironmentReader): RatesConfig | undefined {
  const ratesUrl = url('RATES_URL', ['https:', 'http:']);
  if (ratesUrl !== undefined && !isTrustworthy(ratesUrl)) {
    mistakes.push(
      'RATES_URL must begin with https:// (http only on a loopback address): over http, rates could be changed on the way.',
    );
  }
  const maxAgeS = whole('RATES_MAX_AGE_S', 1, 604_800) ?? 3_600;
  return ratesUrl === undefined ? undefined : { url: ratesUrl, maxAgeS };
}
