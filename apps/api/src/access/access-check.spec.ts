import { Controller, Get, Module, Req } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import {
  Directory,
  type DirectoryKey,
  type DirectoryUser,
  KEY_ISSUER,
  keyText,
  Refusal,
  ROLE_NAMES,
  type RoleName,
  type Subject,
  type UserId,
  type WorkspaceId,
} from '@banking/domain';
import { RefusalFilter } from '../http/refusal.filter.js';
import { AccessCheck, bearerToken, CalledBy, type Caller, confirmAccess, PUBLIC_PAGE } from './access-check.js';
import { RoleLookup } from './role-lookup.js';
import { Operation } from './operation.decorator.js';
import { RateLimit } from './rate-limit.js';
import { CredentialError, type TokenSubject } from './token-verifier.js';

describe('AccessCheck', () => {
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

    @Get('acceptance')
    @Operation('acceptInvitation', text)
    acceptance(@CalledBy() caller: Caller) {
      return caller;
    }

    @Get('payment')
    @Operation('placeOrder', text)
    payment(@CalledBy() caller: Caller) {
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
    async held(@Req() request: FastifyRequest) {
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
    readonly users = new Set(['ada', '5']);

    async userOf({ subject }: Subject): Promise<DirectoryUser | undefined> {
      return this.users.has(subject) ? ({ id: 1, grants: this.grants } as DirectoryUser) : undefined;
    }
  }

  const directory = new Grants();
  /** The grants that replace the others while a request is held. */
  let grantsMeanwhile: DirectoryUser['grants'] | undefined;
  const verifier = {
    async subjectOf(token: string): Promise<Subject> {
      if (token === 'away') throw new Refusal('unavailable');
      if (token === 'forged') throw new CredentialError('signature');
      return { issuer: 'test', subject: token, ...claims };
    },
  };
  /** What tokens say of scopes and of the sign-in. */
  let claims: Partial<TokenSubject>;

  @Module({
    controllers: [Routes],
    providers: [{ provide: APP_FILTER, useClass: RefusalFilter }],
  })
  class CheckedModule {}

  const KEY = keyText(5, new Uint8Array(32));
  /** The scopes of the key. */
  let scopes: readonly string[] | undefined;

  let nowMs = 0;
  let app: NestFastifyApplication;
  /** No test sees the roles that another one has cached. */
  beforeEach(() => {
    nowMs += 2_000;
    claims = { acr: 'phr', authenticatedAtS: Math.floor(Date.now() / 1000) };
  });
  beforeAll(async () => {
    const built = await Test.createTestingModule({ imports: [CheckedModule] }).compile();
    const adapter = new FastifyAdapter();
    const roles = new RoleLookup(directory, () => nowMs);
    const keys = {
      async userOf(text: string) {
        if (text !== KEY) throw new CredentialError('unknown_key');
        const subject = { issuer: KEY_ISSUER, subject: '5' };
        return { subject, user: (await directory.userOf(subject))!, key: { id: 5, scopes } as unknown as DirectoryKey };
      },
    };
    const stepUps = new Map([['openAccount', { acrValues: ['phr'], maxAgeS: 300 }] as const]);
    const access = new AccessCheck({ verifier, roles, keys, stepUps, rateLimit: new RateLimit() });
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
  const granted = (...roles: RoleName[]) => [{ workspaceId: 7, roles, appId: 1 }] as unknown as DirectoryUser['grants'];
  const ada = { authorization: 'Bearer ada' };

  describe('a key', () => {
    const program = { authorization: `Bearer ${KEY}`, 'workspace-id': '7' };
    const reasonOf = async (path: string) => (await get(path, program)).body['reason'] ?? 'done';

    it('acts with the roles of its service account, and is the origin of the call', async () => {
      directory.grants = granted('member');
      scopes = undefined;

      const { body } = await get('/payment', program);

      expect(body).toMatchObject({ actor: 1, workspaceId: 7, roles: ['member'], origin: { keyId: 5 } });
      expect(await reasonOf('/opening')).toBe('role_insufficient');
    });

    it('is no person, who would accept an invitation', async () => {
      directory.grants = granted('member');
      scopes = undefined;

      expect(await reasonOf('/acceptance')).toBe('role_insufficient');
    });

    it('does no more than its scopes, of every kind of operation', async () => {
      directory.grants = granted('member');
      scopes = ['orders:create', 'apps:read'];

      expect(await reasonOf('/payment')).toBe('done');
      expect(await reasonOf('/apps')).toBe('done');
      expect(await reasonOf('/transfer')).toBe('scope_insufficient');
      expect(await reasonOf('/corridors')).toBe('scope_insufficient');
      scopes = [];
      expect(await reasonOf('/payment')).toBe('scope_insufficient');
    });

    it('gets no more by its scopes than its roles allow', async () => {
      directory.grants = granted('viewer');
      scopes = ['orders:create', 'transfers:read'];

      expect(await reasonOf('/payment')).toBe('role_insufficient');
      expect(await reasonOf('/transfer')).toBe('done');
    });

    it('is told which scope it lacks', async () => {
      directory.grants = granted('member');
      scopes = ['transfers:read'];

      const { status, sent } = await get('/payment', program);

      expect(status).toBe(403);
      expect(sent['www-authenticate']).toBe('Bearer error="insufficient_scope", scope="orders:create"');
    });

    it('that is unknown is refused as any other credential', async () => {
      const unknown = { ...program, authorization: `Bearer ${keyText(6, new Uint8Array(32))}` };
      const { status, body, sent } = await get('/payment', unknown);

      expect([status, body['reason'], sent['www-authenticate']]).toEqual([401, 'not_authenticated', 'Bearer']);
    });
  });

  describe('a token', () => {
    const inSeven = { ...ada, 'workspace-id': '7' };

    it('with scopes does no more than they allow', async () => {
      directory.grants = granted('admin', 'member');
      claims = { scopes: ['transfers:read'] };

      expect((await get('/transfer', inSeven)).status).toBe(200);
      const { body, sent } = await get('/payment', inSeven);
      expect(body['reason']).toBe('scope_insufficient');
      expect(sent['www-authenticate']).toBe('Bearer error="insufficient_scope", scope="orders:create"');
    });

    it('needs the sign-in that STEP_UP names for an operation, and is told which', async () => {
      directory.grants = granted('admin');
      expect((await get('/opening', inSeven)).status).toBe(200);
      for (const weak of [{}, { acr: 'pwd' }, { acr: 'phr', authenticatedAtS: 1_000 }]) {
        claims = weak;
        const { status, body, sent } = await get('/opening', inSeven);
        expect([status, body['errorCode'], body['reason']]).toEqual([401, 'invalid_request', 'step_up_required']);
        expect(sent['www-authenticate']).toBe(
          'Bearer error="insufficient_user_authentication", acr_values="phr", max_age="300"',
        );
      }
      expect((await get('/transfer', inSeven)).status).toBe(200);
    });

    it('of a caller without the role learns nothing of the sign-in', async () => {
      directory.grants = granted('member');
      claims = {};

      expect((await get('/opening', inSeven)).body['reason']).toBe('role_insufficient');
    });
  });

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

  it('lets a person who is no user call an operation that is open to subjects, and no other', async () => {
    const stranger = { authorization: 'Bearer stranger' };

    const { status, body } = await get('/acceptance', stranger);
    expect({ status, body }).toMatchObject({ status: 200, body: { subject: { issuer: 'test', subject: 'stranger' } } });
    expect(body).not.toHaveProperty('actor');
    expect(await get('/acceptance', ada)).toMatchObject({ status: 200, body: { actor: 1 } });
    expect((await get('/acceptance', { authorization: 'Bearer forged' })).status).toBe(401);
    expect((await get('/apps', stranger)).status).toBe(401);
  });

  it('knows a person at once who becomes a user by such an operation', async () => {
    const invited = { authorization: 'Bearer invited' };
    expect((await get('/acceptance', invited)).status).toBe(200);
    directory.users.add('invited');

    expect((await get('/apps', invited)).status).toBe(200);
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
      body: { actor: 1, workspaceId: 7, roles: ['member'] },
    });
  });

  it.each<[readonly RoleName[], opening: number, payment: number]>([
    [['viewer', 'approver'], 403, 403],
    [['viewer', 'member', 'approver'], 403, 200],
    [['admin'], 200, 403],
    [['member', 'admin'], 200, 200],
  ])('lets the roles %j do what one of them may', async (roles, opening, payment) => {
    const named = { ...ada, 'workspace-id': '7' };
    directory.grants = granted(...roles);

    expect(await get('/transfer', named)).toMatchObject({ status: 200, body: { roles } });
    for (const [path, status] of [
      ['/opening', opening],
      ['/payment', payment],
    ] as const) {
      const body = status === 200 ? { roles } : { reason: 'role_insufficient' };
      expect(await get(path, named)).toMatchObject({ status, body });
    }
  });

  it('honours a further role at once', async () => {
    const named = { ...ada, 'workspace-id': '7' };
    directory.grants = granted('viewer');
    expect((await get('/opening', named)).status).toBe(403);
    directory.grants = granted('viewer', 'admin');

    expect((await get('/opening', named)).status).toBe(200);
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

describe('admitted requests', () => {
  /** A user with a role in two workspaces. */
  const ADA: DirectoryUser = {
    id: 1 as UserId,
    grants: [7, 8].map((id) => ({ workspaceId: id as WorkspaceId, roles: ['member'], appId: 1 as never })),
  };

  class OneUser extends Directory {
    async userOf({ subject }: Subject): Promise<DirectoryUser | undefined> {
      return subject === 'ada' ? ADA : undefined;
    }
  }

  const verifier = {
    async subjectOf(token: string): Promise<Subject> {
      if (token === 'forged') throw new CredentialError('signature');
      if (token === 'unexpected') throw new Error('unexpected');
      return { issuer: 'test', subject: token };
    },
  };

  interface Sent {
    readonly operation?: string | undefined;
    readonly mediaTypes?: readonly string[];
    readonly token?: string;
    readonly workspaceIds?: readonly string[];
    readonly accept?: string;
    /** The headers of the response before the check. */
    readonly before?: Readonly<Record<string, unknown>>;
  }

  const ORIGIN = { sourceAddress: '192.0.2.7' };
  const SIGNAL = new AbortController().signal;

  /** Admits a request of Ada, with the headers of its response, or returns the error. */
  function checkWith(rateLimit = new RateLimit()) {
    const access = new AccessCheck({ verifier, roles: new RoleLookup(new OneUser()), rateLimit });
    return async ({ operation, mediaTypes, token = 'ada', workspaceIds = [], accept, before }: Sent) => {
      const headers = workspaceIds.flatMap((id) => ['Workspace-ID', id]);
      const request = {
        id: 'request-1',
        deadline: SIGNAL,
        method: 'GET',
        sourceAddress: '192.0.2.7',
        headers: { accept },
        raw: { rawHeaders: [...(token === '' ? [] : ['Authorization', `Bearer ${token}`]), ...headers] },
        routeOptions: { url: '/path', config: { operation, mediaTypes } },
      };
      const sent: Record<string, unknown> = { ...before };
      const reply = {
        header: (name: string, value: unknown) => Object.assign(sent, { [name]: value }),
        getHeader: (name: string) => sent[name],
      };
      const error = await access.admit(request as never, reply as never).catch((thrown: unknown) => thrown);
      const {
        operation: checked,
        userId,
        caller,
        credentialFault,
        memberOf,
      } = request as Readonly<Record<string, unknown>>;
      return { error: error as Error | undefined, operation: checked, userId, caller, credentialFault, memberOf, sent };
    };
  }

  describe('an admitted request', () => {
    const check = checkWith();

    it.each([PUBLIC_PAGE, 'getLiveness'])('needs no credential for %s, and has no caller', async (operation) => {
      expect(await check({ operation, token: '' })).toEqual({ sent: {} });
    });

    it('has the user as the caller of an operation of users', async () => {
      expect(await check({ operation: 'listApps' })).toEqual({
        operation: 'listApps',
        userId: 1,
        caller: { actor: 1, requestId: 'request-1', origin: ORIGIN, signal: SIGNAL },
        sent: {},
      });
    });

    it('has the role as well as the caller of an operation of a workspace', async () => {
      expect(await check({ operation: 'getTransfer', workspaceIds: ['8'] })).toEqual({
        operation: 'getTransfer',
        userId: 1,
        memberOf: 8,
        caller: { actor: 1, workspaceId: 8, roles: ['member'], requestId: 'request-1', origin: ORIGIN, signal: SIGNAL },
        sent: {},
      });
    });

    it('may have a media type of its route, on which the response depends', async () => {
      const csv = { operation: 'listApps', mediaTypes: ['application/json', 'text/csv'], accept: 'text/csv' };

      expect(await check(csv)).toMatchObject({ caller: { actor: 1 }, sent: { vary: 'Accept' } });
      expect((await check({ ...csv, before: { vary: 'Origin' } })).sent).toEqual({ vary: 'Origin, Accept' });
    });
  });

  describe('a request that is not admitted', () => {
    const check = checkWith();

    it.each([undefined, 'nosuch', 'toString'])('has a route that declares the operation %s', async (operation) => {
      expect(await check({ operation })).toMatchObject({
        error: new Error('GET /path does not declare its operation'),
        caller: undefined,
      });
    });

    it.each([
      ['forged', 'signature'],
      ['stranger', 'unknown_user'],
      ['', 'missing'],
    ] as const)('has the token %j, with a reason for the log only', async (token, fault) => {
      const { error, credentialFault: logged, caller } = await check({ operation: 'listApps', token });

      expect(error).toMatchObject({
        reason: 'not_authenticated',
        message: new Refusal('not_authenticated').message,
        cause: new CredentialError(fault),
      });
      expect([logged, caller]).toEqual([fault, undefined]);
    });

    it('has an unexpected error of its verification, which is no refusal', async () => {
      expect(await check({ operation: 'listApps', token: 'unexpected' })).toMatchObject({
        error: new Error('unexpected'),
        credentialFault: undefined,
      });
    });

    it('names a workspace of the user, or another one', async () => {
      expect((await check({ operation: 'openAccount', workspaceIds: ['7'] })).memberOf).toBe(7);
      expect((await check({ operation: 'openAccount', workspaceIds: ['9'] })).memberOf).toBeUndefined();
      const refused = { operation: 'getTransfer', workspaceIds: ['7'], accept: 'text/csv' } as const;
      expect(await check(refused)).toMatchObject({ error: { reason: 'not_acceptable' }, memberOf: 7 });
    });

    it('is told which header to send once', async () => {
      const { error } = await check({ operation: 'getTransfer', workspaceIds: ['7', '8'] });
      expect(error?.message).toBe('Send the header workspace-id once.');
    });

    it('is not checked again by an operation that holds no requests', async () => {
      await expect(confirmAccess({} as FastifyRequest)).rejects.toThrow('does not declare that its requests are held');
    });

    it.each<[string, Sent]>([
      ['not_acceptable', { operation: 'listApps', accept: 'text/csv' }],
      ['workspace_id_required', { operation: 'getTransfer' }],
      ['header_repeated', { operation: 'getTransfer', workspaceIds: ['7', '7'] }],
      ['workspace_forbidden', { operation: 'getTransfer', workspaceIds: ['9'] }],
      ['role_insufficient', { operation: 'openAccount', workspaceIds: ['7'] }],
    ])('is refused as %s', async (reason, sent) => {
      expect(await check(sent)).toMatchObject({ error: { reason }, caller: undefined });
    });
  });

  describe('the count of requests', () => {
    it('is one for each workspace of a user, and one for all other requests', async () => {
      const check = checkWith(new RateLimit({ name: 'user', perSecond: 1, burst: 1 }, () => 0));
      const inWorkspace = (id: string) => check({ operation: 'getTransfer', workspaceIds: [id] });
      const reasonOf = async (result: ReturnType<typeof check>) =>
        ((await result).error as Refusal | undefined)?.reason;

      expect(await reasonOf(inWorkspace('7'))).toBeUndefined();
      expect(await reasonOf(inWorkspace('8'))).toBeUndefined();
      expect(await reasonOf(inWorkspace('7'))).toBe('rate_limited');
      expect(await reasonOf(inWorkspace('9'))).toBe('workspace_forbidden');
      expect(await reasonOf(check({ operation: 'listApps' }))).toBe('rate_limited');
      expect(await reasonOf(inWorkspace('10'))).toBe('rate_limited');
    });
  });
});

describe('bearerToken', () => {
  const requestWith = (...rawHeaders: string[]) => ({ raw: { rawHeaders } }) as unknown as FastifyRequest;

  it.each([
    ['Bearer abc', 'abc'],
    ['bearer abc', 'abc'],
    ['BEARER   abc', 'abc'],
    ['Bearer aZ09._~+/-==', 'aZ09._~+/-=='],
  ])('returns the token of %j', (value, token) => {
    expect(bearerToken(requestWith('Authorization', value))).toBe(token);
  });

  it.each(['', 'Bearer', 'Bearer ', 'Bearerabc', ' Bearer abc', 'Basic abc', 'Bearer a b', 'Bearer a=b', 'Bearer ='])(
    'refuses %j',
    (value) => {
      expect(() => bearerToken(requestWith('Authorization', value))).toThrow(new CredentialError('malformed'));
    },
  );

  it.each([
    [[], 'missing'],
    [['Authorization', 'Bearer a', 'authorization', 'Bearer a'], 'repeated'],
  ] as const)('refuses a request with the headers %j', (rawHeaders, fault) => {
    const refused = expect(() => bearerToken(requestWith(...rawHeaders)));
    refused.toThrow(CredentialError);
    refused.toThrow(expect.objectContaining({ fault }));
  });
});

describe('RoleLookup', () => {
  /** A directory of users by e-mail that counts its reads. */
  class ByEmail extends Directory {
    reads = 0;

    async userOf({ email }: Subject): Promise<DirectoryUser | undefined> {
      this.reads += 1;
      return email === undefined ? undefined : { id: email.length as UserId, grants: [] };
    }
  }

  const ADA: Subject = { issuer: 'https://login.example', subject: 'ada', email: 'ada@bank.example' };

  it('reads the directory once for two calls of one subject', async () => {
    const directory = new ByEmail();
    const roles = new RoleLookup(directory);

    expect(await roles.userOf(ADA)).toEqual(await roles.userOf({ ...ADA }));
    expect(directory.reads).toBe(1);
  });

  it('looks a subject up again if its e-mail is another one or not verified', async () => {
    const roles = new RoleLookup(new ByEmail());
    await roles.userOf(ADA);

    expect((await roles.userOf({ ...ADA, email: 'bob@b.example' }))?.id).toBe(13);
    expect(await roles.userOf({ ...ADA, email: undefined })).toBeUndefined();
  });

  it('looks a subject up again at another issuer, with another subject or with another e-mail', async () => {
    const directory = new ByEmail();
    const roles = new RoleLookup(directory);
    for (const change of [{}, { issuer: 'https://other.example' }, { subject: 'bob' }, { email: undefined }]) {
      await roles.userOf({ ...ADA, ...change });
      await roles.userOf({ ...ADA, ...change });
    }

    expect(directory.reads).toBe(4);
  });

  it('finds no role of a stranger, or in a workspace without a grant', async () => {
    const roles = new RoleLookup(new ByEmail());

    expect(await roles.rolesIn({ ...ADA, email: undefined }, 1 as WorkspaceId, ROLE_NAMES)).toBeUndefined();
    expect(await roles.rolesIn(ADA, 1 as WorkspaceId, ROLE_NAMES)).toBeUndefined();
  });

  it('asks the directory for a role in the workspace that the cached user lacks', async () => {
    const asked: unknown[] = [];
    const grant = (id: number) => ({ workspaceId: id as WorkspaceId, roles: ['member'] as const, appId: 1 as never });
    class Later extends Directory {
      async userOf(_: Subject, workspaceId?: WorkspaceId): Promise<DirectoryUser> {
        asked.push(workspaceId);
        return { id: 5 as UserId, grants: workspaceId === undefined ? [grant(1)] : [grant(1), grant(2)] };
      }
    }
    const roles = new RoleLookup(new Later());

    expect(await roles.rolesIn(ADA, 1 as WorkspaceId, ROLE_NAMES)).toEqual({
      actor: 5,
      workspaceId: 1,
      roles: ['member'],
    });
    expect(await roles.rolesIn(ADA, 2 as WorkspaceId, ROLE_NAMES)).toEqual({
      actor: 5,
      workspaceId: 2,
      roles: ['member'],
    });
    expect(asked).toEqual([undefined, 2]);
  });

  it('honours a removed role for less than a second', async () => {
    let nowMs = 0;
    const workspaceId = 1 as WorkspaceId;
    let grants: DirectoryUser['grants'] = [{ workspaceId, roles: ['admin'], appId: 1 as never }];
    class Changing extends Directory {
      userOf = async () => ({ id: 1 as UserId, grants });
    }
    const roles = new RoleLookup(new Changing(), () => nowMs);
    const roleOfAda = async () => (await roles.rolesIn(ADA, workspaceId, ['admin']))?.roles;

    expect(await roleOfAda()).toEqual(['admin']);
    grants = [];
    nowMs += 999;
    expect(await roleOfAda()).toEqual(['admin']);
    expect(roles.knownUser(ADA)?.grants).toHaveLength(1);
    nowMs += 1;
    expect(roles.knownUser(ADA)).toBeUndefined();
    expect(await roleOfAda()).toBeUndefined();
  });
});
