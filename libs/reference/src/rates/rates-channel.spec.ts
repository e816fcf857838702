import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { HttpRateSource } from './http-rate-source.js';
import { ratesChannel } from './rate-source.js';

const ASOF = '2026-11-21T11:59:00Z';

describe('the channel of rates', () => {
  it('publishes the date of each document, and each failure', async () => {
    let nowMs = Date.parse(ASOF);
    let status = 200;
    const server = createServer((_, response) => {
      response.writeHead(status).end(JSON.stringify({ base: 'USD', asOf: ASOF, rates: { INR: '83' } }));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const source = new HttpRateSource({
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
      maxAgeMs: 3_600_000,
      warn: () => undefined,
      databaseTime: async () => nowMs,
      now: () => nowMs,
    });
    const messages: unknown[] = [];
    const listen = (message: unknown) => void messages.push(message);
    ratesChannel.subscribe(listen);
    try {
      await source.rateOf('USD', 'INR');
      status = 503;
      nowMs += 120_000;
      await source.rateOf('USD', 'INR');
    } finally {
      ratesChannel.unsubscribe(listen);
      server.closeAllConnections();
      server.close();
    }

    expect(messages).toEqual([{ asOf: ASOF }, {}]);
  });
});
