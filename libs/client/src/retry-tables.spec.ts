import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { Refusal, type RefusalReason, REFUSALS } from '@banking/domain';
import { ConnectionError, RemoteRefusal, ServiceError } from './errors.js';
import { leavesDoubt, mayTryAgain } from './policy.js';
import type { Call } from './sending.js';

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

/** The rows of the table that has this heading, cell by cell. */
function tableOf(file: string, heading: string): string[][] {
  const text = readFileSync(resolve(__dirname, '../../..', file), 'utf8');
  const table = text.slice(text.indexOf(`| ${heading}`)).split('\n\n', 1)[0] ?? '';
  const rows = table.split('\n').map((line) => line.split('|').slice(1, -1).map((cell) => cell.trim())); // prettier-ignore
  return rows.slice(2);
}

describe('Given the table of retries in the README', () => {
  /** By the beginning of a row, what it is about. A 401 is repeated with another token, by the connection and not by the policy. */
  const ENDINGS: Readonly<Record<string, readonly Ending[]>> = {
    'a broken connection, or no answer in time': [broken(false)],
    'nobody there, a certificate that is not believed': [broken(true)],
    '429': [refused('rate_limited'), other(429)],
    '503 with the reason `unavailable`': [refused('unavailable')],
    '504 `outcome_unknown`': [refused('outcome_unknown')],
    'any other answer of 500 and above': [refused('internal_error'), refused('upstream_error'), refused('upstream_timeout'), other(502), other(503), other(503, 'maintenance'), other(504)],
    '408': [refused('request_timeout'), other(408)],
    '`idempotency_in_progress`: an earlier try still runs': [refused('idempotency_in_progress')],
    'a success that cannot be read': [other(200), other(201)],
    'any other refusal, a redirect': [refused('insufficient_funds'), refused('body_malformed'), refused('role_insufficient'), other(307), other(418)],
  }; // prettier-ignore
  const [BY_TOKEN] = ['401, once, when there is another token'];
  const rows = tableOf('libs/client/README.md', 'It ended with');

  it('When it is read, Then it has a row for each ending', () => {
    expect(rows.map(([ending]) => ending).sort()).toEqual([...Object.keys(ENDINGS), BY_TOKEN].sort());
  });

  it.each(Object.entries(ENDINGS))('When a call ended with %s, Then the policy does what the row says', (ending, all) => {
    const [, read, creation, change, isInDoubt] = rows.find(([first]) => first === ending) ?? [];

    for (const [failure, status] of all) {
      for (const [call, cell] of [[READ, read], [CREATION, creation], [CHANGE, change]] as const) {
        // An empty cell: no such call ends so.
        if (cell !== '') expect([ending, call.method, mayTryAgain(call, failure, status)]).toEqual([ending, call.method, cell === 'again']); // prettier-ignore
      }
      for (const call of [CREATION, CHANGE]) expect(leavesDoubt(call, failure, status)).toBe(isInDoubt === 'yes');
      expect(leavesDoubt(READ, failure, status)).toBe(false);
    }
  }); // prettier-ignore
});

describe('Given the table of errors for integrators', () => {
  const ENDINGS: Readonly<Record<string, Ending>> = {
    'none: timeout, reset': broken(false),
    '504 `outcome_unknown`': refused('outcome_unknown'),
    '502, 504 of a gateway': refused('upstream_timeout'),
    '503 of something in between': other(503),
    '500': refused('internal_error'),
    '503 `unavailable`': refused('unavailable'),
    '429': refused('rate_limited'),
    '409 in progress': refused('idempotency_in_progress'),
    '401': refused('not_authenticated'),
    '408': refused('request_timeout'),
    '400, 403 to 431, but above': refused('body_malformed'),
  };

  it('When an answer may mean that a change was made, Then it says so, and of no other', () => {
    const said = tableOf('docs/integrate.md', 'Answer').map(([answer, what]) => [answer, what?.includes('may have been')]); // prettier-ignore
    const known = Object.entries(ENDINGS).map(([answer, [failure, status]]) => [answer, leavesDoubt(CREATION, failure, status)]); // prettier-ignore

    expect(Object.fromEntries(said)).toEqual(Object.fromEntries(known));
  });

  it('When nothing was done and it passes, Then it says that a change without a key can be sent again', () => {
    const [row] = tableOf('docs/integrate.md', 'Answer').filter(([answer]) => answer === '503 `unavailable`');
    const [failure, status] = refused('unavailable');

    expect(row?.at(-1)?.includes('also without a key')).toBe(mayTryAgain(CHANGE, failure, status));
    expect(failure).toBeInstanceOf(Refusal);
  });
});
