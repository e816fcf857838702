import { type DynamicModule, Module } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { LoggerModule } from 'nestjs-pino';
import type { Logger as Pino } from 'pino';
import { AccountsController } from './accounts/accounts.controller.js';
import { StatementsController } from './accounts/statements.controller.js';
import { AppsController } from './apps/apps.controller.js';
import { type Backing, BackingModule } from './backing.module.js';
import type { Config } from './config.js';
import { HealthController } from './health/health.controller.js';
import { Draining } from './health/readiness.js';
import { ReferenceAnswers } from './http/reference-answers.js';
import { RefusalFilter } from './http/refusal.filter.js';
import { ProductsController } from './products/products.controller.js';
import { OrderLimit } from './orders/order-limit.js';
import { OrdersController } from './orders/orders.controller.js';
import { PurposesController } from './orders/purposes.controller.js';
import { QuotesController } from './quotes/quotes.controller.js';
import { CorridorsController } from './recipients/corridors.controller.js';
import { RecipientSchemasController } from './recipients/recipient-schemas.controller.js';
import { SandboxController } from './sandbox/sandbox.controller.js';
import { RecipientsController } from './recipients/recipients.controller.js';
import { TransfersController } from './transfers/transfers.controller.js';

/** What the service is made of, besides its configuration. */
export interface Parts {
  readonly config: Config;
  readonly backing: Backing;
  readonly log: Pino;
  readonly draining: Draining;
}

/** Every route there is, in the order of the documentation. */
const CONTROLLERS = [
  AppsController,
  ProductsController,
  AccountsController,
  StatementsController,
  CorridorsController,
  RecipientSchemasController,
  RecipientsController,
  QuotesController,
  PurposesController,
  OrdersController,
  TransfersController,
  HealthController,
];

/** The routes of a deployment: those that make up money only where it is a sandbox. */
export const controllersOf = ({ sandbox }: Pick<Config, 'sandbox'>) =>
  sandbox ? [...CONTROLLERS, SandboxController] : CONTROLLERS;

@Module({})
export class AppModule {
  static of({ config, backing, log, draining }: Parts): DynamicModule {
    return {
      module: AppModule,
      imports: [loggerModule(log), BackingModule.on(backing)],
      controllers: controllersOf(config),
      providers: [
        ReferenceAnswers,
        { provide: Draining, useValue: draining },
        { provide: OrderLimit, useValue: new OrderLimit(config.orderLimit?.perMinute) },
        { provide: APP_FILTER, useClass: RefusalFilter },
      ],
    };
  }
}

/** Nest's own words go to our log, its account of starting only when asked for. Requests are logged by the server, not by a middleware. */
function loggerModule(log: Pino): DynamicModule {
  const isCurious = log.isLevelEnabled('debug');
  const logger = log.child({}, { level: isCurious || log.level === 'silent' ? log.level : 'warn' });
  return LoggerModule.forRoot({ pinoHttp: { logger }, useExisting: true, forRoutes: [] });
}
