import type { AddressInfo } from 'node:net';
import { Body, Controller, Get, Module, Post } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import type { FastifyInstance } from 'fastify';
import { pino } from 'pino';
import type { AppId, Directory, DirectoryUser, RoleName, UserId, WorkspaceId } from '@banking/domain';
import { AccessCheck } from '../../access/access-check.js';
import { RoleLookup } from '../../access/role-lookup.js';
import { RateLimit, requestLimit } from '../../access/rate-limit.js';
import { CredentialError } from '../../access/token-verifier.js';
import { Operation } from '../../access/operation.decorator.js';
import { RefusalFilter } from '../refusal.filter.js';
import { createServer, prepareServer, type ServerOptions } from '../server.js';

const text = { summary: 'A route', description: 'A route.', provenance: 'ours' } as const;

@Controller()
class Routes {
  @Post('accounts')
  @Operation('openAccount', text)
  open(@Body() body: object) {
    return { received: body };
  }

  @Get('health/live')
  @Operation('getLiveness', text)
  live() {
    return { status: 'ok' };
  }
}

@Module({ controllers: [Routes], providers: [{ provide: APP_FILTER, useClass: RefusalFilter }] })
class RoutesModule {}

const grant = (workspaceId: number, ...roles: RoleName[]) => ({
  workspaceId: workspaceId as WorkspaceId,
  roles,
  appId: 1 as AppId,
});
const ADA: DirectoryUser = { id: 1 as UserId, grants: [grant(7, 'admin', 'member'), grant(8, 'member')] };

const verifier = {
  async subjectOf(token: string) {
    if (token !== 'ada') throw new CredentialError('signature');
    return { issuer: 'test', subject: token };
  },
};

export const AS_ADA = { authorization: 'Bearer ada', 'workspace-id': '7' };

/** The entry of the service on a port of its own, with `POST /accounts` for administrators of workspace 7, and `GET /health/live`. */
export async function entryServer({ perSecond, ...options }: { perSecond?: number } & Partial<ServerOptions> = {}) {
  const adapter = createServer(pino({ level: 'silent' }));
  const roles = new RoleLookup({ userOf: async () => ADA } as unknown as Directory);
  const rateLimit = new RateLimit(perSecond === undefined ? undefined : requestLimit(perSecond), () => 0);
  const access = new AccessCheck({ verifier, roles, rateLimit });
  prepareServer(adapter.getInstance<FastifyInstance>(), {
    access,
    draining: { begun: false },
    ...options,
  });
  const built = await Test.createTestingModule({ imports: [RoutesModule] }).compile();
  const app = built.createNestApplication<NestFastifyApplication>(adapter, { logger: false, bodyParser: false });
  await app.listen(0, '127.0.0.1');
  const { port } = app.getHttpServer().address() as AddressInfo;
  return { app, port, url: `http://127.0.0.1:${port}`, close: () => app.close() };
}

export type EntryServer = Awaited<ReturnType<typeof entryServer>>;
