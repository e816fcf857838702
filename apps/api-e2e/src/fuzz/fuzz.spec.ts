import { offlineDocument } from '../documented/read-document.js';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { testOrProve } from '@banking/postgres/testing';
import { callOf, examplesOf, routesOf } from '../documented/document.js';
import { NUMBER_MARKER, TEXT_MARKER } from '../documented/inputs.js';
import { demoDataDir, freshService } from '../running-service.js';
import { faultsInLog, fuzzRequests, ResponseCheck } from './fuzz-requests.js';

const REQUESTS = testOrProve(300, 3_000);
const seed = Date.now() & 0x7fffffff;

describe(`random sequences of requests (seed ${seed})`, () => {
  it(`are answered as the OpenAPI document states, ${REQUESTS} requests without a fault in books and log`, async () => {
    const service = await freshService({ LOG_LEVEL: 'debug' }, demoDataDir);

    const report = await fuzzRequests(service, { requests: REQUESTS, seed });

    expect(report.faults).toEqual([]);
    expect(report.requests).toBeGreaterThanOrEqual(REQUESTS);
    expect([...report.statuses.keys()]).toEqual(expect.arrayContaining([200, 201, 400, 404]));
  }, 240_000);
});

const document = offlineDocument();
const check = new ResponseCheck(document);
const route = routesOf(document).find(({ operation }) => operation.operationId === 'getAccount')!;
const request = { ...callOf(route), body: undefined };
const account = Object.values(examplesOf(route.operation, 200))[0]?.value as Record<string, unknown>;

const JSON_TYPE = 'application/json; charset=utf-8';
const response = (status: number, body: unknown, type = JSON_TYPE) => ({
  status,
  headers: new Map([
    ['content-type', type],
    ['x-request-id', 'r'],
  ]),
  body: typeof body === 'string' ? body : JSON.stringify(body),
});
const refusal = (message: string) => ({
  errorCode: 'invalid_request',
  reason: 'id_malformed',
  message,
  requestId: 'r',
});

describe('check of a response against the OpenAPI document', () => {
  it('accepts a documented success and a documented refusal', () => {
    expect(check.faultsIn(request, response(200, account))).toEqual([]);
    expect(check.faultsIn(request, response(400, refusal('The id is malformed.')))).toEqual([]);
  });

  it.each([
    ['a status of 5xx', response(503, refusal('x')), /the status is 503/],
    ['a field of another type', response(200, { ...account, id: '1' }), /\/id must be integer/],
    ['a missing field', response(200, { ...account, id: undefined }), /must have required property 'id'/],
    ['an undocumented media type', response(200, '<p>', 'text/html'), /does not list text\/html/],
    ['an error that is not JSON', response(400, 'no', 'text/plain'), /it is not JSON/],
    ['an error without a message', response(400, { ...refusal('x'), message: undefined }), /message/],
    ['an error that repeats a text of the request', response(400, refusal(TEXT_MARKER)), /repeats a value/],
    ['an error that repeats a number of the request', response(400, refusal(`7${NUMBER_MARKER}7`)), /repeats a value/],
    ['an error with a stack', response(400, refusal('at f (/srv/x.js:1:2)')), /inside/],
    ['a body of a 304', response(304, 'x'), /has a body/],
  ])('detects %s', (_, received, fault) => {
    expect(check.faultsIn(request, received).join('\n')).toMatch(fault);
  });
});

describe('check of a log', () => {
  it.each([
    '{"level":"error","msg":"unhandled error"}',
    'unhandledRejection: x',
    `{"level":"info","route":"/${TEXT_MARKER}"}`,
    `{"level":"info","n":7${NUMBER_MARKER}76}`,
    '{"level":"info","token":"eyJhbGciOiJFUzI1NiJ9"}',
  ])('detects %s', (line) => {
    expect(faultsInLog(`{"level":"info","msg":"request"}\n${line}\n`)).toHaveLength(1);
  });
});

const DIST = join(__dirname, '..', '..', 'dist');

describe.each([
  ['fuzz', 'fuzz/main.js', '--seed'],
  ['sockets', 'sockets/main.js', '--seconds'],
])('npm run %s', (name, main, option) => {
  const run = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [join(DIST, main), ...args], { encoding: 'utf8' });
    return { status, stdout, stderr };
  };

  it('prints only the usage for --help', () => {
    const { status, stdout, stderr } = run('--help');

    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    expect(stdout).toMatch(new RegExp(`^Usage: npm run ${name} -- `));
  });

  it('reports a mistake with the usage and exit code 2', () => {
    const { status, stdout, stderr } = run(option, 'many');

    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(new RegExp(`^error: .+\n\nUsage: npm run ${name} -- `, 's'));
  });
});
