import { type DynamicModule, Global, Module } from '@nestjs/common';
import type { FastifyInstance } from 'fastify';
import { type AppId, BankingService, Directory, type RefusalReason, type Scope } from '@banking/domain';
import type { Database } from '@banking/postgres';
import type { MeasuredProcess } from '@banking/telemetry/metrics';
import type { DirectoryTurns } from './http/directory-changes.js';
import type { Readiness } from './health/readiness.js';

/** The users of an app as JSON in parts, each the objects of some users, separated by commas. */
export abstract class AppUserTexts {
  /** @throws Refusal before the first part, as `listAppUsers` of the port does */
  abstract appUserTexts(scope: Scope, query: { readonly appId: AppId }): AsyncGenerator<string, void>;
}

/** For an implementation that has the list only as a whole. */
export const wholeLists = (banking: BankingService): AppUserTexts => ({
  async *appUserTexts(scope, query) {
    const users = await banking.listAppUsers(scope, query);
    if (users.length > 0) yield JSON.stringify(users).slice(1, -1);
  },
});

export async function* arrayOf(texts: AsyncGenerator<string, void>): AsyncGenerator<string, void> {
  let before = '[';
  for await (const text of texts) {
    yield before + text;
    before = ',';
  }
  yield before === '[' ? '[]' : ']';
}

/** An implementation of the two ports: our own books, or another deployment of the interface. */
export interface Implementation {
  readonly banking: BankingService;
  readonly directory: Directory;
  /** Default: the list of `banking` as a whole. */
  readonly appUsers?: AppUserTexts;
  readonly readiness: Readiness;
  /** The database of our own books, for metrics. */
  readonly database?: Database;
  /** Those of all cells, home first, for metrics. Undefined without cells. */
  readonly cells?: MeasuredProcess['cells'];
  /** Providers that only this implementation has, for the whole application. */
  readonly providers?: NonNullable<DynamicModule['providers']>;
  /** Adds hooks that run for every request before its access is checked. */
  readonly watch?: ((server: FastifyInstance) => void) | undefined;
  /** Of an implementation whose changes of the directory wait for one lock. */
  readonly directoryTurns?: DirectoryTurns;
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
