import { type DynamicModule, Module } from '@nestjs/common';
import { BankingService, Directory } from '@banking/domain';
import {
  DEMO_RATES,
  type Deployment,
  HttpRateSource,
  LedgerBankingService,
  LedgerDirectory,
  type QuoteTerms,
} from '@banking/operations';
import type { Config } from './config.js';
import { READINESS, type Readiness } from './health/readiness.js';

/** What answers behind the port: our own books. The only place that knows. */
@Module({})
export class BackingModule {
  static on({ database, books }: Deployment, config: Config, warn: (line: string) => void): DynamicModule {
    const readiness: Readiness = { check: () => database.ping() };
    return {
      module: BackingModule,
      global: true,
      providers: [
        { provide: BankingService, useValue: new LedgerBankingService(database, books, quoteTermsOf(config, warn)) },
        { provide: Directory, useValue: new LedgerDirectory(database) },
        { provide: READINESS, useValue: readiness },
      ],
      exports: [BankingService, Directory, READINESS],
    };
  }
}

/** Rates that are made up never meet money that is real. */
function quoteTermsOf({ quotes, sandbox }: Config, warn: (line: string) => void): QuoteTerms {
  const { validS, rates } = quotes;
  if (rates) return { validS, rates: new HttpRateSource({ ...rates, maxAgeMs: rates.maxAgeS * 1_000, warn }) };
  if (sandbox) return { validS, rates: DEMO_RATES };
  warn('There is no RATES_URL, so payments are quoted within a currency only. docs/operate.md says what it names.');
  return { validS };
}
