import { Directory, Refusal, type DirectoryUser, type Subject, type UserId, type WorkspaceId } from '@banking/domain';
import { AccessCheck, PUBLIC_PAGE } from './access-check.js';
import { RateLimit } from './rate-limit.js';
import { RoleLookup } from './role-lookup.js';
import { CredentialError } from './token-verifier.js';

/** A user with a role in two workspaces. */
const ADA: DirectoryUser = {
  id: 1 as UserId,
  grants: [7, 8].map((id) => ({ workspaceId: id as WorkspaceId, role: 'member', appId: 1 as never })),
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
      caller: { actor: 1, workspaceId: 8, role: 'member', requestId: 'request-1', origin: ORIGIN, signal: SIGNAL },
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
    const reasonOf = async (result: ReturnType<typeof check>) => ((await result).error as Refusal | undefined)?.reason;

    expect(await reasonOf(inWorkspace('7'))).toBeUndefined();
    expect(await reasonOf(inWorkspace('8'))).toBeUndefined();
    expect(await reasonOf(inWorkspace('7'))).toBe('rate_limited');
    expect(await reasonOf(inWorkspace('9'))).toBe('workspace_forbidden');
    expect(await reasonOf(check({ operation: 'listApps' }))).toBe('rate_limited');
    expect(await reasonOf(inWorkspace('10'))).toBe('rate_limited');
  });
});
