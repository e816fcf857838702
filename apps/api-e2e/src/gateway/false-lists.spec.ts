import { until } from '@banking/postgres/testing';
import { AttackedGateway, type Behaviour, json, PEOPLE, roleIn } from './attacked-gateway.js';
import { type HttpResponse, type RequestOptions, sendRequest } from '../responses.js';
import { OwnIssuer, withTokens } from '../identity/own-issuer.js';
import { CANARY } from '../log-lines.js';
import { ADA } from '../service.js';

const user = (id: unknown, email: unknown, more: object = {}) => ({ id, email, status: 'completed', ...more });
const as = (...roles: readonly unknown[]) => ({ edges: { roles } });
const admin = as(roleIn(1, 'admin', 1));

/** Users as the list of app 1 describes them, with the status each gets for a read in workspace 1. */
const LISTED: readonly (readonly [what: string, email: string, status: 200 | 401 | 403, users: readonly unknown[]])[] =
  [
    ['an admin', 'admin@x.example', 200, [user(10, 'admin@x.example', admin)]],
    ['written in other letters', 'mixed@x.example', 200, [user(11, 'MiXeD@X.Example', admin)]],
    [
      'listed twice with one id',
      'again@x.example',
      200,
      [user(12, 'again@x.example', admin), user(12, 'again@x.example')],
    ],
    [
      'listed with two ids',
      'two-ids@x.example',
      401,
      [user(13, 'two-ids@x.example', admin), user(14, 'two-ids@x.example')],
    ],
    [
      'listed with two ids, in other letters',
      'case@x.example',
      401,
      [user(15, 'case@x.example'), user(16, 'CASE@X.EXAMPLE', admin)],
    ],
    [
      'of an id that has another e-mail too',
      'shared@x.example',
      401,
      [user(17, 'shared@x.example', admin), user(17, 'shares@x.example')],
    ],
    ['one of two apps that call it by two ids', 'apart@x.example', 401, [user(18, 'apart@x.example', admin)]],
    ['pending', 'pending@x.example', 403, [user(19, 'pending@x.example', { status: 'pending', ...admin })]],
    ['suspended', 'suspended@x.example', 403, [user(29, 'suspended@x.example', { status: 'suspended', ...admin })]],
    ['listed without a status', 'unsaid@x.example', 200, [{ id: 30, email: 'unsaid@x.example', ...admin }]],
    ['without edges', 'bare@x.example', 403, [{ id: 20, email: 'bare@x.example' }]],
    ['without roles', 'idle@x.example', 403, [user(21, 'idle@x.example', { edges: {} })]],
    [
      'given an unknown role',
      'superadmin@x.example',
      403,
      [user(22, 'superadmin@x.example', as(roleIn(1, 'superadmin', 1)))],
    ],
    [
      'given a role in capitals',
      'capitals@x.example',
      403,
      [user(23, 'capitals@x.example', as(roleIn(1, 'ADMIN', 1)))],
    ],
    [
      'given a role called like a member of all objects',
      'proto@x.example',
      403,
      [user(24, 'proto@x.example', as(roleIn(1, '__proto__', 1), roleIn(2, 'constructor', 1)))],
    ],
    [
      'given a role elsewhere',
      'elsewhere@x.example',
      403,
      [user(25, 'elsewhere@x.example', as(roleIn(1, 'admin', 2)))],
    ],
    ['listed as a look-alike', 'k@x.example', 401, [user(26, '\u212a@x.example', admin)]],
    ['listed with blanks', 'blank@x.example', 401, [user(27, ' blank@x.example ', admin)]],
    ['listed by half an address', 'half', 401, [user(28, 'half', admin)]],
    ['not listed', 'stranger@x.example', 401, []],
  ];

/** The users of app 2, where a user of app 1 has another id. */
const OTHER_APP: readonly unknown[] = [user(99, 'apart@x.example', admin)];

const withMore = (...users: readonly unknown[]) => json([...PEOPLE, ...users]);

/**
 * Lists that are rejected as a whole, so that they identify no caller. validate-response.spec.ts has each field of a user, and
 * upstream-failure.spec.ts each failure of a response.
 */
const REJECTED_LISTS: readonly (readonly [what: string, behaviour: Behaviour, status: 502 | 503 | 504])[] = [
  [
    'writes a workspace as a text',
    withMore(user(3, 'x@x.example', as({ id: 1, role: 'admin', edges: { workspace: { id: '1', name: 'W' } } }))),
    502,
  ],
  ['hangs', () => undefined, 504],
  ['is refused with 401', json({ errorCode: 'x', message: 'No.' }, 401), 503],
];

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
});
