import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { faultsIn } from '../contract/shapes.js';
import { CANARY } from '../log-lines.js';
import { AttackedGateway } from './gateway-under-attack.js';
import { type HostileRefusal, KEPT_BACK, PASSED_ON } from './hostile-refusals.js';
import { body, json } from './hostile-upstream.js';

describe('gateway with an upstream that refuses', () => {
  let attacked: AttackedGateway;
  beforeAll(async () => {
    // After a 429 the next request waits for a second, which has to be less than half of this.
    attacked = await AttackedGateway.start({ UPSTREAM_TIMEOUT_MS: '10000' });
  });
  afterAll(() => attacked?.stop());
  afterEach(async () => {
    attacked.upstream.behaviour = json([]);
    expect(await attacked.sendRequest('/accounts')).toMatchObject({ status: 200, body: [] });
    expect(attacked.wrongLines()).toEqual([]);
  });

  it.each<HostileRefusal>([...PASSED_ON, ...KEPT_BACK])(
    'responds with $status to an upstream $what',
    async ({ behaviour, status, body: expected, retryAfter, level }) => {
      attacked.upstream.behaviour = behaviour;

      const response = await attacked.requestAndReadLog('/transfers/1');

      expect(response).toMatchObject({ status, body: expected });
      expect(faultsIn(response.body, 'ErrorBody')).toEqual([]);
      expect(response.body).toMatchObject({ requestId: response.headers.get('x-request-id') });
      expect(response.headers.get('retry-after')).toBe(retryAfter ?? null);
      expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(response.headers.has('www-authenticate') || response.headers.has('set-cookie')).toBe(false);
      expect(response.text + response.lines.join()).not.toContain(CANARY);
      expect(response.lines.map((line) => (JSON.parse(line) as { level: string }).level)).toEqual([
        ...(level ? [level] : []),
        'info',
      ]);
    },
  );

  it('delays the next request of the workspace after a 429', async () => {
    attacked.upstream.behaviour = json({ errorCode: 'x', message: 'No.' }, 429);
    expect((await attacked.sendRequest('/transfers/1')).status).toBe(429);
    attacked.upstream.received.length = 0;
    attacked.upstream.behaviour = json({ id: 1, amount: '1' });

    expect((await attacked.sendRequest('/transfers/1')).status).toBe(200);
    expect(attacked.upstream.received).toHaveLength(1);
  });

  it('forwards an undocumented status in the published form', async () => {
    attacked.upstream.behaviour = json({ errorCode: 'teapot', message: 'Short and stout.' }, 418);
    const headers = {
      authorization: `Bearer ${await attacked.service.tokenOf('ada@northwind.example')}`,
      'workspace-id': '1',
    };

    const response = await fetch(`${attacked.service.url}/transfers/1`, { headers });

    expect([response.status, await response.json()]).toEqual([
      418,
      {
        errorCode: 'teapot',
        message: 'Short and stout.',
        reason: 'teapot',
        requestId: response.headers.get('x-request-id'),
      },
    ]);
  });

  it('removes the upstream credential from errors and the log', async () => {
    for (const status of [400, 401, 404, 500]) {
      attacked.upstream.behaviour = (response, request) => {
        const message = `You sent ${request.headers.authorization ?? ''} (${attacked.token}).`;
        json(
          {
            errorCode: attacked.token,
            message,
            reason: attacked.token,
            details: [{ path: attacked.token, reason: attacked.token, message }],
          },
          status,
        )(response, request);
      };

      const response = await attacked.requestAndReadLog('/transfers/1');

      expect([status, response.text]).toEqual([status, expect.not.stringContaining('eyJ')]);
      expect(response.lines.join()).not.toContain('eyJ');
    }
  });

  it.each([
    '1000000000',
    '-1',
    'Fri, 31 Dec 9999 23:59:59 GMT',
    'Thu, 01 Jan 1970 00:00:00 GMT',
    '99999999999999999999',
  ])('sends a usable Retry-After or an upstream error for Retry-After %s', async (retryAfter) => {
    attacked.upstream.behaviour = json({ errorCode: 'unavailable', message: 'No.', reason: 'unavailable' }, 503, {
      'retry-after': retryAfter,
    });

    const { status, headers } = await attacked.sendRequest('/transfers/1');

    expect([502, 503]).toContain(status);
    if (status === 503) expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(86_400);
  });

  describe('redirects', () => {
    let elsewhere: Server;
    let requests: number;
    beforeAll(async () => {
      requests = 0;
      elsewhere = createServer((_, response) => {
        requests += 1;
        response.setHeader('content-type', 'application/json').end('{"id":1,"amount":"1"}');
      });
      await once(elsewhere.listen(0, '127.0.0.1'), 'listening');
    });
    afterAll(async () => {
      await once(elsewhere.close(), 'close');
    });

    it.each([301, 302, 303, 307, 308])('does not follow a redirect with %s', async (status) => {
      const there = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`;
      for (const location of [
        `${there}/transfers/1`,
        `${attacked.upstream.url}/transfers/1`,
        attacked.service.url,
        '/transfers/1',
        '',
        'file:///etc/passwd',
      ]) {
        attacked.upstream.received.length = 0;
        attacked.upstream.behaviour = body('', { location }, status);

        const response = await attacked.requestAndReadLog('/transfers/1');

        expect(response).toMatchObject({ status: 502, body: { reason: 'upstream_error' } });
        expect(response.headers.has('location')).toBe(false);
        expect(response.lines[0]).toMatch(/redirect/);
        expect(attacked.upstream.received).toHaveLength(1);
        attacked.upstream.behaviour = json([]);
        await attacked.sendRequest('/accounts');
      }
      expect(requests).toBe(0);
    });
  });
});
