import { Global, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { OpenAPIObject } from '@nestjs/swagger';
import { BankingService } from '@banking/domain';
import { AppUserTexts } from '../banking.module.js';
import { resourceModules } from '../app.module.js';
import { ApiConfig } from '../config.js';
import { Draining, SharedReadiness } from '../health/readiness.js';
import { createDocument } from './openapi.js';

/** Empty values for everything that controllers inject: no route is called. */
const empty = [ApiConfig, BankingService, AppUserTexts, Draining, SharedReadiness].map((provide) => ({
  provide,
  useValue: {},
}));

@Global()
@Module({ providers: empty, exports: empty })
class EmptyProvidersModule {}

@Module({})
class DocumentedModule {}

/** The document without a running service: Nest's preview mode reads the declarations and runs no factory. */
export async function offlineDocument({ sandbox } = { sandbox: true }): Promise<OpenAPIObject> {
  const documented = { module: DocumentedModule, imports: [EmptyProvidersModule, ...resourceModules({ sandbox })] };
  const app = await NestFactory.create(documented, new FastifyAdapter(), {
    preview: true,
    logger: false,
    abortOnError: false,
  });
  return createDocument(app, { sandbox });
}
