import { type DynamicModule, Module } from '@nestjs/common';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { BankingService, Directory, type RefusalReason } from '@banking/domain';
import { openBooks } from './books.js';
import type { Config } from './config.js';
import { type Readiness, SharedReadiness } from './health/readiness.js';

/** What answers behind the two ports. */
export interface Backing {
  readonly banking: BankingService;
  readonly directory: Directory;
  readonly readiness: Readiness;
  /** Parts of the application that only this backing needs. */
  readonly providers?: NonNullable<DynamicModule['providers']>;
  /** Adds hooks that see every request before its access is checked. */
  readonly watch?: ((server: FastifyInstance) => void) | undefined;
  /** What every operation that asks it may be refused for, beside what the operation names. */
  readonly refusals: readonly RefusalReason[];
  /** For the ready line: where the answers come from, where that is not here. */
  readonly place?: string;
  /**
   * Called once, when the service listens and before it says so.
   *
   * @throws ConfigError for what an operator has to change first
   */
  begin(): Promise<void>;
  /** Called when the last answer is out. */
  close(): Promise<void>;
}

/**
 * Our own books, or another deployment of the interface: the only switch on that in the repository.
 *
 * @throws ConfigError, and what a database that cannot be reached, read or migrated throws
 */
export async function openBacking(config: Config, log: Logger): Promise<Backing> {
  const { upstream } = config;
  if (upstream === undefined) return openBooks(config, log);
  const { openUpstream } = await import('./upstream/open-upstream.js');
  return openUpstream(upstream, log);
}

@Module({})
export class BackingModule {
  static on({ banking, directory, readiness, providers = [] }: Backing): DynamicModule {
    return {
      module: BackingModule,
      global: true,
      providers: [
        { provide: BankingService, useValue: banking },
        { provide: Directory, useValue: directory },
        { provide: SharedReadiness, useValue: new SharedReadiness(readiness) },
        ...providers,
      ],
      exports: [BankingService, Directory, SharedReadiness],
    };
  }
}
