import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { CurrencyCode } from '@banking/domain';
import { freshDatabase } from '@banking/postgres/testing';
import { DEMO_RATES_SOURCE, demoRate } from '../demo-rates.js';
import { chooseRates } from './choose-rates.js';

describe('the configured source of rates', () => {
  it('measures the age of a rate by the time of the database', async () => {
    const world = await freshDatabase();
    const { rows } = await world.owner.query<{ now: string }>('select rfc3339(now()) as now');
    const server = createServer((_, response) =>
      response.end(JSON.stringify({ base: 'USD', asOf: rows[0]!.now, rates: { INR: '83' } })),
    );
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
      const rates = chooseRates({ rates: { url, maxAgeS: 60 }, sandbox: true }, world.database, () => undefined);

      expect(await rates.rateOf('USD', 'INR')).toMatchObject({ numerator: 83n, source: url });
      // A sandbox has a demo rate for it.
      await expect(rates.rateOf('USD', 'JPY')).rejects.toMatchObject({ reason: 'rate_unavailable' });
    } finally {
      server.close();
      await world.close();
    }
  });
});

describe('a deployment without a configured source', () => {
  const database = undefined as never;

  it('has the demo rates in a sandbox, with their source and date', async () => {
    const rates = chooseRates({ sandbox: true }, database, () => undefined);

    expect(await rates.rateOf('USD', 'INR')).toEqual({
      ...demoRate('USD', 'INR'),
      source: DEMO_RATES_SOURCE.name,
      asOf: `${DEMO_RATES_SOURCE.date}T00:00:00Z`,
    });
    await expect(rates.rateOf('USD', 'XTS' as CurrencyCode)).rejects.toMatchObject({
      reason: 'rate_unavailable',
      message: 'There is no rate from USD to XTS. Choose another currency.',
    });
  });

  it('has no rates if it is live, and says so at the start', async () => {
    const lines: string[] = [];
    const rates = chooseRates({ sandbox: false }, database, (line) => lines.push(line));

    expect(lines).toEqual([expect.stringContaining('There is no RATES_URL')]);
    await expect(rates.rateOf('USD', 'INR')).rejects.toMatchObject({
      reason: 'rate_unavailable',
      message: expect.stringMatching(/no source of rates\. Pay in the currency of the account\.$/),
    });
  });
});
