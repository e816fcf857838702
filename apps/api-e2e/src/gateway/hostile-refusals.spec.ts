import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { mistakesIn } from '../contract/shapes.js';
import { CANARY } from '../log-lines.js';
import { BesiegedGateway } from './besieged-gateway.js';
import { type HostileRefusal, KEPT_BACK, PASSED_ON } from './hostile-refusals.js';
import { body, json } from './hostile-upstream.js';

describe('Given a gateway whose upstream says no', () => {
  let besieged: BesiegedGateway;
  beforeAll(async () => {
    // After a 429 the next request waits for a second, which has to be less than half of this.
    besieged = await BesiegedGateway.start({ UPSTREAM_TIMEOUT_MS: '10000' });
  }, 60_000);
  afterAll(() => besieged?.stop());
  afterEach(async () => {
    besieged.upstream.trick = json([]);
    expect(await besieged.ask('/accounts')).toMatchObject({ status: 200, body: [] });
    expect(besieged.wrongLines()).toEqual([]);
  });

  it.each<HostileRefusal>([...PASSED_ON, ...KEPT_BACK])(
    'When it says $what Then the caller gets $status',
    async ({ trick, status, answer: expected, retryAfter, level }) => {
      besieged.upstream.trick = trick;

      const answer = await besieged.askAndRead('/transfers/1');

      expect(answer).toMatchObject({ status, body: expected });
      expect(mistakesIn(answer.body, 'ErrorBody')).toEqual([]);
      expect(answer.body).toMatchObject({ requestId: answer.headers.get('x-request-id') });
      expect(answer.headers.get('retry-after')).toBe(retryAfter ?? null);
      expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(answer.headers.has('www-authenticate') || answer.headers.has('set-cookie')).toBe(false);
      expect(answer.text + answer.lines.join()).not.toContain(CANARY);
      expect(answer.lines.map((line) => (JSON.parse(line) as { level: string }).level)).toEqual([...(level ? [level] : []), 'info']); // prettier-ignore
    },
  );

  it('When it has said 429 Then the next request of the workspace waits, and is answered', async () => {
    besieged.upstream.trick = json({ errorCode: 'x', message: 'No.' }, 429);
    expect((await besieged.ask('/transfers/1')).status).toBe(429);
    besieged.upstream.asked.length = 0;
    besieged.upstream.trick = json({ id: 1, amount: '1' });

    expect((await besieged.ask('/transfers/1')).status).toBe(200);
    expect(besieged.upstream.asked).toHaveLength(1);
  });

  it('When it says a status that is in no document Then it passes in the published form', async () => {
    besieged.upstream.trick = json({ errorCode: 'teapot', message: 'Short and stout.' }, 418);
    const headers = { authorization: `Bearer ${await besieged.service.tokenOf('ada@northwind.example')}`, 'workspace-id': '1' }; // prettier-ignore

    const answer = await fetch(`${besieged.service.url}/transfers/1`, { headers });

    expect([answer.status, await answer.json()]).toEqual([418, { errorCode: 'teapot', message: 'Short and stout.', reason: 'teapot', requestId: answer.headers.get('x-request-id') }]); // prettier-ignore
  });

  it('When an error repeats our credential Then neither the caller nor the log gets it', async () => {
    for (const status of [400, 401, 404, 500]) {
      besieged.upstream.trick = (response, asked) => {
        const message = `You sent ${asked.headers.authorization ?? ''} (${besieged.token}).`;
        json({ errorCode: besieged.token, message, reason: besieged.token, details: [{ path: besieged.token, reason: besieged.token, message }] }, status)(response, asked); // prettier-ignore
      };

      const answer = await besieged.askAndRead('/transfers/1');

      expect([status, answer.text]).toEqual([status, expect.not.stringContaining('eyJ')]);
      expect(answer.lines.join()).not.toContain('eyJ');
    }
  });

  it.each([
    '1000000000',
    '-1',
    'Fri, 31 Dec 9999 23:59:59 GMT',
    'Thu, 01 Jan 1970 00:00:00 GMT',
    '99999999999999999999',
  ])(
    'When it is to be asked again after %s Then the caller is told a time that can be waited, or that it failed',
    async (retryAfter) => {
      besieged.upstream.trick = json({ errorCode: 'unavailable', message: 'No.', reason: 'unavailable' }, 503, { 'retry-after': retryAfter }); // prettier-ignore

      const { status, headers } = await besieged.ask('/transfers/1');

      expect([502, 503]).toContain(status);
      if (status === 503) expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(86_400);
    },
  );

  describe('and sends us elsewhere', () => {
    let elsewhere: Server;
    let asked: number;
    beforeAll(async () => {
      asked = 0;
      elsewhere = createServer((_, response) => {
        asked += 1;
        response.setHeader('content-type', 'application/json').end('{"id":1,"amount":"1"}');
      });
      await once(elsewhere.listen(0, '127.0.0.1'), 'listening');
    });
    afterAll(async () => {
      await once(elsewhere.close(), 'close');
    });

    it.each([301, 302, 303, 307, 308])('When it answers %s Then nobody goes there', async (status) => {
      const there = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`;
      for (const location of [
        `${there}/transfers/1`,
        `${besieged.upstream.url}/transfers/1`,
        besieged.service.url,
        '/transfers/1',
        '',
        'file:///etc/passwd',
      ]) {
        besieged.upstream.asked.length = 0;
        besieged.upstream.trick = body('', { location }, status);

        const answer = await besieged.askAndRead('/transfers/1');

        expect(answer).toMatchObject({ status: 502, body: { reason: 'upstream_error' } });
        expect(answer.headers.has('location')).toBe(false);
        expect(answer.lines[0]).toMatch(/redirect/);
        expect(besieged.upstream.asked).toHaveLength(1);
        besieged.upstream.trick = json([]);
        await besieged.ask('/accounts');
      }
      expect(asked).toBe(0);
    });
  });
});
