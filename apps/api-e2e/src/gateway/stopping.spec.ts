import { KeepAliveClient } from '../running/keep-alive-client.js';
import { ADA } from '../service.js';
import { AttackedGateway } from './gateway-under-attack.js';
import { json } from './hostile-upstream.js';

const CLIENTS = 12;
const PATH = '/accounts/1/orders';
const ORDER = { id: 7, amount: '10', status: 'active', type: 'instant', edges: {} };

describe('gateway stop', () => {
  let attacked: AttackedGateway;
  beforeEach(async () => {
    attacked = await AttackedGateway.start({ UPSTREAM_TIMEOUT_MS: '10000' });
  });
  afterEach(async () => {
    await attacked.upstream.stop();
  });

  it('finishes requests under load, including those in progress upstream', async () => {
    const pending: (() => void)[] = [];
    attacked.upstream.behaviour = (response, request) => {
      if (request.method === 'GET') json({ id: 1, amount: '1' })(response, request);
      else pending.push(() => json(ORDER, 200)(response, request));
    };
    const headers = { authorization: `Bearer ${await attacked.service.tokenOf(ADA)}`, 'workspace-id': '1' };
    const clients = Array.from(
      { length: CLIENTS },
      () => new KeepAliveClient(`${attacked.service.url}/transfers/1`, headers),
    );
    const order = attacked.sendRequest(PATH, { body: { amount: '10', recipientID: 3, type: 'instant' } });
    await attacked.upstream.until(() => pending.length > 0 && clients.every(({ statuses }) => statuses.length > 5));

    attacked.gateway.signal('SIGTERM');
    const endings = await Promise.all(clients.map(({ ended }) => ended));
    pending.forEach((respond) => respond());

    expect((await order).status).toBe(200);
    expect(endings).toEqual(clients.map(() => 'told to leave'));
    expect(new Set(clients.flatMap(({ statuses }) => statuses))).toEqual(new Set([200]));
    expect(await attacked.gateway.ended).toEqual({ code: 0, signal: null });
    expect(attacked.wrongLines()).toEqual([]);
  });

  it('stops after a caller disconnected, and has sent the order once', async () => {
    attacked.upstream.behaviour = () => undefined;
    const leaving = new AbortController();
    const headers = {
      authorization: `Bearer ${await attacked.service.tokenOf(ADA)}`,
      'workspace-id': '1',
      'content-type': 'application/json',
    };
    const body = JSON.stringify({ amount: '10', recipientID: 3, type: 'instant' });
    const order = fetch(`${attacked.service.url}${PATH}`, { method: 'POST', headers, body, signal: leaving.signal });
    await attacked.upstream.until(() => attacked.upstream.received.length > 0);
    leaving.abort();
    await expect(order).rejects.toThrow('aborted');

    await attacked.gateway.stop();

    expect(attacked.upstream.received).toHaveLength(1);
    expect(attacked.wrongLines()).toEqual([]);
  });
});
