import { type DynamicModule, Module } from '@nestjs/common';
import { BankingService, Directory } from '@banking/domain';
import { chooseRates, type Deployment, LedgerBankingService, LedgerDirectory } from '@banking/operations';
import type { Config } from './config.js';
import { READINESS, type Readiness } from './health/readiness.js';

/** What answers behind the port: our own books. The only place that knows. */
@Module({})
export class BackingModule {
  static on({ database, books }: Deployment, config: Config, warn: (line: string) => void): DynamicModule {
    const { quotes, sandbox } = config;
    const terms = { validS: quotes.validS, rates: chooseRates({ rates: quotes.rates, sandbox }, warn) };
    const readiness: Readiness = { check: () => database.ping() };
    return {
      module: BackingModule,
      global: true,
      providers: [
        { provide: BankingService, useValue: new LedgerBankingService(database, books, terms, sandbox) },
        { provide: Directory, useValue: new LedgerDirectory(database) },
        { provide: READINESS, useValue: readiness },
      ],
      exports: [BankingService, Directory, READINESS],
    };
  }
}
