import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { NOT_DATE } from '@banking/postgres/testing';
import { HttpRateSource, type HttpRateSourceOptions } from './http-rate-source.js';

const NOON = Date.parse('2026-11-21T12:00:00Z');
const MINUTE = 60_000;

let server: Server;
let base: string;
let asked: IncomingMessage[];
let answer: RequestListener;
let nowMs: number;
let warned: string[];

beforeEach(async () => {
  asked = [];
  warned = [];
  nowMs = NOON;
  answer = respond({ INR: '83', JPY: 154 });
  server = createServer((request, response) => {
    asked.push(request);
    answer(request, response);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  server.closeAllConnections();
  await once(server.close(), 'close');
});

const respond =
  (rates: object, asOf = '2026-11-21T11:59:00Z'): RequestListener =>
  (_, response: ServerResponse) => {
    response.end(JSON.stringify({ base: 'USD', asOf, rates }));
  };
const fail: RequestListener = (_, response) => {
  response.writeHead(503).end('{"base":"USD"}');
};
function source(options: Partial<HttpRateSourceOptions> = {}) {
  // The log of this test, because its pending work may log during the next test.
  const lines = warned;
  return new HttpRateSource({
    url: `${base}/rates?key=secret`,
    maxAgeMs: 60 * MINUTE,
    warn: (line) => lines.push(line),
    databaseTime: async () => nowMs,
    now: () => nowMs,
    ...options,
  });
}
const refused = (message: string) => ({
  reason: 'rate_unavailable',
  message: expect.stringContaining(message) as string,
});

describe('a source of rates over HTTP', () => {
  it('returns an exact cross rate with its time', async () => {
    expect(await source().rateOf('INR', 'JPY')).toEqual({
      ...{ from: 'INR', to: 'JPY' },
      ...{ numerator: 154n, denominator: 83n },
      source: base,
      asOf: '2026-11-21T11:59:00Z',
    });
    expect(asked.map(({ url, headers }) => [url, headers.accept, headers.authorization])).toEqual([
      ['/rates?key=secret', 'application/json', undefined],
    ]);
  });

  it('measures the age by the clock of the database', async () => {
    jest.useFakeTimers({ now: Date.parse('2001-01-01T00:00:00Z'), doNotFake: NOT_DATE });
    try {
      expect(await source({ now: () => 7 }).rateOf('USD', 'INR')).toMatchObject({ numerator: 83n });
      nowMs = NOON + 60 * MINUTE;
      await expect(source({ now: () => 7 }).rateOf('USD', 'INR')).rejects.toMatchObject({ reason: 'rate_unavailable' });
    } finally {
      jest.useRealTimers();
    }
  });

  it('returns no rate without the time of the database', async () => {
    const rates = source({ databaseTime: () => Promise.reject(new Error('gone')) });

    await expect(rates.rateOf('USD', 'INR')).rejects.toMatchObject({ reason: 'rate_unavailable' });
    expect(warned).toEqual([expect.stringContaining('the database did not tell the time')]);
  });

  it('sends one request for many concurrent callers', async () => {
    const rates = source();

    await Promise.all(Array.from({ length: 20 }, () => rates.rateOf('USD', 'INR')));

    expect(asked).toHaveLength(1);
  });

  it('sends the next request after a minute', async () => {
    const rates = source();
    await rates.rateOf('USD', 'INR');
    answer = respond({ INR: '84' });

    nowMs += MINUTE - 1;
    expect(await rates.rateOf('USD', 'INR')).toMatchObject({ numerator: 83n });
    nowMs += 1;
    expect(await rates.rateOf('USD', 'INR')).toMatchObject({ numerator: 84n });
    expect(asked).toHaveLength(2);
  });

  it('returns the same rates of one document, and other ones of the next', async () => {
    const rates = source();
    const first = await rates.rateOf('USD', 'INR');

    expect(await rates.rateOf('USD', 'INR')).toBe(first);
    expect(await rates.rateOf('INR', 'USD')).toMatchObject({ from: 'INR', numerator: 1n });
    nowMs += MINUTE;
    const next = await rates.rateOf('USD', 'INR');
    expect(next === first).toBe(false);
    expect(next).toEqual(first);
  });

  it('uses the last document after a failure until it is too old', async () => {
    const rates = source();
    await rates.rateOf('USD', 'INR');
    answer = fail;

    nowMs = Date.parse('2026-11-21T12:59:00Z');
    expect(await rates.rateOf('USD', 'INR')).toMatchObject({ numerator: 83n });
    expect(warned).toEqual([`The source of rates at ${base} cannot be used: it answered 503.`]);
    nowMs += 1;
    await expect(rates.rateOf('USD', 'INR')).rejects.toMatchObject(
      refused('are of 2026-11-21T11:59:00Z, which is too old'),
    );
  });

  it('sends no request for five seconds after a failure', async () => {
    answer = fail;
    const rates = source();
    await expect(rates.rateOf('USD', 'INR')).rejects.toMatchObject(refused('gives none at the moment'));
    answer = respond({ INR: '83' });

    nowMs += 4_999;
    await expect(rates.rateOf('USD', 'INR')).rejects.toMatchObject(refused('gives none at the moment'));
    expect(asked).toHaveLength(1);
    nowMs += 1;
    expect(await rates.rateOf('USD', 'INR')).toMatchObject({ numerator: 83n });
  });

  it('does not wait for a slow source if the last document is valid', async () => {
    const rates = source();
    await rates.rateOf('USD', 'INR');
    answer = fail;
    nowMs += MINUTE;
    await rates.rateOf('USD', 'INR');
    answer = () => undefined;
    nowMs += 5_000;

    expect(await rates.rateOf('USD', 'INR')).toMatchObject({ numerator: 83n });
    expect(await rates.rateOf('INR', 'JPY')).toMatchObject({ denominator: 83n });
    expect(warned).toHaveLength(1);
  });

  it('keeps the last document if a later response is of an earlier time', async () => {
    const rates = source();
    await rates.rateOf('USD', 'INR');
    answer = respond({ INR: '1' }, '2026-11-21T11:58:59.999Z');
    nowMs += MINUTE;

    expect(await rates.rateOf('USD', 'INR')).toMatchObject({ numerator: 83n });
    expect(warned).toEqual([
      expect.stringContaining('its asOf, 2026-11-21T11:58:59.999Z, is before that of the rates at hand'),
    ]);
  });

  it('keeps the last document if a newer response is invalid', async () => {
    const rates = source();
    await rates.rateOf('USD', 'INR');
    answer = respond({ INR: '1' }, '2026-11-20T11:59:00Z');
    nowMs += MINUTE;

    expect(await rates.rateOf('USD', 'INR')).toMatchObject({ numerator: 83n });
    expect(warned).toEqual([expect.stringContaining('its asOf, 2026-11-20T11:59:00Z, is too old to deal at')]);
  });

  it.each([
    ['one hour', '2026-11-21T11:00:00Z', true],
    ['more than that', '2026-11-21T10:59:59.999Z', false],
    ['a minute ahead', '2026-11-21T12:01:00Z', true],
    ['more than that ahead', '2026-11-21T12:01:00.001Z', false],
    ['one hour, said elsewhere', '2026-11-21T13:00:00+02:00', true],
  ])('uses rates of %s: %3$p', async (_, asOf, isGood) => {
    answer = respond({ INR: '83' }, asOf);

    const rate = source().rateOf('USD', 'INR');

    await (isGood
      ? expect(rate).resolves.toMatchObject({ asOf })
      : expect(rate).rejects.toMatchObject(refused('none')));
  });

  it('refuses a missing or invalid currency and uses the others', async () => {
    answer = respond({ INR: '83', JPY: 'many', KWD: null });
    const rates = source();

    await expect(rates.rateOf('USD', 'EUR')).rejects.toMatchObject(refused('no rate from USD to EUR'));
    await expect(rates.rateOf('JPY', 'INR')).rejects.toMatchObject(refused('The rate of JPY cannot be read'));
    await expect(rates.rateOf('USD', 'KWD')).rejects.toMatchObject(refused('The rate of KWD cannot be read'));
    expect(await rates.rateOf('INR', 'USD')).toMatchObject({ numerator: 1n, denominator: 83n });
    expect(warned).toEqual(['JPY', 'KWD'].map((code) => expect.stringContaining(`${base} are not used for ${code}`)));
  });

  it('refuses a pair with an invalid spread and uses the others', async () => {
    const spreadBasisPoints = { 'USD/INR': 'many', 'JPY/USD': 100 };
    const document = { base: 'USD', asOf: '2026-11-21T11:59:00Z', rates: { INR: '83', JPY: 154 }, spreadBasisPoints };
    answer = (_, response) => void response.end(JSON.stringify(document));
    const rates = source();

    await expect(rates.rateOf('INR', 'USD')).rejects.toMatchObject(
      refused('The rate from INR to USD cannot be read. Try again later'),
    );
    expect(warned).toEqual([
      `The rates of ${base} are not used for USD/INR: its spread is not one whole number of basis points from 0 to 9999.`,
    ]);
    expect(await rates.rateOf('USD', 'JPY')).toMatchObject({ numerator: 154n * 9_900n, denominator: 10_000n });
    expect(await rates.rateOf('INR', 'JPY')).toMatchObject({ numerator: 154n, denominator: 83n });
  });

  it.each<[string, RequestListener, string]>([
    ['is no document', (_, response) => void response.end('<html>'), 'it is not the document'],
    ['is no UTF-8', (_, response) => void response.end(Buffer.from([0x7b, 0xff, 0x7d])), 'TypeError'],
    [
      'is a redirect',
      (_, response) => void response.writeHead(302, { location: '/elsewhere' }).end(),
      'it answered 302',
    ],
    ['is nothing', (_, response) => void response.writeHead(204).end(), 'it answered 204'],
    ['breaks off', (_, response) => void response.write('{', () => response.destroy()), ''],
    [
      'is more than a mebibyte',
      (_, response) => void response.end(`{"base":"USD"${' '.repeat(1_048_576)}}`),
      'more than 1048576 bytes',
    ],
  ])('returns no rate and logs the reason if the response %s', async (_, listener, why) => {
    answer = listener;

    await expect(source().rateOf('USD', 'INR')).rejects.toMatchObject(refused('gives none at the moment'));
    expect(warned).toEqual([expect.stringContaining(why)]);
    expect(asked.map(({ url }) => url)).toEqual(['/rates?key=secret']);
  });

  it('stops waiting after the timeout', async () => {
    answer = () => undefined;

    await expect(source({ timeoutMs: 20 }).rateOf('USD', 'INR')).rejects.toMatchObject(refused('none'));
    expect(warned).toEqual([expect.stringContaining('it did not answer in time')]);
  });

  it('reports an unreachable source', async () => {
    const left = createServer();
    await once(left.listen(0, '127.0.0.1'), 'listening');
    const { port } = left.address() as AddressInfo;
    await once(left.close(), 'close');

    await expect(source({ url: `http://127.0.0.1:${port}/` }).rateOf('USD', 'INR')).rejects.toMatchObject(
      refused('none'),
    );
    expect(warned).toEqual([expect.stringContaining('ECONNREFUSED')]);
  });

  it('sends the login and the key of the URL and reveals neither', async () => {
    const url = `${base.replace('://', '://us%20er:p%40ss@')}/rates?key=secret`;
    const rates = source({ url });

    const rate = await rates.rateOf('USD', 'INR');
    answer = fail;
    nowMs += MINUTE;
    await rates.rateOf('USD', 'INR');

    expect(asked[0]?.headers.authorization).toBe(`Basic ${Buffer.from('us er:p@ss').toString('base64')}`);
    expect(JSON.stringify([warned, rate.source])).not.toMatch(/us.?er|p@ss|p%40ss|secret/);
    expect(warned).toHaveLength(1);
  });
});
