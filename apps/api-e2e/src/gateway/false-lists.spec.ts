import type { User } from '@banking/domain';
import { until } from '@banking/postgres/testing';
import { type HttpResponse, sendRequest, type RequestOptions } from '../responses.js';
import { OwnIssuer } from '../identity/own-issuer.js';
import { withTokens } from '../identity/own-service.js';
import { CANARY } from '../log-lines.js';
import { ADA, BOB } from '../service.js';
import { AttackedGateway } from './gateway-under-attack.js';
import { json, PEOPLE } from './hostile-upstream.js';
import { REJECTED_LISTS, LISTED, OTHER_APP } from './false-lists.js';

describe('gateway that identifies callers by the lists of its upstream', () => {
  let issuer: OwnIssuer;
  let attacked: AttackedGateway;
  beforeAll(async () => {
    issuer = await OwnIssuer.start();
    attacked = await AttackedGateway.start({ OIDC_ISSUER: issuer.issuer, UPSTREAM_TOKEN: `opaque-${CANARY}` });
  });
  afterAll(async () => {
    await attacked?.stop();
    await issuer?.stop();
  });
  afterEach(() => {
    attacked.upstream.listsBehaviour = undefined;
    attacked.upstream.users = PEOPLE;
    expect(attacked.wrongLines()).toEqual([]);
  });

  const tokenOf = (email: string) => issuer.token(email, { email, email_verified: true });
  const readAs = (token: string, path = '/accounts', options: RequestOptions = {}) =>
    sendRequest(withTokens(attacked.service), path, { as: token, workspace: 1, ...options });
  const read = (email: string): Promise<HttpResponse> => readAs(tokenOf(email));
  const untilStatus = (email: string, status: number) =>
    until(
      () => read(email),
      (response) => response.status === status,
    );
  /** Sends requests until the gateway has read the lists, and returns the last response. */
  function untilListsRead(email: string): Promise<HttpResponse> {
    const before = attacked.upstream.listsRead;
    return until(
      () => read(email),
      () => attacked.upstream.listsRead > before,
    );
  }
  /** Waits until the gateway has read the current lists, which it does for an unknown caller. */
  const learn = () => untilListsRead('learner@x.example');

  it('identifies no caller, or grants no role, by contradictory or invalid entries', async () => {
    attacked.upstream.users = [...PEOPLE, ...LISTED.flatMap(([, , , users]) => users)];
    attacked.upstream.apps = [1, 2].map((id) => ({ id, name: `App ${id}` }));
    attacked.upstream.usersOf2 = OTHER_APP;
    await learn();

    const got = await Promise.all(LISTED.map(async ([what, email]) => [what, (await read(email)).status]));

    expect(got).toEqual(LISTED.map(([what, , status]) => [what, status]));
    expect(await attacked.gateway.logged(/"userIds":\[([\d,]+)\]/)).toBe('13,14,15,16,17,18,99');
    expect((await read(ADA)).status).toBe(200);
  });

  it.each(REJECTED_LISTS)('identifies no caller until the list is valid if a list %s', async (_, behaviour, status) => {
    attacked.upstream.listsBehaviour = (response, request) => {
      if (request.path === '/apps') json(attacked.upstream.apps)(response, request);
      else behaviour(response, request);
    };

    const response = await untilListsRead(ADA);

    expect(response.status).toBe(status);
    expect((await readAs('no.token.x')).status).toBe(401);
  });

  it.each([
    ['no e-mail', { email: undefined }],
    ['an e-mail its issuer has not verified', { email_verified: false }],
    ['an e-mail with the text "true" as email_verified', { email_verified: 'true' }],
    ['an e-mail without email_verified', { email_verified: undefined }],
    ['a list of e-mails', { email: [ADA] }],
  ])('refuses a valid token with %s', async (what, claims) => {
    await untilStatus(ADA, 200);

    const token = issuer.token(`with ${what}`, { email: ADA, email_verified: true, ...claims });

    expect((await readAs(token)).status).toBe(401);
  });

  it('identifies the same user by another subject, because no subject is bound', async () => {
    const one = await readAs(issuer.token('first', { email: ADA, email_verified: true }));
    const other = await readAs(issuer.token('second', { email: ADA.toUpperCase(), email_verified: true }));

    expect([one.status, other.status]).toEqual([200, 200]);
  });

  it('reads the lists about once a second for many unknown callers', async () => {
    const [before, startedMs] = [attacked.upstream.listsRead, performance.now()];

    // On a busy machine a request, or a read of the lists, may take longer than the gateway waits.
    const refused = (email: string) =>
      until(
        () => read(email),
        ({ status }) => {
          expect([401, 502, 503, 504]).toContain(status);
          return status === 401;
        },
      );
    await Promise.all(Array.from({ length: 300 }, (_, at) => refused(`stranger-${at}@x.example`)));

    const seconds = (performance.now() - startedMs) / 1_000;
    // There are two apps.
    expect((attacked.upstream.listsRead - before) / 2).toBeLessThanOrEqual(1 + Math.ceil(seconds));
  });

  it('lists the same users of an app as a service with its own books', async () => {
    const list = async (email: string) => {
      const { body } = await readAs(tokenOf(email), '/apps/1/users');
      return (body as User[]).map(({ email: seen, edges }) => [seen, edges.roles?.length]);
    };
    attacked.upstream.users = [...PEOPLE, { id: 3, email: 'cy@x.example', status: 'pending' }];
    await learn();

    expect(await list(ADA)).toEqual([
      [ADA, 1],
      [BOB, 1],
      ['cy@x.example', 0],
    ]);
    expect(await list(BOB)).toEqual([
      [ADA, 1],
      [BOB, 1],
    ]);
    expect(await list('cy@x.example')).toEqual([['cy@x.example', 0]]);
    expect((await readAs(tokenOf(BOB), '/apps/3/users')).body).toMatchObject({ reason: 'app_not_found' });
  });
});

describe('gateway with an upstream of 100,000 users', () => {
  let issuer: OwnIssuer;
  let attacked: AttackedGateway;
  beforeAll(async () => {
    issuer = await OwnIssuer.start();
    // On a busy machine, the list takes seconds.
    attacked = await AttackedGateway.start({ OIDC_ISSUER: issuer.issuer, UPSTREAM_TIMEOUT_MS: '14000' });
    const crowd = Array.from({ length: 100_000 }, (_, at) => ({ id: 1_000 + at, email: `u${at}@x.example` }));
    attacked.upstream.users = [...crowd, ...PEOPLE];
  });
  afterAll(async () => {
    await attacked?.stop();
    await issuer?.stop();
  });

  it.each([
    ['u99999@x.example', 403],
    [ADA, 200],
  ])('identifies each of them, such as %s', async (email, status) => {
    const as = issuer.token(email, { email, email_verified: true });
    await until(
      () => sendRequest(withTokens(attacked.service), '/accounts', { as, workspace: 1 }),
      (response) => response.status === status,
    );
  });
});
