import { type DynamicModule, Global, Module } from '@nestjs/common';
import type { FastifyInstance } from 'fastify';
import { BankingService, Directory, type RefusalReason } from '@banking/domain';
import type { Database } from '@banking/postgres';
import { AppUserTexts, wholeLists } from './apps/app-user-texts.js';
import type { Readiness } from './health/readiness.js';

/** An implementation of the two ports: our own books, or another deployment of the interface. */
export interface Implementation {
  readonly banking: BankingService;
  readonly directory: Directory;
  /** Default: the list of `banking` as a whole. */
  readonly appUsers?: AppUserTexts;
  readonly readiness: Readiness;
  /** The database of our own books, for metrics. */
  readonly database?: Database;
  /** Those of all cells, home first; undefined for one that is away. Undefined without cells. */
  readonly cells?: () => readonly { readonly cell: string; readonly database: Database | undefined }[];
  /** Providers that only this implementation has, for the whole application. */
  readonly providers?: NonNullable<DynamicModule['providers']>;
  /** Adds hooks that run for every request before its access is checked. */
  readonly watch?: ((server: FastifyInstance) => void) | undefined;
  /** The refusals that every operation may make beside its own. */
  readonly refusals: readonly RefusalReason[];
  /** The host of the other deployment, for the ready line. */
  readonly place?: string;
  /**
   * Called once, when the service listens and before the ready line: starts due work, or checks the upstream.
   *
   * @throws ConfigError if an operator has to change the configuration first
   */
  onListening(): Promise<void>;
  /** Called after the last response was sent. */
  close(): Promise<void>;
}

/** Makes the ports injectable everywhere: `BankingService` and `Directory`. */
@Global()
@Module({})
export class BankingModule {
  static on({ banking, directory, appUsers = wholeLists(banking), providers = [] }: Implementation): DynamicModule {
    return {
      module: BankingModule,
      providers: [
        { provide: BankingService, useValue: banking },
        { provide: Directory, useValue: directory },
        { provide: AppUserTexts, useValue: appUsers },
        ...providers,
      ],
      exports: [BankingService, Directory, AppUserTexts, ...providers],
    };
  }
}
