import { Controller, Get, Module, Req } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import type { FastifyInstance } from 'fastify';
import { Directory, Refusal, type DirectoryUser, type RoleName, type Subject } from '@banking/domain';
import { Operation } from '../access/operation.decorator.js';
import { RefusalFilter } from '../http/refusal.filter.js';
import { AccessCheck } from './access-check.js';
import { CalledBy, type CalledRequest, type Caller, confirmAccess } from './caller.js';
import { RoleLookup } from './role-lookup.js';
import { RateLimit } from './rate-limit.js';
import { CredentialError } from './token-verifier.js';

const text = { summary: 'A route', description: 'A route.', provenance: 'ours', refusals: [] } as const;

@Controller()
class Routes {
  // eslint-disable-next-line house/routes-declare-access -- the check must refuse what lint has missed
  @Get('undeclared')
  undeclared() {
    return 'reached';
  }

  @Get('apps')
  @Operation('listApps', text)
  apps(@CalledBy() caller: Caller) {
    return caller;
  }

  @Get('products')
  @Operation('listProducts', text)
  products() {
    throw Object.assign(new SyntaxError('unexpected token in a row'), { statusCode: 404 });
  }

  @Get('opening')
  @Operation('openAccount', text)
  opening(@CalledBy() caller: Caller) {
    return caller;
  }

  @Get('liveness')
  @Operation('getLiveness', text)
  liveness(@CalledBy() caller: Caller) {
    return caller;
  }

  @Get('corridors')
  @Operation('listCorridors', { ...text, mediaTypes: ['application/json', 'text/csv'] })
  corridors() {
    return [];
  }

  @Get('held')
  @Operation('listEvents', { ...text, isHeld: true })
  async held(@Req() request: CalledRequest) {
    directory.grants = grantsMeanwhile ?? directory.grants;
    await confirmAccess(request);
    return { held: 'confirmed' };
  }

  @Get('transfer')
  @Operation('getTransfer', text)
  transfer(@CalledBy() caller: Caller) {
    return caller;
  }
}

/** A directory whose grants the tests change. */
class Grants extends Directory {
  grants: DirectoryUser['grants'] = [];

  async userOf({ subject }: Subject): Promise<DirectoryUser | undefined> {
    return subject === 'ada' ? ({ id: 1, grants: this.grants } as DirectoryUser) : undefined;
  }
}

const directory = new Grants();
/** The grants that replace the others while a request is held. */
let grantsMeanwhile: DirectoryUser['grants'] | undefined;
const verifier = {
  async subjectOf(token: string): Promise<Subject> {
    if (token === 'away') throw new Refusal('unavailable');
    if (token === 'forged') throw new CredentialError('signature');
    return { issuer: 'test', subject: token };
  },
};

@Module({
  controllers: [Routes],
  providers: [{ provide: APP_FILTER, useClass: RefusalFilter }],
})
class CheckedModule {}

describe('AccessCheck', () => {
  let app: NestFastifyApplication;
  beforeAll(async () => {
    const built = await Test.createTestingModule({ imports: [CheckedModule] }).compile();
    const adapter = new FastifyAdapter();
    const access = new AccessCheck({ verifier, roles: new RoleLookup(directory), rateLimit: new RateLimit() });
    adapter.getInstance<FastifyInstance>().addHook('onRequest', (request, reply) => access.admit(request, reply));
    app = built.createNestApplication<NestFastifyApplication>(adapter, { logger: false });
    await app.init();
    await app.getHttpAdapter().getInstance().ready();
  });
  afterAll(() => app.close());

  const get = async (url: string, headers: Record<string, string> = {}) => {
    const { statusCode, json, headers: sent } = await app.inject({ method: 'GET', url, headers });
    return { status: statusCode, body: json<Record<string, unknown>>(), sent };
  };
  const granted = (role: RoleName) => [{ workspaceId: 7, role, appId: 1 }] as unknown as DirectoryUser['grants'];
  const ada = { authorization: 'Bearer ada' };

  it('refuses a route that declares no operation', async () => {
    const { status, body } = await get('/undeclared', ada);

    expect({ status, reason: body['reason'] }).toEqual({ status: 500, reason: 'internal_error' });
    expect(JSON.stringify(body)).not.toContain('undeclared');
  });

  it('responds 500 to an error of a handler, even if it has a status', async () => {
    const { status, body } = await get('/products', ada);

    expect({ status, reason: body['reason'] }).toEqual({ status: 500, reason: 'internal_error' });
    expect(JSON.stringify(body)).not.toContain('unexpected token');
  });

  it('responds 500 if a public operation asks for its caller', async () => {
    expect((await get('/liveness', ada)).status).toBe(500);
  });

  it.each([
    {},
    { authorization: 'Bearer' },
    { authorization: 'Basic YWRh' },
    { authorization: 'Bearer forged' },
    { authorization: 'Bearer stranger' },
  ])('responds 401 to %j without the cause', async (headers: Record<string, string>) => {
    const { status, body, sent } = await get('/apps', headers);

    expect({ status, reason: body['reason'], challenge: sent['www-authenticate'] }).toEqual({
      status: 401,
      reason: 'not_authenticated',
      challenge: 'Bearer',
    });
    expect(body['message']).toBe(new Refusal('not_authenticated').message);
  });

  it('responds 503 with Retry-After if the keys cannot be fetched', async () => {
    const { status, sent } = await get('/apps', { authorization: 'Bearer away' });

    expect({ status, retryAfter: sent['retry-after'] }).toEqual({ status: 503, retryAfter: '1' });
  });

  it('lets a user without a role call user operations only', async () => {
    directory.grants = [];

    expect(await get('/apps', ada)).toMatchObject({ status: 200, body: { actor: 1 } });
    expect(await get('/transfer', { ...ada, 'workspace-id': '7' })).toMatchObject({
      status: 403,
      body: { reason: 'workspace_forbidden' },
    });
  });

  it('accepts the media types that an operation declares, or JSON', async () => {
    const table = { ...ada, accept: 'text/csv' };

    expect(await get('/corridors', table)).toMatchObject({ status: 200, sent: { vary: 'Accept' } });
    expect(await get('/apps', table)).toMatchObject({ status: 406, body: { reason: 'not_acceptable' } });
  });

  it('honours a new role at once', async () => {
    directory.grants = [];
    expect((await get('/transfer', { ...ada, 'workspace-id': '7' })).status).toBe(403);
    directory.grants = granted('member');

    expect(await get('/transfer', { ...ada, 'workspace-id': '7' })).toMatchObject({
      status: 200,
      body: { actor: 1, workspaceId: 7, role: 'member' },
    });
  });

  it('refuses a role below that of the operation', async () => {
    const named = { ...ada, 'workspace-id': '7' };
    directory.grants = granted('member');

    expect(await get('/opening', named)).toMatchObject({ status: 403, body: { reason: 'role_insufficient' } });
    expect(await get('/transfer', named)).toMatchObject({ status: 200, body: { role: 'member' } });
  });

  it('checks a held request again in the directory, and not in the cache', async () => {
    directory.grants = granted('member');
    const named = { ...ada, 'workspace-id': '7' };
    expect(await get('/held', named)).toMatchObject({ status: 200, body: { held: 'confirmed' } });
    grantsMeanwhile = [];
    expect(await get('/held', named)).toMatchObject({ status: 403, body: { reason: 'workspace_forbidden' } });
    grantsMeanwhile = undefined;
  });

  it.each([
    [undefined, 'workspace_id_required'],
    ['', 'workspace_id_invalid'],
    ['0', 'workspace_id_invalid'],
    ['07', 'workspace_id_invalid'],
    ['7.0', 'workspace_id_invalid'],
    ['7, 8', 'workspace_id_invalid'],
    ['9007199254740992', 'workspace_id_invalid'],
  ])('refuses Workspace-ID %j as %s', async (workspaceId, reason) => {
    directory.grants = granted('admin');
    const headers = { ...ada, ...(workspaceId === undefined ? {} : { 'workspace-id': workspaceId }) };

    expect(await get('/transfer', headers)).toMatchObject({ status: 400, body: { reason } });
  });
});
