import type { WebhookEndpoint } from '@banking/domain';
import { sendRequest } from '../responses.js';
import { ADA, EVE, idOf, type Service } from '../service.js';
import { Payer } from './paying.js';
import { faultsIn } from './shapes.js';

/** Nothing answers there. No event of the suite has the type, so the worker sends tests only. */
const INPUT = {
  url: 'https://hooks.northwind.example/contract',
  types: ['payout.parked'],
  description: 'Contract',
} as const;

/** Webhook endpoints as their administrators manage them. Deliveries are tried elsewhere, because a gateway makes none. */
export function webhookEndpointsContract(provide: () => Service): void {
  const service = provide();
  const ada = new Payer(service);
  const made: WebhookEndpoint[] = [];
  const create = async () => {
    const created = await ada.view.webhookEndpoints.create(INPUT);
    made.push(created.resource);
    return created.resource;
  };
  const send = (path: string, options: Parameters<typeof sendRequest>[2] = {}, email = ADA) =>
    sendRequest(service, `/webhook-endpoints${path}`, {
      as: email,
      workspace: idOf(service.world, 'workspaces', email === ADA ? 'Northwind Trading' : 'Southwind Imports'),
      ...options,
    });

  describe('webhook endpoints', () => {
    afterEach(async () => {
      for (const { id } of made.splice(0)) await send(`/${id}`, { method: 'DELETE' });
    });

    it('show their secret at their creation only', async () => {
      const key = { 'idempotency-key': `webhooks-${Date.now()}` };
      const first = await send('', { body: INPUT, headers: key });
      const { secret, ...endpoint } = first.body as WebhookEndpoint & { secret: string };
      made.push(endpoint);
      const again = await send('', { body: INPUT, headers: key });
      const read = await send(`/${endpoint.id}`);
      const list = await send('');

      expect([first.status, first.headers.get('location')]).toEqual([
        201,
        expect.stringMatching(new RegExp(`/webhook-endpoints/${endpoint.id}$`)),
      ]);
      expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
      expect(faultsIn(endpoint, 'WebhookEndpoint')).toEqual([]);
      expect([again.status, again.body, again.headers.get('idempotent-replayed')]).toEqual([201, endpoint, 'true']);
      expect(read.body).toEqual(endpoint);
      expect(list.body).toContainEqual(endpoint);
      expect(list.text).not.toContain('whsec_');
    });

    it('are changed, disabled, enabled and deleted', async () => {
      const { id } = await create();
      const { webhookEndpoints } = ada.view;

      const changed = await webhookEndpoints.change(id, { types: [], description: 'Changed', status: 'disabled' });
      expect(changed).toMatchObject({ types: [], description: 'Changed', status: 'disabled', disabledReason: 'user' });
      const enabled = await webhookEndpoints.change(id, { status: 'enabled', types: INPUT.types });
      expect([enabled.status, enabled.disabledReason]).toEqual(['enabled', undefined]);
      const rotated = await webhookEndpoints.rotateSecret(id);
      expect(rotated.secret).toMatch(/^whsec_/);
      await webhookEndpoints.delete(id);
      expect(await send(`/${id}`)).toMatchObject({ status: 404, body: { reason: 'webhook_endpoint_not_found' } });
    });

    it('are tested, and list the delivery, which can be retried', async () => {
      const { id } = await create();
      const test = await send(`/${id}/test`, { method: 'POST' });
      const { deliveries, retry } = ada.view.webhookEndpoints;

      expect([test.status, faultsIn(test.body, 'WebhookDelivery')]).toEqual([202, []]);
      const listed = [];
      for await (const delivery of deliveries(id, { limit: 1 })) listed.push(delivery);
      // A worker may have sent it meanwhile.
      expect(listed).toMatchObject([{ id: (test.body as { id: number }).id, kind: 'test' }]);
      expect(await retry(id, listed[0]!.id)).toMatchObject({ id: listed[0]!.id, status: 'pending' });
      expect((await ada.view.webhookEndpoints.deliveriesPage(id, { status: 'delivered' })).items).toEqual([]);
    });

    it('receive the events of a period again', async () => {
      const { id } = await create();
      const period = { createdFrom: '2001-01-01T00:00:00Z', createdTo: '2001-01-02T00:00:00Z' };

      expect(await ada.view.webhookEndpoints.replay(id, period)).toEqual({ deliveries: 0 });
      const wrong = await send(`/${id}/replay`, { body: { ...period, createdTo: '2000-01-01T00:00:00Z' } });
      expect(wrong).toMatchObject({ status: 400, body: { reason: 'timestamp_invalid' } });
    });

    it('are paged, and their cursors belong to their list', async () => {
      const [first, second] = [await create(), await create()];
      const { items, next = '' } = await ada.view.webhookEndpoints.listPage({ limit: 1 });
      const theirs = await send(`?limit=1&cursor=${encodeURIComponent(next)}`, {}, EVE);
      const ofDeliveries = await send(`/${first.id}/deliveries?cursor=${encodeURIComponent(next)}`);

      expect(items.map(({ id }) => id)).toEqual([second.id]);
      for (const response of [theirs, ofDeliveries]) {
        expect(response).toMatchObject({ status: 400, body: { reason: 'cursor_invalid' } });
      }
    });

    it('of another workspace are not found', async () => {
      const { id } = await create();
      for (const [method, path] of [
        ['GET', `/${id}`],
        ['DELETE', `/${id}`],
        ['POST', `/${id}/secret-rotation`],
        ['POST', `/${id}/test`],
        ['GET', `/${id}/deliveries`],
      ] as const) {
        expect(await send(path, { method }, EVE)).toMatchObject({
          status: 404,
          body: { reason: 'webhook_endpoint_not_found' },
        });
      }
    });

    it.each([
      ['an address that is not https', { url: 'http://hooks.example/' }, 422, 'webhook_url_refused'],
      ['a private address', { url: 'https://10.0.0.1/' }, 422, 'webhook_url_refused'],
      ['the address of metadata', { url: 'https://169.254.169.254/latest' }, 422, 'webhook_url_refused'],
      ['a private address of IPv6', { url: 'https://[fd00::1]/' }, 422, 'webhook_url_refused'],
      ['an IPv4-mapped private address', { url: 'https://[::ffff:10.0.0.1]/' }, 422, 'webhook_url_refused'],
      ['an address with credentials', { url: 'https://me:secret@hooks.example/' }, 422, 'webhook_url_refused'],
      ['an address with a fragment', { url: 'https://hooks.example/#part' }, 422, 'webhook_url_refused'],
      ['a text that is no address', { url: 'hooks' }, 422, 'webhook_url_refused'],
      ['an address of 2,049 characters', { url: `https://a.example/${'x'.repeat(2_031)}` }, 400, 'body_malformed'],
      ['an unknown type', { url: INPUT.url, types: ['order.exploded'] }, 400, 'body_malformed'],
      ['a type twice', { url: INPUT.url, types: ['order.placed', 'order.placed'] }, 400, 'body_malformed'],
      ['types that are no list', { url: INPUT.url, types: 'order.placed' }, 400, 'body_malformed'],
      ['a secret', { url: INPUT.url, secret: 'whsec_mine' }, 400, 'field_unknown'],
      ['no address', {}, 400, 'body_malformed'],
      ['more than 64 KiB', { url: INPUT.url, description: 'x'.repeat(65_536) }, 413, 'payload_too_large'],
    ])('are refused with %s, which the response does not repeat', async (_, body, status, reason) => {
      const response = await send('', { body });

      expect(response).toMatchObject({ status, body: { reason } });
      expect(response.text).not.toMatch(/exploded|169\.254|secret@|whsec_mine/);
    });

    it('keep their address if a new one is refused', async () => {
      const { id } = await create();
      const response = await send(`/${id}`, { method: 'PATCH', body: { url: 'https://127.0.0.1.nip.example:99999/' } });

      expect(response).toMatchObject({ status: 422, body: { reason: 'webhook_url_refused' } });
      expect((await ada.view.webhookEndpoints.get(id)).url).toBe(INPUT.url);
    });
  });
}
