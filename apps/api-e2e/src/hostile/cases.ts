import { CANARY } from '../log-lines.js';

/** Replaces header lines of a valid request by name. `null` omits the line, and a list sends one line for each element. */
type Lines = Readonly<Record<string, string | readonly string[] | null>>;

/** An invalid request and the expected response. The default caller is Ada in Northwind Trading. */
export interface HostileCase {
  readonly what: string;
  /** GET by default. */
  readonly method?: string;
  /**
   * `{transfer}` stands for a transfer of Northwind Trading, and `{cursor}` for a cursor of its events. `{transfers}` is a cursor of its
   * transfers, and `{foreign}` one of the events of another workspace.
   */
  readonly path: string;
  readonly with?: Lines;
  readonly body?: string;
  readonly status: number;
  readonly reason?: string;
}

const TRANSFER = '/transfers/{transfer}';

type Row = readonly [what: string, path: string, lines?: Lines | undefined, more?: Partial<HostileCase>];

/** Cases with one refusal. */
const refused = (status: number, reason: string | undefined, rows: readonly Row[]): HostileCase[] =>
  rows.map(([what, path, lines, more]) => ({
    what,
    path,
    status,
    ...(reason !== undefined && { reason }),
    ...(lines && { with: lines }),
    ...more,
  }));

/** Cases that differ in one text of the path. */
const each = (
  [status, reason]: readonly [number, string],
  what: string,
  texts: readonly string[],
  pathOf: (text: string) => string,
): HostileCase[] =>
  refused(
    status,
    reason,
    texts.map((text) => [`${what} ${text.slice(0, 60)}`, pathOf(text)]),
  );

const token = (text: string | readonly string[] | null): Lines => ({ Authorization: text });
const workspace = (text: string | readonly string[] | null): Lines => ({ 'Workspace-ID': text });

/** Credentials that are no bearer token. Forged tokens are in `forge.ts`. */
const CREDENTIALS: readonly HostileCase[] = [
  ...refused(401, 'not_authenticated', [
    ['no credential', '/apps', token(null)],
    ['no credential, on a transfer', TRANSFER, token(null)],
    ['an empty header', '/apps', token('')],
    ['a scheme alone', '/products', token('Bearer')],
    ['a scheme and spaces', '/products', token('Bearer    ')],
    ['another scheme', '/products', token('Basic dTpw')],
    ['a token without a scheme', '/apps', token('{token}')],
    ['a scheme that begins alike', '/apps', token('BearerX {token}')],
    ['no space after the scheme', '/apps', token('Bearer{token}')],
    ['two tokens in one header', '/apps', token('Bearer {token} {token}')],
    ['two tokens with a comma', '/apps', token('Bearer {token}, Bearer {token}')],
    ['two headers', '/apps', token(['Bearer {token}', 'Bearer {other}'])],
    ['the same header twice', '/apps', token(['Bearer {token}', 'Bearer {token}'])],
    ['a bad header before the good one', '/apps', token(['Basic dTpw', 'Bearer {token}'])],
    ['a token in a cookie', '/apps', { Authorization: null, Cookie: 'access_token={token}' }],
    ['a token in the query', `/apps?access_token=${CANARY}`, token(null)],
    ['two parts', '/apps', token('Bearer a.b')],
    ['four parts', '/apps', token('Bearer a.b.c.d')],
    ['the five parts of an encrypted token', '/apps', token('Bearer a.b.c.d.e')],
    ['empty parts', '/apps', token('Bearer ..')],
    ['a quoted token', '/apps', token('Bearer "{token}"')],
    ['characters beyond ASCII', '/apps', token('Bearer жетон')],
  ]),
  ...refused(431, 'headers_too_large', [['a token of 20 KiB', '/apps', token(`Bearer ${'A'.repeat(20_480)}`)]]),
];

const NO_WORKSPACE_IDS = [
  ...['', 'abc', '-1', '+1', '0', '01', '1e0', '1.0', '0x1', ' 1 ;', '1,2', '9007199254740993', '9007199254740992'],
  ...['1'.repeat(400), '٣', '１', 'null', '__proto__', "1' or '1'='1", '1\t2'],
];

/** Workspace-ID is one id in one spelling. */
const WORKSPACE_IDS: readonly HostileCase[] = [
  ...refused(400, 'workspace_id_required', [
    ['no Workspace-ID', TRANSFER, workspace(null)],
    ['one in the query', `${TRANSFER}?Workspace-ID=1`, workspace(null)],
  ]),
  ...refused(
    400,
    'workspace_id_invalid',
    NO_WORKSPACE_IDS.map((id) => [`Workspace-ID ${JSON.stringify(id.slice(0, 30))}`, TRANSFER, workspace(id)]),
  ),
  ...refused(400, 'header_repeated', [
    ['two of them', TRANSFER, workspace(['{workspace}', '2'])],
    ['the same twice', TRANSFER, workspace(['{workspace}', '{workspace}'])],
  ]),
  ...refused(403, 'workspace_forbidden', [
    ['one that is not there', TRANSFER, workspace('999999')],
    ['the largest there can be', TRANSFER, workspace('9007199254740991')],
  ]),
  ...refused(401, 'not_authenticated', [
    ['a bad one without a token', TRANSFER, { 'Workspace-ID': 'abc', Authorization: null }],
  ]),
];

const NO_IDS = [
  ...['-1', '0', '01', '1e3', '1.5', '0x10', 'abc', '%00', '1%00', '9007199254740992', '99999999999999999999'],
  ...['1%2F2', '%20', '1%20', '%2B1', '__proto__', 'constructor', '%D9%A3', 'null', '1;2', "1'--", '..%2F1'],
];
const NO_ROUTES = [
  ...['/TRANSFERS/1', '/Apps', '/v1/transfers/1', '/v1/apps', '/apps/', '//apps', '/apps/1', '/apps/1/users/'],
  ...['/apps/1/users/1', '/transfers/1/', '/', '/robots.txt', '/.env', '/.git/config', '/docs/../package.json'],
  ...['/docs/%2e%2e/package.json', '/docs/swagger-ui.js', '/metrics', '/openapi.yaml', '/graphql', '/health'],
  ...['/recipients/countries/', '/recipients/countries//corridors', '/__proto__', '/apps/%2e%2e/products'],
];
const NO_COUNTRIES = ['ZZ', '..', '%F0%9F%87%BA%F0%9F%87%B8', "IN'%3Bdrop%20table%20corridor--", '__proto__'];
const NO_LIMITS = ['-1', '1e2', '0x10', '%D9%A3', '9007199254740993', '1%00'];
const NO_CURSORS = ['%00', 'null', '..%2F', '%F0%9F%87%BA', "1'%20or%20'1'='1", 'A'.repeat(4_000)];
const NO_REFERENCES = [
  ...['', '%20', '%00', 'a%0Ab', '%E2%80%AE4711', 'INV%E2%80%8B1', '%EE%80%80', '%F3%B0%80%80', '%EF%BF%BF'],
  'A'.repeat(141),
];
const NO_UTF8 = ['%', '%zz', '%ED%A0%80', '%ED%A0%BD%ED%B2%A3', '%C0%80', '%C0%AF', '%E2%82', '%F4%90%80%80', '%FF'];

/** Paths. An id has one spelling, and no other path leads to its resource. */
const PATHS: readonly HostileCase[] = [
  ...each([400, 'id_malformed'], 'transfer', NO_IDS, (id) => `/transfers/${id}`),
  ...refused(400, undefined, [
    ['a broken percent sign', '/transfers/%E0%A4%A'],
    ['a percent sign alone', '/transfers/%'],
    ['a very long id', `/transfers/${'1'.repeat(3_000)}`],
  ]),
  ...refused(400, 'id_malformed', [
    ['a user id that is none', '/apps/abc/users'],
    ['an app id out of range', '/apps/9007199254740992/users'],
  ]),
  ...refused(404, 'app_not_found', [['an app that is not there', '/apps/9007199254740991/users']]),
  ...refused(404, 'transfer_not_found', [['a transfer that is not there', '/transfers/999999999']]),
  ...each([404, 'route_not_found'], 'the path', NO_ROUTES, (path) => path),
  ...refused(404, 'route_not_found', [
    ['no country, without a token', '/recipients/countries//corridors', token(null)],
  ]),
  ...each([404, 'country_unknown'], 'country', NO_COUNTRIES, (text) => `/recipients/countries/${text}/corridors`),
  ...refused(404, 'country_unknown', [['a country on the former path', '/countries/%00/corridors']]),
  ...each([400, 'limit_invalid'], 'an order with limit', NO_LIMITS, (text) => `/accounts/1/orders/1?limit=${text}`),
  ...each([400, 'cursor_invalid'], 'an order with cursor', NO_CURSORS, (text) => `/accounts/1/orders/1?cursor=${text}`),
  ...each([400, 'parameter_invalid'], 'orders of', NO_REFERENCES, (text) => `/orders?externalReference=${text}`),
  ...each(
    [400, 'parameter_invalid'],
    'transfers of type',
    ['%00', '%F3%A0%81%81', 'a'.repeat(65)],
    (text) => `/transfers?type=${text}`,
  ),
  ...each([400, 'request_malformed'], 'no UTF-8:', NO_UTF8, (text) => `/orders?externalReference=${text}`),
  ...refused(400, 'request_malformed', [
    ['a broken path under another method', '/%', undefined, { method: 'PUT' }],
    ['a parameter whose name is not UTF-8', '/orders?%ED%A0%80=1'],
    ['a query that is not UTF-8 where none is read', '/apps?%00=%E0%A4%A'],
  ]),
  ...refused(400, 'parameter_unknown', [
    ['unknown parameters where none are read', `/apps?q=${CANARY}&q[]=1&__proto__[x]=1&%00=%E0%A4%A4`],
    ['a parameter as a list', '/transfers?limit[]=1'],
    ['a parameter whose name is NUL', '/orders?%00=1'],
  ]),
  ...refused(400, 'parameter_repeated', [['a parameter twice', '/transfers?limit=1&limit=2']]),
  ...refused(414, 'uri_too_long', [['a query of 9 KiB', `/apps?x=${'y'.repeat(9_000)}`]]),
];

const NO_TYPES = [
  ...['order.lost', 'ORDER.PLACED', 'order.placed%20', 'order.placed,order.failed', '*', 'order.*', '%00', ''],
  ...['__proto__', "order.placed'%20or%20'1'='1", 'A'.repeat(4_000), 'order.placed&type=order.lost'],
  `${'order.placed&type='.repeat(200)}constructor`,
];
const NO_WAITS = ['-1', '21', '1.5', '1e1', '0x10', '+1', '%D9%A3', '%00', 'NaN', '99999999999999999999'];
const NO_RESOURCE_IDS = [
  ...['0', '-1', '01', '1.5', '1e3', 'null', '%00', '1%20', '9007199254740992', '9'.repeat(30), '9'.repeat(3_000)],
];
const REPEATED = [
  ...['resourceType=order&resourceType=account', 'resourceType=order&resourceId=1&resourceId=2', 'wait=1&wait=2'],
  ...['limit=1&limit=2', 'cursor={cursor}&cursor={cursor}'],
  'createdFrom=2026-01-01T00:00:00Z&createdFrom=2026-01-02T00:00:00Z',
];
const FALSE_CURSORS = [
  ...['{foreign}', '{foreign}&wait=20', '{transfers}', '{cursor}&type=order.placed', '{cursor}A', '{cursor}%3D'],
  ...['{cursor}&resourceType=order&resourceId=1', '0', 'AAAA', '%00', 'null', '..%2F', 'A'.repeat(4_000)],
];

/** Queries of the list of events, which a service may hold. */
const EVENTS: readonly HostileCase[] = [
  ...each([400, 'parameter_invalid'], 'type', NO_TYPES, (text) => `/events?type=${text}`),
  ...each(
    [400, 'parameter_invalid'],
    'resourceType',
    ['orders', 'Order', 'order,account', '%00', 'toString', 'A'.repeat(4_000)],
    (text) => `/events?resourceType=${text}`,
  ),
  ...each([400, 'parameter_invalid'], 'wait', NO_WAITS, (text) => `/events?wait=${text}`),
  ...each(
    [400, 'parameter_invalid'],
    'a resource without its type:',
    ['resourceId=1', 'resourceId=1&type=order.placed&wait=20'],
    (query) => `/events?${query}`,
  ),
  ...each(
    [400, 'id_malformed'],
    'resourceId',
    NO_RESOURCE_IDS,
    (text) => `/events?resourceType=order&resourceId=${text}`,
  ),
  ...each([400, 'parameter_repeated'], 'twice:', REPEATED, (query) => `/events?${query}`),
  ...each([400, 'cursor_invalid'], 'cursor', FALSE_CURSORS, (text) => `/events?cursor=${text}`),
  ...each(
    [400, 'parameter_unknown'],
    'query',
    ['type%5B%5D=order.placed', 'Wait=20', 'wait=20&colour=blue'],
    (query) => `/events?${query}`,
  ),
  ...each(
    [400, 'id_malformed'],
    'event',
    ['0', '01', '-1', '1.5', '%00', '9007199254740992', '9'.repeat(30)],
    (id) => `/events/${id}`,
  ),
  ...refused(404, 'event_not_found', [['an event that does not exist', '/events/9007199254740991']]),
];

const JSON_TYPE = 'application/json';

const METHODS: readonly HostileCase[] = [
  ...refused(405, 'method_not_allowed', [
    ['DELETE of a transfer', TRANSFER, undefined, { method: 'DELETE' }],
    ['PUT of a transfer', TRANSFER, undefined, { method: 'PUT' }],
    ['PATCH of an app', '/apps', undefined, { method: 'PATCH' }],
    ['POST to the products', '/products', undefined, { method: 'POST' }],
    ['POST to the products without a token', '/products', token(null), { method: 'POST' }],
    ['POST that says it is a GET', '/apps', { 'X-HTTP-Method-Override': 'GET' }, { method: 'POST' }],
    ['POST of JSON', '/apps', { 'Content-Type': JSON_TYPE, 'Content-Length': '2' }, { method: 'POST', body: '{}' }],
    [
      'POST of broken JSON',
      '/apps',
      { 'Content-Type': JSON_TYPE, 'Content-Length': '1' },
      { method: 'POST', body: '{' },
    ],
    ['POST to the health', '/health/live', undefined, { method: 'POST' }],
    ['POST to the docs', '/docs', undefined, { method: 'POST' }],
    ...['TRACE', 'OPTIONS', 'PROPFIND'].map((method): Row => [method, '/apps', undefined, { method }]),
  ]),
  ...refused(415, 'unsupported_media_type', [
    ['a body without a media type', '/accounts', { 'Content-Length': '2' }, { method: 'POST', body: '{}' }],
  ]),
];

/** Header lines without a meaning, so many that they can hide another line. */
const MANY_LINES = Object.fromEntries(Array.from({ length: 150 }, (_, index) => [`X-Line-${index}`, '1']));

const HEADERS: readonly HostileCase[] = [
  ...refused(431, 'headers_too_large', [
    ['more header lines than are read', '/apps', MANY_LINES],
    ['a second token behind many other lines', '/apps', { ...MANY_LINES, authorization: 'Bearer {other}' }],
    ['a second workspace behind many other lines', TRANSFER, { ...MANY_LINES, 'workspace-id': '2' }],
    ['20 KiB of headers', '/apps', { 'X-Long': CANARY.repeat(1_300) }],
  ]),
  ...refused(400, 'header_repeated', [
    ['two Accept lines', '/apps', { Accept: ['application/json', 'text/html'] }],
    ['two Idempotency-Key lines', '/apps', { 'Idempotency-Key': ['a', 'b'] }],
  ]),
  ...refused(406, 'not_acceptable', [['an Accept that nothing of ours is', '/apps', { Accept: 'image/png' }]]),
];

export const HOSTILE: Readonly<Record<string, readonly HostileCase[]>> = {
  'a credential that is none': CREDENTIALS,
  'a Workspace-ID that is none': WORKSPACE_IDS,
  'a path that leads nowhere': PATHS,
  'a query of events that selects none': EVENTS,
  'an unsupported method': METHODS,
  'headers out of order': HEADERS,
};

/** Requests with an unusual part that the service ignores. */
export const UNUSUAL_REQUESTS: readonly HostileCase[] = refused(200, undefined, [
  ['an expectation that cannot be fulfilled', '/apps', { Expect: 'a-miracle' }],
  [
    'headers of a proxy that is not configured',
    '/apps',
    { 'X-Forwarded-For': '1.2.3.4', 'X-Forwarded-Host': 'evil.example', 'X-Forwarded-Proto': 'https' },
  ],
  ['a header that would rewrite the path', '/apps', { 'X-Original-URL': '/docs', 'X-Rewrite-URL': '/docs' }],
  ['a method override on GET', '/apps', { 'X-HTTP-Method-Override': 'DELETE' }],
  ['a GET with a body', '/apps', { 'Content-Type': JSON_TYPE, 'Content-Length': '7' }, { body: '{"a":1}' }],
  ['a request id that would break a log line', '/apps', { 'X-Request-Id': `${CANARY} {"level":"fatal"}` }],
  ['a foreign origin', '/apps', { Origin: 'https://evil.example' }],
  ['an Accept of everything', '/apps', { Accept: '*/*' }],
  ['more than one space after the scheme', '/apps', token('Bearer  {token}')],
]);
