import { Refusal } from '@banking/domain';
import type { ApiConfig } from './config.js';
import type { Implementation } from './banking.module.js';
import { Draining } from './health/readiness.js';
import { openMetrics } from './open-metrics.js';

const WORK = { parked: { payout: 2 }, unserved: {}, oldestDueSeconds: 0 };

describe('the listener of the metrics', () => {
  it.each([
    ['ready', {}, 200, { status: 'ok', work: WORK }],
    ['without a database', { isAway: true }, 503, { status: 'unavailable', reason: 'The database is away.' }],
    ['stopping', { isStopping: true }, 503, { status: 'stopping' }],
  ])('tells operators that the process is %s, with the reason', async (_, state, status, body) => {
    const { isAway = false, isStopping = false } = state as { isAway?: boolean; isStopping?: boolean };
    const draining = new Draining();
    if (isStopping) draining.begin();
    const readiness = {
      check: async () => {
        if (isAway) throw new Refusal('unavailable', 'The database is away.');
      },
      work: async () => WORK,
    };
    const config = { metrics: { host: '127.0.0.1', port: 0 }, worker: true } as ApiConfig;
    const server = await openMetrics(config, { readiness } as unknown as Implementation, draining);

    const response = await fetch(`http://127.0.0.1:${server!.port}/health/ready`);

    expect([response.status, await response.json()]).toEqual([status, body]);
    await server!.close();
  });
});
