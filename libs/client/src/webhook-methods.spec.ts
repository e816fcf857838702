import { BankingClient } from './banking-client.js';
import {
  dies,
  refuses,
  responds,
  type ScriptedService,
  scriptedService,
  type Step,
} from './testing/scripted-service.js';
import type { WebhookMethods } from './webhook-methods.js';

const ENDPOINT = { id: 3, url: 'https://hooks.example', types: [], status: 'enabled' };
const DELIVERY = { id: 9, eventType: 'webhook.test', kind: 'test', status: 'pending', attempts: 0 };
const PERIOD = { createdFrom: '2026-11-21T09:00:00Z', createdTo: '2026-11-21T10:00:00Z' };

let service: ScriptedService;
let webhooks: WebhookMethods;
beforeAll(async () => {
  service = await scriptedService();
  webhooks = new BankingClient({ baseUrl: service.url, token: 'token' }).workspace(1).webhookEndpoints;
});
afterAll(() => service.close());

const sent = () => {
  const { method, url, body } = service.received.at(-1)!;
  return [`${method} ${url}`, body === '' ? undefined : (JSON.parse(body) as unknown)];
};

describe('the webhook endpoints of a workspace', () => {
  it.each<[string, Step, () => Promise<unknown>, unknown, string, unknown?]>([
    [
      'are created',
      responds(201, ENDPOINT),
      () => webhooks.create({ url: 'u' }),
      { resource: ENDPOINT },
      'POST /webhook-endpoints',
      { url: 'u' },
    ],
    [
      'are listed',
      responds(200, [ENDPOINT]),
      () => webhooks.listPage({ limit: 2 }),
      { items: [ENDPOINT] },
      'GET /webhook-endpoints?limit=2',
    ],
    ['are read', responds(200, ENDPOINT), () => webhooks.get(3), ENDPOINT, 'GET /webhook-endpoints/3'],
    [
      'are changed',
      responds(200, ENDPOINT),
      () => webhooks.change(3, { status: 'disabled' }),
      ENDPOINT,
      'PATCH /webhook-endpoints/3',
      { status: 'disabled' },
    ],
    [
      'have their secret rotated',
      responds(200, ENDPOINT),
      () => webhooks.rotateSecret(3),
      ENDPOINT,
      'POST /webhook-endpoints/3/secret-rotation',
    ],
    ['are tested', responds(202, DELIVERY), () => webhooks.test(3), DELIVERY, 'POST /webhook-endpoints/3/test'],
    [
      'are sent events again',
      responds(202, { deliveries: 2 }),
      () => webhooks.replay(3, PERIOD),
      { deliveries: 2 },
      'POST /webhook-endpoints/3/replay',
      PERIOD,
    ],
    [
      'list deliveries',
      responds(200, [DELIVERY]),
      () => webhooks.deliveriesPage(3, { status: 'failed' }),
      { items: [DELIVERY] },
      'GET /webhook-endpoints/3/deliveries?status=failed',
    ],
    [
      'retry a delivery',
      responds(202, DELIVERY),
      () => webhooks.retry(3, 9),
      DELIVERY,
      'POST /webhook-endpoints/3/deliveries/9/retry',
    ],
  ])('%s', async (_, step, call, result, ...[request, body]) => {
    service.script(step);

    expect(await call()).toMatchObject(result as object);
    expect(sent()).toEqual([request, body]);
    // The resources have no edges.
    expect(JSON.stringify(await call())).not.toContain('edges');
  });

  it('are deleted', async () => {
    service.script((response) => response.writeHead(204).end());

    await expect(webhooks.delete(3)).resolves.toBeUndefined();
    expect(sent()).toEqual(['DELETE /webhook-endpoints/3', undefined]);
  });

  it('and their deliveries are iterated page by page', async () => {
    const next = { link: '</x?cursor=there>; rel="next"' };
    service.script(responds(200, [DELIVERY], next), responds(200, [{ ...DELIVERY, id: 8 }]));
    const ids = [];
    for await (const { id } of webhooks.deliveries(3, { limit: 1 })) ids.push(id);

    expect(ids).toEqual([9, 8]);
    expect(sent()[0]).toBe('GET /webhook-endpoints/3/deliveries?limit=1&cursor=there');
    service.script(responds(200, [ENDPOINT], next), responds(200, [{ ...ENDPOINT, id: 2 }]));
    const endpoints = [];
    for await (const { id } of webhooks.list()) endpoints.push(id);
    expect(endpoints).toEqual([3, 2]);
  });

  it.each<[string, Step, () => Promise<unknown>]>([
    ['a test with the status 200', responds(200, DELIVERY), () => webhooks.test(3)],
    ['a change with the status 202', responds(202, ENDPOINT), () => webhooks.change(3, {})],
    ['an endpoint of another id', responds(200, { ...ENDPOINT, id: 4 }), () => webhooks.get(3)],
    ['a delivery of another id', responds(202, DELIVERY), () => webhooks.retry(3, 8)],
  ])('do not accept %s', async (_, step, call) => {
    service.script(step);
    await expect(call()).rejects.toThrow();
  });

  it('never rotate twice: a lost response is not retried', async () => {
    const before = service.received.length;
    service.script(dies);

    await expect(webhooks.rotateSecret(3)).rejects.toMatchObject({ name: 'OutcomeUnknownError' });
    expect(service.received.length).toBe(before + 1);
  });

  it('pass on refusals, and send no id that is none', async () => {
    service.script(refuses(422, 'webhook_endpoint_disabled'));
    await expect(webhooks.test(3)).rejects.toMatchObject({ reason: 'webhook_endpoint_disabled' });
    const before = service.received.length;
    await expect(webhooks.retry(3, 1.5)).rejects.toMatchObject({ reason: 'id_malformed' });
    expect(service.received.length).toBe(before);
  });
});
