import { ADA, openTestApp, type TestApp } from '../testing/test-app.js';
import { WebhookEndpointsModule } from './webhook-endpoints.controller.js';

const ENDPOINT = { id: 3, url: 'https://hooks.example', types: [], status: 'enabled' };
const DELIVERY = { id: 9, eventType: 'webhook.test', kind: 'test', status: 'pending', attempts: 0 };
const PERIOD = { createdFrom: '2026-11-21T09:00:00Z', createdTo: '2026-11-21T10:00:00Z' };
const NAMED = { webhookEndpointId: 3 };

describe('the controllers of webhook endpoints', () => {
  const banking = {
    createWebhookEndpoint: jest.fn(),
    listWebhookEndpoints: jest.fn(),
    getWebhookEndpoint: jest.fn(),
    changeWebhookEndpoint: jest.fn(),
    deleteWebhookEndpoint: jest.fn(),
    rotateWebhookSecret: jest.fn(),
    testWebhookEndpoint: jest.fn(),
    replayWebhookEvents: jest.fn(),
    listWebhookDeliveries: jest.fn(),
    retryWebhookDelivery: jest.fn(),
  };
  let app: TestApp;
  beforeAll(async () => {
    app = await openTestApp(WebhookEndpointsModule, banking);
  });
  afterAll(() => app.close());
  afterEach(() => jest.resetAllMocks());

  it('create an endpoint, and say where it is and whether it is a replay', async () => {
    const input = { url: 'https://hooks.example', types: ['order.placed'] };
    banking.createWebhookEndpoint.mockResolvedValue({ resource: ENDPOINT, isReplay: true });

    expect(await app.send('POST /webhook-endpoints', input, { 'idempotency-key': 'one' })).toMatchObject({
      status: 201,
      body: ENDPOINT,
      headers: { location: '/payments/webhook-endpoints/3', 'idempotent-replayed': 'true' },
    });
    expect(banking.createWebhookEndpoint).toHaveBeenCalledWith(ADA, input, { idempotencyKey: 'one' });
  });

  it('list endpoints with a link to the next page', async () => {
    banking.listWebhookEndpoints.mockResolvedValue({ items: [ENDPOINT], next: 'there' });

    expect(await app.send('GET /webhook-endpoints?limit=1')).toMatchObject({
      status: 200,
      body: [ENDPOINT],
      headers: { link: '</payments/webhook-endpoints?limit=1&cursor=there>; rel="next"' },
    });
    expect(banking.listWebhookEndpoints).toHaveBeenCalledWith(ADA, { limit: 1 });
  });

  it.each<[string, keyof typeof banking, number, object | undefined, object, object?]>([
    ['GET /webhook-endpoints/3', 'getWebhookEndpoint', 200, ENDPOINT, NAMED],
    ['PATCH /webhook-endpoints/3', 'changeWebhookEndpoint', 200, ENDPOINT, { ...NAMED, types: [] }, { types: [] }],
    ['DELETE /webhook-endpoints/3', 'deleteWebhookEndpoint', 204, undefined, NAMED],
    ['POST /webhook-endpoints/3/secret-rotation', 'rotateWebhookSecret', 200, ENDPOINT, NAMED],
    ['POST /webhook-endpoints/3/test', 'testWebhookEndpoint', 202, DELIVERY, NAMED],
    [
      'POST /webhook-endpoints/3/replay',
      'replayWebhookEvents',
      202,
      { deliveries: 2 },
      { ...NAMED, ...PERIOD },
      PERIOD,
    ],
    [
      'POST /webhook-endpoints/3/deliveries/9/retry',
      'retryWebhookDelivery',
      202,
      DELIVERY,
      { ...NAMED, webhookDeliveryId: 9 },
    ],
  ])('%s calls %s', async (call, method, status, result, ...[passed, body]) => {
    banking[method].mockResolvedValue(result);

    const response = await app.send(call, body);

    expect([response.status, response.body]).toEqual([status, result ?? expect.anything()]);
    expect(banking[method]).toHaveBeenCalledWith(ADA, passed);
  });

  it('list the deliveries of an endpoint by status', async () => {
    banking.listWebhookDeliveries.mockResolvedValue({ items: [DELIVERY] });

    const response = await app.send('GET /webhook-endpoints/3/deliveries?status=pending');

    expect(response).toMatchObject({ status: 200, body: [DELIVERY] });
    expect(banking.listWebhookDeliveries).toHaveBeenCalledWith(ADA, { ...NAMED, status: 'pending' });
  });

  it.each<[string, string, object?]>([
    [
      'POST /webhook-endpoints',
      'body_malformed',
      { url: 'https://a.example', types: ['order.placed', 'order.placed'] },
    ],
    ['POST /webhook-endpoints', 'body_malformed', { url: 'https://a.example', types: ['order.unknown'] }],
    ['POST /webhook-endpoints', 'body_malformed', { url: 'https://a.example', types: { 0: 'order.placed' } }],
    ['POST /webhook-endpoints', 'field_unknown', { url: 'https://a.example', status: 'enabled' }],
    ['PATCH /webhook-endpoints/3', 'field_unknown', { secret: 'whsec_' }],
    ['PATCH /webhook-endpoints/3', 'body_malformed', { status: 'failing' }],
    ['PATCH /webhook-endpoints/3', 'body_malformed', { url: null }],
    ['PATCH /webhook-endpoints/0', 'id_malformed', {}],
    ['POST /webhook-endpoints/3/replay', 'timestamp_invalid', { ...PERIOD, createdTo: '2026-11-21' }],
    ['POST /webhook-endpoints/3/deliveries/x/retry', 'id_malformed'],
    ['GET /webhook-endpoints/3/deliveries?status=late', 'parameter_invalid'],
  ])('refuse %s with %s: %j', async (call, ...[reason, body]) => {
    expect(await app.send(call, body)).toMatchObject({ status: 400, body: { reason } });
    for (const method of Object.values(banking)) expect(method).not.toHaveBeenCalled();
  });
});
