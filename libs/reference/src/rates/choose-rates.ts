import { bind, sqlStatement, type Database } from '@banking/postgres';
import { DEMO_RATES, NO_RATES, type RateSource } from './rate-source.js';
import { HttpRateSource } from './http-rate-source.js';

export interface RateChoice {
  /** The configured source, if there is one. */
  readonly rates?: { readonly url: string; readonly maxAgeS: number } | undefined;
  readonly sandbox: boolean;
}

const READ_TIME = sqlStatement<{ ms: number }>(
  'read_time',
  'select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms',
);

/**
 * The source of rates of a deployment, for the api and the worker alike. A live deployment never uses the demo rates.
 *
 * @param warn receives the reason if the source cannot be used
 */
export function chooseRates(
  { rates, sandbox }: RateChoice,
  database: Database,
  warn: (line: string) => void,
): RateSource {
  const databaseTime = async () => (await database.read({}, bind(READ_TIME)))!.ms;
  if (rates) return new HttpRateSource({ url: rates.url, maxAgeMs: rates.maxAgeS * 1_000, databaseTime, warn });
  if (sandbox) return DEMO_RATES;
  warn('There is no RATES_URL, so payments are made within a currency only. docs/books.md describes the source.');
  return NO_RATES;
}
