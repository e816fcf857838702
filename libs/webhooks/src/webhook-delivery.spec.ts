import { Webhook } from 'standardwebhooks';
import { secretSealer } from './secret-sealer.js';
import { deliveryWorld } from './testing/delivery-world.js';
import { startReceiver, status } from './testing/receiver.js';

let given: Awaited<ReturnType<typeof deliveryWorld>>;
let receiver: Awaited<ReturnType<typeof startReceiver>>;

beforeAll(async () => void (given = await deliveryWorld()));
afterAll(() => given.close());
beforeEach(async () => void (receiver = await startReceiver()));
afterEach(async () => {
  await receiver.close();
  await given.read('update webhook_endpoint set sealed_secret = null, deleted_at = now() where deleted_at is null');
  expect(given.errors).toEqual([]);
});

/** Claims and sends until nothing is due. */
async function deliver(worker = given.worker()) {
  await worker.run();
  await worker.finished();
}

describe('the delivery of webhooks', () => {
  it('sends each event once, with its signature, and records it', async () => {
    const { id, secret } = await given.endpoint(receiver.url);
    const events = await given.events(3);
    await deliver();
    await deliver();

    expect(receiver.received.map(({ event }) => event).sort()).toEqual([...events].sort());
    const webhook = new Webhook(Buffer.from(secret).toString('base64'));
    for (const { headers, body } of receiver.received) {
      const event = webhook.verify(body, headers as Record<string, string>) as Record<string, unknown>;
      expect(Object.keys(event)).toEqual(['type', 'timestamp', 'data']);
      expect(event).toMatchObject({
        type: 'order.placed',
        data: {
          type: 'order.placed',
          sequence: 1,
          changes: { status: { after: 'active' } },
          actor: { type: 'system' },
        },
      });
    }
    const deliveries = await given.deliveries(id);
    expect(deliveries.sort((one, other) => Number(one['event_id']) - Number(other['event_id']))).toMatchObject(
      events.map((event) => ({
        event_id: BigInt(event),
        kind: 'event',
        status: 'delivered',
        attempts: 1,
        last_response_status: 204,
      })),
    );
    expect(await given.endpointRow(id)).toMatchObject({
      status: 'enabled',
      cursor_event_id: BigInt(events.at(-1) ?? 0),
    });
  });

  it('sends the types of the endpoint, and passes the others', async () => {
    const { id } = await given.endpoint(receiver.url, { types: ['account.opened'] });
    await given.events(2);
    const [wanted] = await given.events(1, { type: 'account.opened' });
    const [last] = await given.events(1);
    await deliver();
    expect(receiver.received.map(({ event }) => event)).toEqual([wanted]);
    expect(await given.endpointRow(id)).toMatchObject({ cursor_event_id: BigInt(last ?? 0) });
  });

  it('passes many events of other types in few queries, without a pause', async () => {
    const { id } = await given.endpoint(receiver.url, { types: ['account.opened'] });
    await given.events(25_000);
    const [wanted] = await given.events(1, { type: 'account.opened' });
    const pipeline = jest.spyOn(given.world.database, 'pipeline');
    await deliver();
    const reads = pipeline.mock.calls.flatMap(([, bound]) => bound).map(({ statement }) => statement.name);
    pipeline.mockRestore();
    expect(receiver.received.map(({ event }) => event)).toEqual([wanted]);
    expect(await given.endpointRow(id)).toMatchObject({ cursor_event_id: BigInt(wanted ?? 0) });
    expect(reads.filter((name) => name === 'next_events_of_webhook').length).toBeLessThanOrEqual(4);
  });

  it('sends the events of a resource one after another', async () => {
    await given.endpoint(receiver.url);
    await given.events(40, { each: 3 });
    const busy = new Set<string>();
    const orders = new Map<string, number[]>();
    receiver.respondWith((response, { body }) => {
      const { data } = JSON.parse(body) as { data: { resource: { id: number }; sequence: number } };
      const resource = String(data.resource.id);
      expect(busy.has(resource)).toBe(false);
      busy.add(resource);
      orders.set(resource, [...(orders.get(resource) ?? []), data.sequence]);
      setImmediate(() => {
        busy.delete(resource);
        response.writeHead(200).end();
      });
    });
    await deliver();
    expect([...orders.values()]).toEqual(Array.from({ length: 40 }, () => [1, 2, 3]));
    expect(receiver.connections()).toBeLessThanOrEqual(32);
  });

  it('signs with the former secret too, while it is valid', async () => {
    const { id } = await given.endpoint(receiver.url);
    const former = Buffer.alloc(32, 7);
    const sealed = given.sealer.seal(former, { workspaceId: 1, endpointId: id });
    const rotate = (interval: string) =>
      given.read(
        `update webhook_endpoint set previous_sealed_secret = $2, previous_valid_until = now() + $3::interval where id = $1`,
        ...[id, Buffer.from(sealed), interval],
      );
    await rotate('1 hour');
    await given.events(1);
    await deliver();
    await rotate('-1 second');
    await given.events(1);
    await deliver();
    const [both, one] = receiver.received;
    const webhook = new Webhook(former.toString('base64'));
    expect(() => webhook.verify(both?.body ?? '', both?.headers as Record<string, string>)).not.toThrow();
    expect(String(both?.headers['webhook-signature']).split(' ')).toHaveLength(2);
    expect(String(one?.headers['webhook-signature']).split(' ')).toHaveLength(1);
  });

  it('signs with the new secret alone if the key of the former one is lost', async () => {
    const { id } = await given.endpoint(receiver.url);
    const lost = secretSealer([Buffer.alloc(32, 8)]).seal(Buffer.alloc(32, 7), { workspaceId: 1, endpointId: id });
    await given.read(
      `update webhook_endpoint set previous_sealed_secret = $2, previous_valid_until = now() + interval '1 day' where id = $1`,
      ...[id, Buffer.from(lost)],
    );
    await given.events(1);
    await deliver();
    expect(String(receiver.received[0]?.headers['webhook-signature']).split(' ')).toHaveLength(1);
  });

  it('reports a secret whose key is lost with its endpoint', async () => {
    const { id } = await given.endpoint(receiver.url);
    await given.events(1);
    const reported: unknown[] = [];
    const onError = (error: unknown, failed: object) => reported.push({ ...failed, error: String(error) });
    await deliver(given.worker({ sealer: secretSealer([Buffer.alloc(32, 8)]), onError }));
    expect(reported).toEqual([
      {
        ...{ chore: 'webhooks', workspaceId: 1, kind: 'webhookEndpoint', subjectId: id },
        error: 'SealError: The secret is sealed with a key that WEBHOOK_KEY does not have.',
      },
    ]);
  });

  it('seals all secrets with the first key, so that another one can be removed', async () => {
    const { id, secret } = await given.endpoint(receiver.url);
    // More than are read at a time, without an event to deliver, and one that gets none.
    for (let count = 0; count < 100; count += 1) await given.endpoint(receiver.url, { types: ['account.opened'] });
    const disabled = await given.endpoint(receiver.url);
    await given.read(
      `update webhook_endpoint set status = 'disabled', disabled_reason = 'gone', previous_sealed_secret = sealed_secret,
         previous_valid_until = now() + interval '1 day' where id = $1`,
      disabled.id,
    );
    const [oldKey, newKey] = [given.key, Buffer.alloc(32, 9)];
    const countByKey = () => given.read('select secrets from count_webhook_secrets() order by secrets');
    const lost = secretSealer([Buffer.alloc(32, 8)]).seal(secret, { workspaceId: 1, endpointId: id });
    await given.read(
      `update webhook_endpoint set previous_sealed_secret = $2, previous_valid_until = now() + interval '1 day' where id = $1`,
      ...[id, Buffer.from(lost)],
    );
    expect(await countByKey()).toEqual([{ secrets: 1 }, { secrets: 103 }]);

    await deliver(given.worker({ sealer: secretSealer([newKey, oldKey]) }));
    expect(await countByKey()).toEqual([{ secrets: 1 }, { secrets: 103 }]);

    for (const endpoint of [{ id, secret }, disabled]) {
      const { sealed_secret: sealed } = await given.endpointRow(endpoint.id);
      const opened = secretSealer([newKey]).open(sealed as Buffer, { workspaceId: 1, endpointId: endpoint.id });
      expect(Buffer.from(opened)).toEqual(endpoint.secret);
    }
    await given.events(1);
    await deliver(given.worker({ sealer: secretSealer([newKey]) }));
    expect(receiver.received).toHaveLength(1);
  });

  it('retries a failure with the same id by the schedule, ten times', async () => {
    receiver.respondWith(status(500, 'no\u0000\n\u001b[1mway'));
    const { id } = await given.endpoint(receiver.url);
    const [event] = await given.events(1);
    const delays: number[] = [];
    for (let attempt = 1; attempt <= 12; attempt += 1) {
      await deliver();
      const [row] = await given.read<{ seconds: number }>(
        `select extract(epoch from next_attempt_at - last_attempt_at)::float8 as seconds from webhook_delivery where endpoint_id = $1`,
        id,
      );
      delays.push(Math.round(row?.seconds ?? 0));
      await given.passTime();
    }
    expect(delays).toEqual([5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400, 0, 0, 0]);
    expect(receiver.received.map((one) => one.event)).toEqual(Array.from({ length: 10 }, () => event));
    expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(1);
    expect(await given.deliveries(id)).toMatchObject([
      {
        status: 'failed',
        attempts: 10,
        last_response_status: 500,
        last_response: 'no  \u0020[1mway',
        last_error: null,
      },
    ]);
  });

  it('disables an endpoint that responds 410', async () => {
    receiver.respondWith(status(410));
    const { id } = await given.endpoint(receiver.url);
    await given.events(1);
    await deliver();
    await given.events(1);
    await deliver();
    expect(receiver.received).toHaveLength(1);
    expect(await given.endpointRow(id)).toMatchObject({ status: 'disabled', disabled_reason: 'gone' });
  });

  it('sends a test once, with an id of its own', async () => {
    receiver.respondWith(status(302));
    const { id } = await given.endpoint(receiver.url);
    await given.read(
      `insert into webhook_delivery (workspace_id, endpoint_id, event_type, kind, next_attempt_at) values (1, $1, 'webhook.test', 'test', now())`,
      id,
    );
    await deliver();
    await given.passTime();
    await deliver();
    expect(receiver.received).toHaveLength(1);
    const [{ id: webhookId, body } = { id: '', body: '' }] = receiver.received;
    const [row] = await given.deliveries(id);
    expect(row).toMatchObject({ kind: 'test', status: 'failed', attempts: 1, last_response_status: 302 });
    expect(webhookId).toMatch(new RegExp(`^tst_1_${String(row?.id)}_\\d{17}$`));
    expect(JSON.parse(body)).toEqual({
      type: 'webhook.test',
      timestamp: expect.stringMatching(/Z$/) as string,
      data: {},
    });
  });

  it('ends a replay of an event that was deleted', async () => {
    const { id } = await given.endpoint(receiver.url);
    await given.read(
      `insert into webhook_delivery (workspace_id, endpoint_id, event_id, event_type, kind, next_attempt_at)
       values (1, $1, 999999, 'order.placed', 'replay', now())`,
      id,
    );
    await given.passTime();
    await deliver();
    expect(receiver.received).toEqual([]);
    expect(await given.deliveries(id)).toMatchObject([{ status: 'failed', attempts: 0 }]);
  });
});
