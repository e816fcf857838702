import { KeepAliveClient } from '../running/keep-alive-client.js';
import { ADA } from '../service.js';
import { BesiegedGateway } from './besieged-gateway.js';
import { json } from './hostile-upstream.js';

const CLIENTS = 12;
const PATH = '/accounts/1/orders';
const ORDER = { id: 7, amount: '10', status: 'active', type: 'instant', edges: {} };

describe('Given a gateway that is told to stop', () => {
  let besieged: BesiegedGateway;
  beforeEach(async () => {
    besieged = await BesiegedGateway.start({ UPSTREAM_TIMEOUT_MS: '10000' });
  }, 60_000);
  afterEach(async () => {
    await besieged.upstream.goAway();
  });

  it('When it is under load Then it loses no request, and what is under way upstream is waited for', async () => {
    const held: (() => void)[] = [];
    besieged.upstream.trick = (response, asked) => {
      if (asked.method === 'GET') json({ id: 1, amount: '1' })(response, asked);
      else held.push(() => json(ORDER, 200)(response, asked));
    };
    const headers = { authorization: `Bearer ${await besieged.service.tokenOf(ADA)}`, 'workspace-id': '1' };
    const clients = Array.from({ length: CLIENTS }, () => new KeepAliveClient(`${besieged.service.url}/transfers/1`, headers)); // prettier-ignore
    const order = besieged.ask(PATH, { body: { amount: '10', recipientID: 3, type: 'instant' } });
    await besieged.upstream.until(() => held.length > 0 && clients.every(({ statuses }) => statuses.length > 5));

    besieged.gateway.signal('SIGTERM');
    const endings = await Promise.all(clients.map(({ ended }) => ended));
    held.forEach((answer) => answer());

    expect((await order).status).toBe(200);
    expect(endings).toEqual(clients.map(() => 'told to leave'));
    expect(new Set(clients.flatMap(({ statuses }) => statuses))).toEqual(new Set([200]));
    expect(await besieged.gateway.ended).toEqual({ code: 0, signal: null });
    expect(besieged.wrongLines()).toEqual([]);
  });

  it('When nobody asks any more but a caller who has hung up Then it goes, and the order has been sent once', async () => {
    besieged.upstream.trick = () => undefined;
    const leaving = new AbortController();
    const headers = { authorization: `Bearer ${await besieged.service.tokenOf(ADA)}`, 'workspace-id': '1', 'content-type': 'application/json' }; // prettier-ignore
    const body = JSON.stringify({ amount: '10', recipientID: 3, type: 'instant' });
    const order = fetch(`${besieged.service.url}${PATH}`, { method: 'POST', headers, body, signal: leaving.signal });
    await besieged.upstream.until(() => besieged.upstream.asked.length > 0);
    leaving.abort();
    await expect(order).rejects.toThrow('aborted');

    await besieged.gateway.interrupt();

    expect(besieged.upstream.asked).toHaveLength(1);
    expect(besieged.wrongLines()).toEqual([]);
  });
});
