import { type DynamicModule, Global, Module, type Type } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import type { FastifyInstance, InjectOptions } from 'fastify';
import { AppUserTexts, wholeLists } from '../banking.module.js';
import { BankingService, type UserId, type WorkspaceId } from '@banking/domain';
import type { Caller } from '../access/access-check.js';
import { ApiConfig } from '../config.js';
import { setPublicPath } from '../http/public-url.js';
import { RefusalFilter } from '../http/refusal.filter.js';

/** The caller of every request: an administrator of workspace 7. */
export const ADA = {
  actor: 1 as UserId,
  workspaceId: 7 as WorkspaceId,
  roles: ['admin', 'member'],
} as object as Caller;

/**
 * Opens an application with the modules of resources over a stubbed port. Requests are injected, so no port is opened. Every request
 * has the caller `ADA`: the access check has specs of its own.
 */
export async function openTestApp(
  resources: Type | DynamicModule | readonly Type[],
  banking: object,
  config: Partial<ApiConfig> = {},
  confirmAccess: () => Promise<void> = async () => undefined,
): Promise<TestApp> {
  const globals = [
    { provide: BankingService, useValue: banking },
    { provide: AppUserTexts, useValue: wholeLists(banking as BankingService) },
    { provide: ApiConfig, useValue: config },
  ];

  @Global()
  @Module({ providers: globals, exports: globals })
  class GlobalsModule {}

  const testing = await Test.createTestingModule({
    imports: [GlobalsModule, ...[resources].flat()],
    providers: [{ provide: APP_FILTER, useClass: RefusalFilter }],
  }).compile();
  const adapter = new FastifyAdapter();
  const server = adapter.getInstance<FastifyInstance>();
  setPublicPath(server, 'https://bank.example/payments');
  server.addHook('onRequest', async (request) => {
    request.caller = ADA;
    request.confirmAccess = confirmAccess;
  });
  const app = testing.createNestApplication<NestFastifyApplication>(adapter, { logger: false });
  await app.init();
  await server.ready();
  return new TestApp(app);
}

export class TestApp {
  constructor(private readonly app: NestFastifyApplication) {}

  /** @param call the method and the path, such as `GET /accounts` */
  async send(call: string, body?: object, headers: Readonly<Record<string, string>> = {}) {
    const [method, url] = call.split(' ') as [InjectOptions['method'], string];
    const request = { method, url, headers, ...(body && { payload: body }) } as InjectOptions;
    const response = await this.app.inject(request);
    const isJson = /^application\/json/.test(String(response.headers['content-type']));
    return {
      status: response.statusCode,
      headers: response.headers,
      body: isJson ? (JSON.parse(response.body) as unknown) : response.body,
    };
  }

  close(): Promise<void> {
    return this.app.close();
  }
}
