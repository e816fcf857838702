import { type DynamicModule, Global, Module, type Type } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { LoggerModule } from 'nestjs-pino';
import type { Logger as Pino } from 'pino';
import type { Tracing } from '@banking/telemetry/tracing';
import { AccountsModule } from './accounts/accounts.controller.js';
import { ApprovalsModule } from './approvals/approvals.controller.js';
import { AppsModule } from './apps/apps.controller.js';
import { AuditEventsModule } from './audit-events/audit-events.controller.js';
import { BankingModule, type Implementation } from './banking.module.js';
import { ApiConfig } from './config.js';
import { CorridorsModule } from './corridors/corridors.controller.js';
import { DepositsModule } from './deposits/deposits.controller.js';
import { EventsModule } from './events/events.controller.js';
import { HealthModule } from './health/health.controller.js';
import type { Draining } from './health/readiness.js';
import { RefusalFilter } from './http/refusal.filter.js';
import { LimitsModule } from './limits/limits.controller.js';
import { MembersModule } from './members/members.controller.js';
import { OrdersModule } from './orders/orders.controller.js';
import { ProductsModule } from './products/products.controller.js';
import { QuotesModule } from './quotes/quotes.controller.js';
import { RecipientsModule } from './recipients/recipients.controller.js';
import { ReconciliationsModule } from './reconciliations/reconciliations.controller.js';
import { SandboxModule } from './sandbox/sandbox.controller.js';
import { TransactionsModule } from './transactions/transactions.controller.js';
import { TransfersModule } from './transfers/transfers.controller.js';
import { ServiceAccountsModule } from './service-accounts/service-accounts.controller.js';
import { WebhookEndpointsModule } from './webhook-endpoints/webhook-endpoints.controller.js';

/** Makes the configuration injectable everywhere, as `ApiConfig`. */
@Global()
@Module({})
class ConfigModule {
  static with(config: ApiConfig): DynamicModule {
    return { module: ConfigModule, providers: [{ provide: ApiConfig, useValue: config }], exports: [ApiConfig] };
  }
}

export interface AppDependencies {
  readonly config: ApiConfig;
  readonly implementation: Implementation;
  readonly log: Pino;
  readonly draining: Draining;
  readonly tracing?: Tracing | undefined;
}

/** One module per resource, in the order of the documentation. A deployment that is no sandbox has no routes that create money. */
export const resourceModules = (
  { sandbox }: Pick<ApiConfig, 'sandbox'>,
  health: DynamicModule | Type = HealthModule,
  events: DynamicModule | Type = EventsModule,
): (DynamicModule | Type)[] => [
  AppsModule,
  ProductsModule,
  AccountsModule,
  CorridorsModule,
  RecipientsModule,
  QuotesModule,
  OrdersModule,
  LimitsModule,
  TransfersModule,
  TransactionsModule,
  DepositsModule,
  ReconciliationsModule,
  events,
  ApprovalsModule,
  MembersModule,
  WebhookEndpointsModule,
  ServiceAccountsModule,
  AuditEventsModule,
  health,
  ...(sandbox ? [SandboxModule] : []),
];

@Module({ providers: [{ provide: APP_FILTER, useClass: RefusalFilter }] })
export class AppModule {
  static of({ config, implementation, log, draining }: AppDependencies): DynamicModule {
    return {
      module: AppModule,
      imports: [
        loggerModule(log),
        ConfigModule.with(config),
        BankingModule.on(implementation),
        ...resourceModules(config, HealthModule.of(implementation.readiness, draining), EventsModule.of(draining)),
      ],
    };
  }
}

/** Nest logs to the log of the service: warnings and errors, and its start at level `debug`. The server logs requests. */
function loggerModule(log: Pino): DynamicModule {
  const isVerbose = log.isLevelEnabled('debug');
  const logger = log.child({}, { level: isVerbose || log.level === 'silent' ? log.level : 'warn' });
  return LoggerModule.forRoot({ pinoHttp: { logger }, useExisting: true, forRoutes: [] });
}
