import { CANARY } from '../log-lines.js';
import { body, json, type Trick } from './hostile-upstream.js';

/** What an upstream says no with to `GET /transfers/1`, and what our caller gets. */
export interface HostileRefusal {
  readonly what: string;
  readonly trick: Trick;
  readonly status: number;
  readonly answer: Readonly<Record<string, unknown>>;
  /** As it goes out; absent where there is none. */
  readonly retryAfter?: string;
  /** How loud the log is; absent where the upstream has only refused our caller. */
  readonly level?: 'warn' | 'error';
}

const ERROR = {
  status: 502,
  answer: { errorCode: 'upstream_error', reason: 'upstream_error' },
  level: 'warn',
} as const;
const TIMEOUT = {
  status: 504,
  answer: { errorCode: 'upstream_timeout', reason: 'upstream_timeout' },
  level: 'warn',
} as const;
const busy = (retryAfter = '1') =>
  ({ status: 503, answer: { errorCode: 'unavailable', reason: 'unavailable' }, retryAfter, level: 'warn' }) as const;
const limited = (retryAfter = '1') =>
  ({ ...busy(retryAfter), status: 429, answer: { errorCode: 'rate_limited', reason: 'rate_limited' } }) as const;
const ALARM = { ...busy(), level: 'error' } as const;

const published = (status: number, message = 'No.', headers: Readonly<Record<string, string>> = {}) =>
  json({ errorCode: 'their_code', message }, status, headers);
const known = (status: number, errorCode: string, reason: string, headers: Readonly<Record<string, string>> = {}) =>
  json({ errorCode, message: 'No.', reason, requestId: 'theirs' }, status, headers);
const html = (status: number) => body(`<html>${CANARY}</html>`, { 'content-type': 'text/html' }, status);

/** The request of our caller was refused: they learn as much as if they had asked there themselves. */
export const PASSED_ON: readonly HostileRefusal[] = [
  {
    what: '404 with a reason of the table',
    trick: known(404, 'invalid_request', 'transfer_not_found'),
    status: 404,
    answer: { errorCode: 'invalid_request', message: 'No.', reason: 'transfer_not_found' },
  },
  {
    what: '404 with the published fields only',
    trick: published(404),
    status: 404,
    answer: { errorCode: 'their_code', message: 'No.', reason: 'transfer_not_found' },
  },
  {
    what: '404 with an unknown reason',
    trick: known(404, 'gone', 'moved_away'),
    status: 404,
    answer: { errorCode: 'gone', reason: 'moved_away' },
  },
  {
    what: '400 with the published fields only',
    trick: published(400),
    status: 400,
    answer: { errorCode: 'their_code', message: 'No.', reason: 'their_code' },
  },
  {
    what: '400 with details',
    trick: json(
      {
        errorCode: 'invalid_request',
        message: 'No.',
        reason: 'id_malformed',
        details: [{ path: 'transferId', reason: 'id_malformed', message: 'No.' }],
      },
      400,
    ),
    status: 400,
    answer: { reason: 'id_malformed', details: [{ path: 'transferId', reason: 'id_malformed', message: 'No.' }] },
  },
  {
    what: '400 with a message that holds markup',
    trick: published(400, '<script>alert(1)</script>\r\nSet-Cookie: a=b'),
    status: 400,
    answer: { message: '<script>alert(1)</script>\r\nSet-Cookie: a=b' },
  },
];

/** What is between the upstream and us, and no business of our caller. */
export const KEPT_BACK: readonly HostileRefusal[] = [
  {
    what: '401 with a reason',
    trick: known(401, 'invalid_request', 'not_authenticated', { 'www-authenticate': 'Bearer' }),
    ...ALARM,
  },
  { what: '401 with nothing', trick: body('', {}, 401), ...ALARM },
  { what: '403 with a reason', trick: known(403, 'forbidden', 'workspace_forbidden'), ...ALARM },
  { what: '403 with the published fields only', trick: published(403), ...ALARM },
  { what: '403 in HTML', trick: html(403), ...ALARM },
  {
    what: '429 with a time',
    trick: known(429, 'rate_limited', 'rate_limited', { 'retry-after': '7' }),
    ...limited('7'),
  },
  { what: '429 without a time', trick: published(429), ...limited() },
  { what: '503 with a time', trick: known(503, 'unavailable', 'unavailable', { 'retry-after': '2' }), ...busy('2') },
  { what: '503 with a time in HTML', trick: body('', { 'retry-after': '3' }, 503), ...busy('3') },
  { what: '503 without a time', trick: known(503, 'unavailable', 'unavailable'), ...busy() },
  { what: '503 without a time and a reason', trick: published(503), ...ERROR },
  {
    what: '503 with a time that is nonsense',
    trick: known(503, 'unavailable', 'unavailable', { 'retry-after': 'soon' }),
    ...busy(),
  },
  {
    what: '503 with a time written as 1e9',
    trick: known(503, 'unavailable', 'unavailable', { 'retry-after': '1e9' }),
    ...busy(),
  },
  ...[500, 501, 502, 507, 511, 599].map((status) => ({
    what: `${status} with the published fields`,
    trick: published(status),
    ...ERROR,
  })),
  { what: '500 with a code that is anything', trick: json({ errorCode: CANARY, message: CANARY }, 500), ...ERROR },
  {
    what: '500 with a reason that is anything',
    trick: json({ errorCode: 'x', message: CANARY, reason: CANARY }, 500),
    ...ERROR,
  },
  { what: '401 with a code that is anything', trick: json({ errorCode: CANARY, message: CANARY }, 401), ...ALARM },
  {
    what: '429 with a reason that is anything',
    trick: json({ errorCode: CANARY, message: CANARY, reason: CANARY }, 429),
    ...limited(),
  },
  { what: '500 in HTML', trick: html(500), ...ERROR },
  { what: '500 with a reason', trick: known(500, 'internal_error', 'internal_error'), ...ERROR },
  { what: '502 of another gateway', trick: known(502, 'upstream_error', 'upstream_error'), ...ERROR },
  { what: '504 of another gateway', trick: known(504, 'upstream_timeout', 'upstream_timeout'), ...TIMEOUT },
  ...[405, 406, 408, 413, 414, 415, 431].map((status) => ({
    what: `${status}, which only we can have caused`,
    trick: published(status),
    ...ERROR,
  })),
  { what: '400 for a header of ours', trick: known(400, 'invalid_request', 'workspace_id_invalid'), ...ERROR },
  ...[400, 404, 409, 422].map((status) => ({ what: `${status} in HTML`, trick: html(status), ...ERROR })),
  { what: '404 without a message', trick: json({ errorCode: 'x' }, 404), ...ERROR },
  { what: '404 without a code', trick: json({ message: CANARY }, 404), ...ERROR },
  { what: '404 with a code that is a number', trick: json({ errorCode: 404, message: CANARY }, 404), ...ERROR },
  {
    what: '404 with a message that is an object',
    trick: json({ errorCode: 'x', message: { [CANARY]: 1 } }, 404),
    ...ERROR,
  },
  {
    what: '404 that nests 100,000 deep',
    trick: body(
      `{"errorCode":"x","message":"${CANARY}","x":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
      { 'content-type': 'application/json' },
      404,
    ),
    ...ERROR,
  },
  { what: '404 as a list', trick: json([{ errorCode: 'x', message: CANARY }], 404), ...ERROR },
  {
    what: '422 that is cut off',
    trick: body('{"errorCode":"x","mess', { 'content-type': 'application/json' }, 422),
    ...ERROR,
  },
  { what: '304 to an unconditional request', trick: body('', {}, 304), ...ERROR },
  { what: '300', trick: published(300), ...ERROR },
];
