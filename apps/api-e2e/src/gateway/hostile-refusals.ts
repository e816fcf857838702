import { CANARY } from '../log-lines.js';
import { body, json, type Behaviour } from './hostile-upstream.js';

/** A refusal of `GET /transfers/1` by an upstream, and the response of the gateway to the caller. */
export interface HostileRefusal {
  readonly what: string;
  readonly behaviour: Behaviour;
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  /** Retry-After of the response, absent if there is none. */
  readonly retryAfter?: string;
  /** The level of the log line, absent if the upstream has only refused the caller. */
  readonly level?: 'warn' | 'error';
}

const ERROR = {
  status: 502,
  body: { errorCode: 'upstream_error', reason: 'upstream_error' },
  level: 'warn',
} as const;
const TIMEOUT = {
  status: 504,
  body: { errorCode: 'upstream_timeout', reason: 'upstream_timeout' },
  level: 'warn',
} as const;
const busy = (retryAfter = '1') =>
  ({ status: 503, body: { errorCode: 'unavailable', reason: 'unavailable' }, retryAfter, level: 'warn' }) as const;
const limited = (retryAfter = '1') =>
  ({ ...busy(retryAfter), status: 429, body: { errorCode: 'rate_limited', reason: 'rate_limited' } }) as const;
const ALARM = { ...busy(), level: 'error' } as const;

const published = (status: number, message = 'No.', headers: Readonly<Record<string, string>> = {}) =>
  json({ errorCode: 'their_code', message }, status, headers);
const known = (status: number, errorCode: string, reason: string, headers: Readonly<Record<string, string>> = {}) =>
  json({ errorCode, message: 'No.', reason, requestId: 'theirs' }, status, headers);
const html = (status: number) => body(`<html>${CANARY}</html>`, { 'content-type': 'text/html' }, status);

/** Refusals of the request of the caller, which the gateway forwards. */
export const PASSED_ON: readonly HostileRefusal[] = [
  {
    what: '404 with a reason of the table',
    behaviour: known(404, 'invalid_request', 'transfer_not_found'),
    status: 404,
    body: { errorCode: 'invalid_request', message: 'No.', reason: 'transfer_not_found' },
  },
  {
    what: '404 with the published fields only',
    behaviour: published(404),
    status: 404,
    body: { errorCode: 'their_code', message: 'No.', reason: 'transfer_not_found' },
  },
  {
    what: '404 with an unknown reason',
    behaviour: known(404, 'gone', 'moved_away'),
    status: 404,
    body: { errorCode: 'gone', reason: 'moved_away' },
  },
  {
    what: '400 with the published fields only',
    behaviour: published(400),
    status: 400,
    body: { errorCode: 'their_code', message: 'No.', reason: 'their_code' },
  },
  {
    what: '400 with details',
    behaviour: json(
      {
        errorCode: 'invalid_request',
        message: 'No.',
        reason: 'id_malformed',
        details: [{ path: 'transferId', reason: 'id_malformed', message: 'No.' }],
      },
      400,
    ),
    status: 400,
    body: { reason: 'id_malformed', details: [{ path: 'transferId', reason: 'id_malformed', message: 'No.' }] },
  },
  {
    what: '400 with a message that holds markup',
    behaviour: published(400, '<script>alert(1)</script>\r\nSet-Cookie: a=b'),
    status: 400,
    body: { message: '<script>alert(1)</script>\r\nSet-Cookie: a=b' },
  },
];

/** Failures between the upstream and the gateway, which the caller does not see. */
export const KEPT_BACK: readonly HostileRefusal[] = [
  {
    what: '401 with a reason',
    behaviour: known(401, 'invalid_request', 'not_authenticated', { 'www-authenticate': 'Bearer' }),
    ...ALARM,
  },
  { what: '401 with nothing', behaviour: body('', {}, 401), ...ALARM },
  { what: '403 with a reason', behaviour: known(403, 'forbidden', 'workspace_forbidden'), ...ALARM },
  { what: '403 with the published fields only', behaviour: published(403), ...ALARM },
  { what: '403 in HTML', behaviour: html(403), ...ALARM },
  {
    what: '429 with a time',
    behaviour: known(429, 'rate_limited', 'rate_limited', { 'retry-after': '7' }),
    ...limited('7'),
  },
  { what: '429 without a time', behaviour: published(429), ...limited() },
  {
    what: '503 with a time',
    behaviour: known(503, 'unavailable', 'unavailable', { 'retry-after': '2' }),
    ...busy('2'),
  },
  { what: '503 with a time in HTML', behaviour: body('', { 'retry-after': '3' }, 503), ...busy('3') },
  { what: '503 without a time', behaviour: known(503, 'unavailable', 'unavailable'), ...busy() },
  { what: '503 without a time and a reason', behaviour: published(503), ...ERROR },
  {
    what: '503 with a time that is nonsense',
    behaviour: known(503, 'unavailable', 'unavailable', { 'retry-after': 'soon' }),
    ...busy(),
  },
  {
    what: '503 with a time written as 1e9',
    behaviour: known(503, 'unavailable', 'unavailable', { 'retry-after': '1e9' }),
    ...busy(),
  },
  ...[500, 501, 502, 507, 511, 599].map((status) => ({
    what: `${status} with the published fields`,
    behaviour: published(status),
    ...ERROR,
  })),
  { what: '500 with a code that is anything', behaviour: json({ errorCode: CANARY, message: CANARY }, 500), ...ERROR },
  {
    what: '500 with a reason that is anything',
    behaviour: json({ errorCode: 'x', message: CANARY, reason: CANARY }, 500),
    ...ERROR,
  },
  { what: '401 with a code that is anything', behaviour: json({ errorCode: CANARY, message: CANARY }, 401), ...ALARM },
  {
    what: '429 with a reason that is anything',
    behaviour: json({ errorCode: CANARY, message: CANARY, reason: CANARY }, 429),
    ...limited(),
  },
  { what: '500 in HTML', behaviour: html(500), ...ERROR },
  { what: '500 with a reason', behaviour: known(500, 'internal_error', 'internal_error'), ...ERROR },
  { what: '502 of another gateway', behaviour: known(502, 'upstream_error', 'upstream_error'), ...ERROR },
  { what: '504 of another gateway', behaviour: known(504, 'upstream_timeout', 'upstream_timeout'), ...TIMEOUT },
  ...[405, 406, 408, 413, 414, 415, 431].map((status) => ({
    what: `${status}, which only we can have caused`,
    behaviour: published(status),
    ...ERROR,
  })),
  { what: '400 for a header of ours', behaviour: known(400, 'invalid_request', 'workspace_id_invalid'), ...ERROR },
  ...[400, 404, 409, 422].map((status) => ({ what: `${status} in HTML`, behaviour: html(status), ...ERROR })),
  { what: '404 without a message', behaviour: json({ errorCode: 'x' }, 404), ...ERROR },
  { what: '404 without a code', behaviour: json({ message: CANARY }, 404), ...ERROR },
  { what: '404 with a code that is a number', behaviour: json({ errorCode: 404, message: CANARY }, 404), ...ERROR },
  {
    what: '404 with a message that is an object',
    behaviour: json({ errorCode: 'x', message: { [CANARY]: 1 } }, 404),
    ...ERROR,
  },
  {
    what: '404 that nests 100,000 deep',
    behaviour: body(
      `{"errorCode":"x","message":"${CANARY}","x":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
      { 'content-type': 'application/json' },
      404,
    ),
    ...ERROR,
  },
  { what: '404 as a list', behaviour: json([{ errorCode: 'x', message: CANARY }], 404), ...ERROR },
  {
    what: '422 that is cut off',
    behaviour: body('{"errorCode":"x","mess', { 'content-type': 'application/json' }, 422),
    ...ERROR,
  },
  { what: '304 to an unconditional request', behaviour: body('', {}, 304), ...ERROR },
  { what: '300', behaviour: published(300), ...ERROR },
];
