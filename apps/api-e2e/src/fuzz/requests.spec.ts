import { testOrProve } from '@banking/postgres/testing';
import { freshService } from '../documented/fresh-service.js';
import { demoDataDir } from '../running-service.js';
import { fuzzRequests } from './fuzz-requests.js';

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
