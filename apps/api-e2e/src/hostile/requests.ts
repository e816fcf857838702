import { CANARY } from '../log-lines.js';

/** One request nobody should send, and what it gets. Ada asks, in Northwind Trading, unless the case says otherwise. */
export interface HostileCase {
  readonly what: string;
  /** GET where it says nothing. */
  readonly method?: string;
  /** `{transfer}` stands for a transfer of Northwind Trading. */
  readonly path: string;
  /** Replaces a header line of a good request, by its name; `null` leaves it out, a list sends it as often. */
  readonly with?: Readonly<Record<string, string | readonly string[] | null>>;
  readonly body?: string;
  readonly status: number;
  readonly reason?: string;
}

const TRANSFER = '/transfers/{transfer}';
const UNAUTHENTICATED = { status: 401, reason: 'not_authenticated' };
const NO_WORKSPACE_ID = { status: 400, reason: 'workspace_id_invalid' };
const NO_ID = { status: 400, reason: 'id_malformed' };
const NO_ROUTE = { status: 404, reason: 'route_not_found' };
const WRONG_METHOD = { status: 405, reason: 'method_not_allowed' };

/** Credentials that are no bearer token. Forged tokens have a file of their own. */
const CREDENTIALS: readonly HostileCase[] = [
  { what: 'no credential', path: '/apps', with: { Authorization: null }, ...UNAUTHENTICATED },
  { what: 'no credential, on a transfer', path: TRANSFER, with: { Authorization: null }, ...UNAUTHENTICATED },
  { what: 'an empty header', path: '/apps', with: { Authorization: '' }, ...UNAUTHENTICATED },
  { what: 'a scheme alone', path: '/products', with: { Authorization: 'Bearer' }, ...UNAUTHENTICATED },
  { what: 'a scheme and spaces', path: '/products', with: { Authorization: 'Bearer    ' }, ...UNAUTHENTICATED },
  { what: 'another scheme', path: '/products', with: { Authorization: 'Basic dTpw' }, ...UNAUTHENTICATED },
  { what: 'a token without a scheme', path: '/apps', with: { Authorization: '{token}' }, ...UNAUTHENTICATED },
  { what: 'a scheme that begins alike', path: '/apps', with: { Authorization: 'BearerX {token}' }, ...UNAUTHENTICATED },
  { what: 'no space after the scheme', path: '/apps', with: { Authorization: 'Bearer{token}' }, ...UNAUTHENTICATED },
  {
    what: 'two tokens in one header',
    path: '/apps',
    with: { Authorization: 'Bearer {token} {token}' },
    ...UNAUTHENTICATED,
  },
  {
    what: 'two tokens with a comma',
    path: '/apps',
    with: { Authorization: 'Bearer {token}, Bearer {token}' },
    ...UNAUTHENTICATED,
  },
  {
    what: 'two headers',
    path: '/apps',
    with: { Authorization: ['Bearer {token}', 'Bearer {other}'] },
    ...UNAUTHENTICATED,
  },
  {
    what: 'the same header twice',
    path: '/apps',
    with: { Authorization: ['Bearer {token}', 'Bearer {token}'] },
    ...UNAUTHENTICATED,
  },
  {
    what: 'a bad header before the good one',
    path: '/apps',
    with: { Authorization: ['Basic dTpw', 'Bearer {token}'] },
    ...UNAUTHENTICATED,
  },
  {
    what: 'a token in a cookie',
    path: '/apps',
    with: { Authorization: null, Cookie: 'access_token={token}' },
    ...UNAUTHENTICATED,
  },
  {
    what: 'a token in the query',
    path: `/apps?access_token=${CANARY}`,
    with: { Authorization: null },
    ...UNAUTHENTICATED,
  },
  { what: 'two parts', path: '/apps', with: { Authorization: 'Bearer a.b' }, ...UNAUTHENTICATED },
  { what: 'four parts', path: '/apps', with: { Authorization: 'Bearer a.b.c.d' }, ...UNAUTHENTICATED },
  {
    what: 'the five parts of an encrypted token',
    path: '/apps',
    with: { Authorization: 'Bearer a.b.c.d.e' },
    ...UNAUTHENTICATED,
  },
  { what: 'empty parts', path: '/apps', with: { Authorization: 'Bearer ..' }, ...UNAUTHENTICATED },
  { what: 'a quoted token', path: '/apps', with: { Authorization: 'Bearer "{token}"' }, ...UNAUTHENTICATED },
  { what: 'characters beyond ASCII', path: '/apps', with: { Authorization: 'Bearer жетон' }, ...UNAUTHENTICATED },
  {
    what: 'a token of 20 KiB',
    path: '/apps',
    with: { Authorization: `Bearer ${'A'.repeat(20_480)}` },
    status: 431,
    reason: 'headers_too_large',
  },
];

/** Workspace-ID is one id in one spelling. */
const WORKSPACE_IDS: readonly HostileCase[] = [
  { what: 'no Workspace-ID', path: TRANSFER, with: { 'Workspace-ID': null }, status: 400, reason: 'workspace_id_required' },
  ...['', 'abc', '-1', '+1', '0', '01', '1e0', '1.0', '0x1', ' 1 ;', '1,2', '9007199254740993', '9007199254740992', '1'.repeat(400), '٣', '１', 'null', '__proto__', "1' or '1'='1", '1\t2'].map(
    (value) => ({ what: `Workspace-ID ${JSON.stringify(value.slice(0, 30))}`, path: TRANSFER, with: { 'Workspace-ID': value }, ...NO_WORKSPACE_ID }),
  ),
  { what: 'two of them', path: TRANSFER, with: { 'Workspace-ID': ['{workspace}', '2'] }, ...NO_WORKSPACE_ID },
  { what: 'the same twice', path: TRANSFER, with: { 'Workspace-ID': ['{workspace}', '{workspace}'] }, ...NO_WORKSPACE_ID },
  { what: 'one in the query', path: `${TRANSFER}?Workspace-ID=1`, with: { 'Workspace-ID': null }, status: 400, reason: 'workspace_id_required' },
  { what: 'one that is not there', path: TRANSFER, with: { 'Workspace-ID': '999999' }, status: 403, reason: 'workspace_forbidden' },
  { what: 'the largest there can be', path: TRANSFER, with: { 'Workspace-ID': '9007199254740991' }, status: 403, reason: 'workspace_forbidden' },
  { what: 'a bad one without a token', path: TRANSFER, with: { 'Workspace-ID': 'abc', Authorization: null }, ...UNAUTHENTICATED },
]; // prettier-ignore

/** Paths. An id has one spelling; a path is what it is, and never its neighbour. */
const PATHS: readonly HostileCase[] = [
  ...['-1', '0', '01', '1e3', '1.5', '0x10', 'abc', '%00', '1%00', '9007199254740992', '99999999999999999999', '1%2F2', '%20', '1%20', '%2B1', '__proto__', 'constructor', '%D9%A3', 'null', '1;2', "1'--", '..%2F1'].map(
    (id) => ({ what: `transfer ${id}`, path: `/transfers/${id}`, ...NO_ID }),
  ),
  { what: 'a broken percent sign', path: '/transfers/%E0%A4%A', status: 400 },
  { what: 'a percent sign alone', path: '/transfers/%', status: 400 },
  { what: 'a broken path under another method', method: 'PUT', path: '/%', status: 400, reason: 'request_malformed' },
  { what: 'a user id that is none', path: '/apps/abc/users', ...NO_ID },
  { what: 'an app id out of range', path: '/apps/9007199254740992/users', ...NO_ID },
  { what: 'an app that is not there', path: '/apps/9007199254740991/users', status: 404, reason: 'app_not_found' },
  { what: 'a transfer that is not there', path: '/transfers/999999999', status: 404, reason: 'transfer_not_found' },
  { what: 'a very long id', path: `/transfers/${'1'.repeat(3_000)}`, status: 400 },
  ...['/TRANSFERS/1', '/Apps', '/v1/transfers/1', '/v1/apps', '/apps/', '//apps', '/apps/1', '/apps/1/users/', '/apps/1/users/1', '/transfers/1/', '/', '/robots.txt', '/.env', '/.git/config', '/docs/../package.json', '/docs/%2e%2e/package.json', '/docs/swagger-ui.js', '/metrics', '/openapi.yaml', '/graphql', '/health', '/recipients/countries/', '/recipients/countries//corridors', '/__proto__', '/apps/%2e%2e/products'].map(
    (path) => ({ what: path, path, ...NO_ROUTE }),
  ),
  { what: 'no country, without a token', path: '/recipients/countries//corridors', with: { Authorization: null }, ...NO_ROUTE },
  { what: 'two letters that are no country', path: '/recipients/countries/ZZ/corridors', status: 404, reason: 'country_unknown' },
  { what: 'the folder above instead of a country', path: '/recipients/countries/../corridors', status: 404, reason: 'country_unknown' },
  { what: 'a flag instead of a country', path: '/recipients/countries/%F0%9F%87%BA%F0%9F%87%B8/corridors', status: 404, reason: 'country_unknown' },
  { what: 'a statement instead of a country', path: "/recipients/countries/IN'%3Bdrop%20table%20corridor--/corridors", status: 404, reason: 'country_unknown' },
  { what: 'a prototype instead of a country', path: '/recipients/countries/__proto__/corridors', status: 404, reason: 'country_unknown' },
  { what: 'a country on the former path', path: '/countries/%00/corridors', status: 404, reason: 'country_unknown' },
  ...['-1', '1e2', '0x10', '%D9%A3', '9007199254740993', '1%00'].map((limit) => ({ what: `an order with a limit of ${limit}`, path: `/accounts/1/orders/1?limit=${limit}`, status: 400, reason: 'limit_invalid' })),
  ...['%00', 'null', '..%2F', '%F0%9F%87%BA', "1'%20or%20'1'='1", 'A'.repeat(4_000)].map((cursor) => ({ what: `an order with the cursor ${cursor.slice(0, 20)}`, path: `/accounts/1/orders/1?cursor=${cursor}`, status: 400, reason: 'cursor_invalid' })),
  ...['', '%20', '%00', 'a%0Ab', '%E2%80%AE4711', 'INV%E2%80%8B1', '%EE%80%80', '%F3%B0%80%80', '%EF%BF%BF', 'A'.repeat(141)].map((text) => ({ what: `orders with the reference ${text.slice(0, 20)}`, path: `/orders?externalReference=${text}`, status: 400, reason: 'parameter_invalid' })),
  ...['%00', '%F3%A0%81%81', 'a'.repeat(65)].map((text) => ({ what: `transfers of the type ${text.slice(0, 20)}`, path: `/transfers?type=${text}`, status: 400, reason: 'parameter_invalid' })),
  ...['%', '%zz', '%ED%A0%80', '%ED%A0%BD%ED%B2%A3', '%C0%80', '%C0%AF', '%E2%82', '%F4%90%80%80', '%FF'].map((text) => ({ what: `orders with a reference that is not UTF-8: ${text}`, path: `/orders?externalReference=${text}`, status: 400, reason: 'request_malformed' })),
  { what: 'a parameter whose name is not UTF-8', path: '/orders?%ED%A0%80=1', status: 400, reason: 'request_malformed' },
  { what: 'a query that is not UTF-8 where none is read', path: '/apps?%00=%E0%A4%A', status: 400, reason: 'request_malformed' },
  { what: 'a parameter whose name is NUL', path: '/orders?%00=1', status: 400, reason: 'parameter_unknown' },
  { what: 'a query of 9 KiB', path: `/apps?x=${'y'.repeat(9_000)}`, status: 414, reason: 'uri_too_long' },
]; // prettier-ignore

const METHODS: readonly HostileCase[] = [
  { what: 'DELETE of a transfer', method: 'DELETE', path: TRANSFER, ...WRONG_METHOD },
  { what: 'PUT of a transfer', method: 'PUT', path: TRANSFER, ...WRONG_METHOD },
  { what: 'PATCH of an app', method: 'PATCH', path: '/apps', ...WRONG_METHOD },
  { what: 'POST to the products', method: 'POST', path: '/products', ...WRONG_METHOD },
  {
    what: 'POST to the products without a token',
    method: 'POST',
    path: '/products',
    with: { Authorization: null },
    ...WRONG_METHOD,
  },
  {
    what: 'POST that says it is a GET',
    method: 'POST',
    path: '/apps',
    with: { 'X-HTTP-Method-Override': 'GET' },
    ...WRONG_METHOD,
  },
  {
    what: 'POST of JSON',
    method: 'POST',
    path: '/apps',
    with: { 'Content-Type': 'application/json', 'Content-Length': '2' },
    body: '{}',
    ...WRONG_METHOD,
  },
  {
    what: 'POST of broken JSON',
    method: 'POST',
    path: '/apps',
    with: { 'Content-Type': 'application/json', 'Content-Length': '1' },
    body: '{',
    ...WRONG_METHOD,
  },
  {
    what: 'a body without a media type',
    method: 'POST',
    path: '/accounts',
    with: { 'Content-Length': '2' },
    body: '{}',
    status: 415,
    reason: 'unsupported_media_type',
  },
  { what: 'POST to the health', method: 'POST', path: '/health/live', ...WRONG_METHOD },
  { what: 'POST to the docs', method: 'POST', path: '/docs', ...WRONG_METHOD },
  { what: 'TRACE', method: 'TRACE', path: '/apps', ...WRONG_METHOD },
  { what: 'OPTIONS', method: 'OPTIONS', path: '/apps', ...WRONG_METHOD },
  { what: 'PROPFIND', method: 'PROPFIND', path: '/apps', ...WRONG_METHOD },
];

const HEADERS: readonly HostileCase[] = [
  {
    what: 'more header lines than are read',
    path: '/apps',
    with: manyLines(150),
    status: 431,
    reason: 'headers_too_large',
  },
  {
    what: 'a second token behind many other lines',
    path: '/apps',
    with: { ...manyLines(150), authorization: 'Bearer {other}' },
    status: 431,
    reason: 'headers_too_large',
  },
  {
    what: 'a second workspace behind many other lines',
    path: TRANSFER,
    with: { ...manyLines(150), 'workspace-id': '2' },
    status: 431,
    reason: 'headers_too_large',
  },
  {
    what: 'two Accept lines',
    path: '/apps',
    with: { Accept: ['application/json', 'text/html'] },
    status: 400,
    reason: 'header_repeated',
  },
  {
    what: 'two Idempotency-Key lines',
    path: '/apps',
    with: { 'Idempotency-Key': ['a', 'b'] },
    status: 400,
    reason: 'header_repeated',
  },
  {
    what: 'an Accept that nothing of ours is',
    path: '/apps',
    with: { Accept: 'image/png' },
    status: 406,
    reason: 'not_acceptable',
  },
  {
    what: '20 KiB of headers',
    path: '/apps',
    with: { 'X-Long': CANARY.repeat(1_300) },
    status: 431,
    reason: 'headers_too_large',
  },
];

export const HOSTILE: Readonly<Record<string, readonly HostileCase[]>> = {
  'a credential that is none': CREDENTIALS,
  'a Workspace-ID that is none': WORKSPACE_IDS,
  'a path that leads nowhere': PATHS,
  'a method that is not answered': METHODS,
  'headers out of order': HEADERS,
};

/** Lines that mean nothing, so many that something can be hidden behind them. */
function manyLines(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`X-Line-${index}`, '1']));
}
