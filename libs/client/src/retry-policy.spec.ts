import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Refusal, type RefusalReason, REFUSALS } from '@banking/domain';
import { ConnectionError, RemoteRefusal, ServiceError } from './errors.js';
import { mayBeExecuted, mayRetry } from './retry-policy.js';
import type { Call } from './transport.js';

type Ending = readonly [failure: Error, status: number | undefined];

const broken = (neverSent: boolean): Ending => [
  new ConnectionError('lost', { cause: undefined, timedOut: false, neverSent }),
  undefined,
];
const refused = (reason: RefusalReason): Ending => [new RemoteRefusal(reason, undefined, {}), REFUSALS[reason].status];
const other = (status: number, reason?: string): Ending => [
  new ServiceError('no', { status, reason, body: undefined }),
  status,
];

const READ: Call = { operation: 'getAccount', method: 'GET', path: 'accounts/1' };
const CREATION: Call = { operation: 'openAccount', method: 'POST', path: 'accounts', idempotencyKey: 'k' };
const CHANGE: Call = { operation: 'changeAccount', method: 'PATCH', path: 'accounts/1' };

/** The cells of each row of the table whose heading begins with `heading`. */
function tableOf(file: string, heading: string): string[][] {
  const text = readFileSync(resolve(__dirname, '../../..', file), 'utf8');
  const table = text.slice(text.indexOf(`| ${heading}`)).split('\n\n', 1)[0] ?? '';
  const cellsOf = (line: string) => line.split('|').slice(1, -1);
  const rows = table.split('\n').map((line) => cellsOf(line).map((cell) => cell.trim()));
  return rows.slice(2);
}

describe('retry table of the README', () => {
  /** The failures that each row describes, by its first cell. The policy does not decide about a 401: the transport retries it with another token. */
  const ENDINGS: Readonly<Record<string, readonly Ending[]>> = {
    'a lost connection or a timeout': [broken(false)],
    'no connection, or an untrusted certificate': [broken(true)],
    '429': [refused('rate_limited'), other(429)],
    '503 with the reason `unavailable`': [refused('unavailable')],
    '504 `outcome_unknown`': [refused('outcome_unknown')],
    'any other 5xx': [
      refused('internal_error'),
      refused('upstream_error'),
      refused('upstream_timeout'),
      other(502),
      other(503),
      other(503, 'maintenance'),
      other(504),
    ],
    '408': [refused('request_timeout'), other(408)],
    '`idempotency_in_progress`': [refused('idempotency_in_progress')],
    'an unreadable success': [other(200), other(201)],
    'any other refusal, a redirect': [
      refused('insufficient_funds'),
      refused('body_malformed'),
      refused('role_insufficient'),
      other(307),
      other(418),
    ],
  };
  const [BY_TOKEN] = ['401, once, if there is another token'];
  const rows = tableOf('libs/client/README.md', 'Attempt ended with');

  it('has a row for each ending', () => {
    expect(rows.map(([ending]) => ending).sort()).toEqual([...Object.keys(ENDINGS), BY_TOKEN].sort());
  });

  it.each(Object.entries(ENDINGS))('describes the policy after %s', (ending, all) => {
    const [, read, creation, change, isInDoubt] = rows.find(([first]) => first === ending) ?? [];

    for (const [failure, status] of all) {
      for (const [call, cell] of [
        [READ, read],
        [CREATION, creation],
        [CHANGE, change],
      ] as const) {
        // An empty cell means that such a call cannot end in this way.
        if (cell !== '')
          expect([ending, call.method, mayRetry(call, failure, status)]).toEqual([
            ending,
            call.method,
            cell === 'retry',
          ]);
      }
      for (const call of [CREATION, CHANGE]) expect(mayBeExecuted(call, failure, status)).toBe(isInDoubt === 'yes');
      expect(mayBeExecuted(READ, failure, status)).toBe(false);
    }
  });
});

describe('retry table for integrators', () => {
  const PAGE = 'docs/integrate/conventions.md';
  const ENDINGS: Readonly<Record<string, Ending>> = {
    'No response': broken(false),
    '504 `outcome_unknown`': refused('outcome_unknown'),
    '502, 504 of a gateway': refused('upstream_timeout'),
    '503 of a proxy': other(503),
    '500': refused('internal_error'),
    '503 `unavailable`': refused('unavailable'),
    '429': refused('rate_limited'),
    '409 in progress': refused('idempotency_in_progress'),
    '401': refused('not_authenticated'),
    '408': refused('request_timeout'),
    'Any other 4xx': refused('body_malformed'),
  };

  it('names each response after which a change may have been done', () => {
    const documented = tableOf(PAGE, 'Response').map(([response, outcome]) => [
      response,
      outcome === 'may have been done',
    ]);
    const actual = Object.entries(ENDINGS).map(([response, [failure, status]]) => [
      response,
      mayBeExecuted(CREATION, failure, status),
    ]);

    expect(Object.fromEntries(documented)).toEqual(Object.fromEntries(actual));
  });

  it('allows a retry without a key after 503 unavailable', () => {
    const [row] = tableOf(PAGE, 'Response').filter(([response]) => response === '503 `unavailable`');
    const [failure, status] = refused('unavailable');

    expect(row?.at(-1)?.includes('also without a key')).toBe(mayRetry(CHANGE, failure, status));
    expect(failure).toBeInstanceOf(Refusal);
  });
});
