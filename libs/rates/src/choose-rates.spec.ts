import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { emptyDatabase } from '@banking/operations/testing';
import { chooseRates } from './choose-rates.js';

describe('the configured source of rates', () => {
  it('measures the age of a rate by the time of the database', async () => {
    const world = await emptyDatabase();
    const { rows } = await world.owner.query<{ now: string }>('select rfc3339(now()) as now');
    const server = createServer((_, response) =>
      response.end(JSON.stringify({ base: 'USD', asOf: rows[0]!.now, rates: { INR: '83' } })),
    );
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
      const rates = chooseRates({ rates: { url, maxAgeS: 60 }, sandbox: true }, world.database, () => undefined);

      expect(await rates.rateOf('USD', 'INR')).toMatchObject({ numerator: 83n, source: url });
    } finally {
      server.close();
      await world.close();
    }
  });
});
