import { CANARY } from '../log-lines.js';
import { CREDENTIALS, WORKSPACE_IDS } from './credential-requests.js';
import { EVENTS } from './event-requests.js';
import { type HostileCase, TRANSFER } from './hostile-case.js';
import { PATHS } from './path-requests.js';

const WRONG_METHOD = { status: 405, reason: 'method_not_allowed' };

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
  'a query of events that selects none': EVENTS,
  'an unsupported method': METHODS,
  'headers out of order': HEADERS,
};

/** Header lines without a meaning, so many that they can hide another line. */
function manyLines(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`X-Line-${index}`, '1']));
}
