import { bind, statement, type Database } from '@banking/postgres';
import { DEMO_RATES } from './demo-rate-source.js';
import { HttpRateSource } from './http-rate-source.js';
import { NO_RATES, type RateSource } from './rate-source.js';

export interface RateChoice {
  /** Where rates come from; left out where no source is named. */
  readonly rates?: { readonly url: string; readonly maxAgeS: number } | undefined;
  readonly sandbox: boolean;
}

const READ_TIME = statement<{ ms: number }>(
  'read_time',
  'select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms',
);

/**
 * The rates of a deployment, the same for whoever places its orders and whoever runs them. Rates that are made up never meet money
 * that is real.
 *
 * @param warn told why the source could not be used
 */
export function chooseRates(
  { rates, sandbox }: RateChoice,
  database: Database,
  warn: (line: string) => void,
): RateSource {
  const databaseTime = async () => (await database.read({}, bind(READ_TIME)))!.ms;
  if (rates) return new HttpRateSource({ url: rates.url, maxAgeMs: rates.maxAgeS * 1_000, databaseTime, warn });
  if (sandbox) return DEMO_RATES;
  warn('There is no RATES_URL, so payments are made within a currency only. docs/operate.md says what it names.');
  return NO_RATES;
}
