import type { WebhookDelivery, WebhookEndpoint } from '@banking/domain';
import { recordAudit } from '../audit/record-audit.js';
import { OldEvents } from '../events/record-changes.js';
import { outcomeOf, recordAll, webhookWorld } from '../testing/event-world.js';

let given: Awaited<ReturnType<typeof webhookWorld>>;

describe('webhook deliveries', () => {
  let { world, service, ada } = {} as typeof given;
  let endpoint: WebhookEndpoint;

  beforeAll(async () => {
    given = await webhookWorld();
    ({ world, service, ada } = given);
  });

  afterAll(() => world.close());

  beforeEach(async () => {
    endpoint = await given.endpoint({ types: ['account.opened'] });
  });

  afterEach(() => service.deleteWebhookEndpoint(ada, named()));

  const named = () => ({ webhookEndpointId: endpoint.id });
  const ALL = { createdFrom: '2020-01-01T00:00:00Z', createdTo: '2090-01-01T00:00:00Z' };

  const listed = async (query: object = {}) =>
    (await service.listWebhookDeliveries(ada, { ...named(), ...query })).items;

  const disable = () => service.changeWebhookEndpoint(ada, { ...named(), status: 'disabled' });

  /** The result of an attempt, as the worker records it. */
  const finish = ({ id }: Pick<WebhookDelivery, 'id'>, status: string) =>
    world.owner.query(
      `update webhook_delivery set status = $2, next_attempt_at = null, attempts = 1, last_attempt_at = now(), last_duration_ms = 12,
       last_response_status = 500, last_response = 'no', last_error = null where id = $1`,
      [id, status],
    );

  describe('a test of a webhook endpoint', () => {
    it('is a delivery without an event, which is due at once', async () => {
      const delivery = await service.testWebhookEndpoint(ada, named());

      expect(delivery).toEqual({
        id: delivery.id,
        eventType: 'webhook.test',
        kind: 'test',
        status: 'pending',
        attempts: 0,
        nextAttemptAt: expect.stringMatching(/Z$/) as string,
        createdAt: expect.stringMatching(/Z$/) as string,
      });
      expect(await listed()).toEqual([delivery]);
    });

    it('is refused for a disabled endpoint', async () => {
      await disable();
      expect(await outcomeOf(service.testWebhookEndpoint(ada, named()))).toBe('webhook_endpoint_disabled');
      expect(await listed()).toEqual([]);
    });
  });

  describe('a failing endpoint', () => {
    it.each<[string, (failed: WebhookDelivery) => Promise<unknown>]>([
      ['is enabled', () => service.changeWebhookEndpoint(ada, { ...named(), status: 'enabled' })],
      ['is tested', () => service.testWebhookEndpoint(ada, named())],
      ['gets a retry', ({ id }) => service.retryWebhookDelivery(ada, { ...named(), webhookDeliveryId: id })],
      ['gets a replay', () => service.replayWebhookEvents(ada, { ...named(), ...ALL })],
    ])('is due at once when it %s, and a worker that has it keeps it', async (_, request) => {
      await given.eventsOf(() => given.account(1, '100'));
      const failed = await service.testWebhookEndpoint(ada, named());
      await finish(failed, 'failed');
      await world.owner.query(
        `update webhook_endpoint set status = 'failing', failing_since = now(), answered_url = url, lease_until = now() - interval '1 s',
         cursor_event_id = 0, paused_until = now() + interval '5 minutes' where id = $1`,
        [endpoint.id],
      );
      const due = async () => {
        const { rows } = await world.owner.query<{ id: bigint }>('select id from webhook_endpoints_due(10)');
        return rows.some(({ id }) => Number(id) === endpoint.id);
      };
      expect(await due()).toBe(false);
      await request(failed);
      expect(await due()).toBe(true);

      await world.owner.query(`update webhook_endpoint set lease_until = now() + interval '1 minute'`);
      const { rows } = await world.owner.query<{ id: WebhookDelivery['id'] }>('select id::int from webhook_delivery');
      for (const delivery of rows) await finish(delivery, 'failed');
      await request(failed);
      expect(await due()).toBe(false);
    });
  });

  describe('a replay', () => {
    it('delivers the events of the period and of the types of the endpoint, oldest first', async () => {
      const events = await given.eventsOf(async () => {
        for (let count = 0; count < 3; count += 1) await given.account(1, '100');
      });
      const opened = events.filter(({ type }) => type === 'account.opened');
      const [first, , last] = opened.map(({ id }) => Number(id));
      const from = await service.getEvent(ada, { eventId: first as never });
      const to = await service.getEvent(ada, { eventId: last as never });
      const period = { createdFrom: from.createdAt, createdTo: to.createdAt };
      expect(await service.replayWebhookEvents(ada, { ...named(), ...period })).toEqual({ deliveries: 2 });
      const deliveries = [...(await listed())].reverse();
      expect(deliveries.map(({ eventID, kind, eventType }) => [eventID, kind, eventType])).toEqual(
        opened.slice(0, 2).map(({ id }) => [Number(id), 'replay', 'account.opened']),
      );
    });

    it('delivers all types to an endpoint without types', async () => {
      await service.changeWebhookEndpoint(ada, { ...named(), types: [] });
      const { rows } = await world.owner.query<{ count: number }>(
        'select count(*)::int as count from event where workspace_id = $1',
        [ada.workspaceId],
      );

      expect(await service.replayWebhookEvents(ada, { ...named(), ...ALL })).toEqual({ deliveries: rows[0]!.count });
    });

    it('is refused for a disabled endpoint, and for a period that ends before it begins', async () => {
      const replay = (period: object) => service.replayWebhookEvents(ada, { ...named(), ...ALL, ...period });

      await expect(
        replay({ createdFrom: '2025-06-01T00:00:00Z', createdTo: '2025-01-01T00:00:00Z' }),
      ).rejects.toMatchObject({
        ...{ reason: 'timestamp_invalid', message: 'createdFrom must not be after createdTo.' },
        details: [{ path: '/createdFrom' }],
      });
      await disable();
      expect(await outcomeOf(replay({ createdFrom: '2025-06-01T00:00:00Z' }))).toBe('webhook_endpoint_disabled');
    });
  });

  describe('requested deliveries', () => {
    const replay = (webhookEndpointId = endpoint.id) =>
      outcomeOf(service.replayWebhookEvents(ada, { webhookEndpointId, ...ALL, createdFrom: '2026-01-01T00:00:00Z' }));
    const test = () => outcomeOf(service.testWebhookEndpoint(ada, named()));
    const settle = (change: string) =>
      world.owner.query(`update webhook_delivery set ${change} where status = 'pending'`);

    it('are those of one replay at a time, whatever its endpoint, until each was attempted', async () => {
      await given.account(1, '0');
      const other = await given.endpoint({ types: ['account.opened'] });
      const outcomes = await Promise.all([replay(), replay(other.id), replay(), replay(other.id)]);
      expect(outcomes.toSorted()).toEqual(['done', ...Array.from({ length: 3 }, () => 'webhook_delivery_limit')]);
      expect(await replay()).toBe('webhook_delivery_limit');
      await settle('attempts = 1, last_attempt_at = now(), last_duration_ms = 1');
      expect([await replay(), await replay(other.id)]).toEqual(['done', 'webhook_delivery_limit']);
      for (const webhookEndpointId of [endpoint.id, other.id])
        await service.changeWebhookEndpoint(ada, { webhookEndpointId, status: 'disabled' });
      const third = await given.endpoint({ types: ['account.opened'] });
      expect(await replay(third.id)).toBe('done');
    });

    it('are refused beyond 20,000 pending ones of the workspace', async () => {
      const [failed, other] = [await service.testWebhookEndpoint(ada, named()), await given.endpoint()];
      await settle(`status = 'failed', next_attempt_at = null`);
      const fill = (count: number) =>
        world.owner.query(
          `insert into webhook_delivery (workspace_id, endpoint_id, event_type, kind, next_attempt_at)
         select $1, $2, 'webhook.test', 'test', now() from generate_series(1, $3)`,
          [ada.workspaceId, other.id, count],
        );
      const retry = () => outcomeOf(service.retryWebhookDelivery(ada, { ...named(), webhookDeliveryId: failed.id }));
      await fill(19_998);
      expect([await test(), await retry(), await retry()]).toEqual(['done', 'done', 'webhook_delivery_limit']);
      expect([await test(), await replay()]).toEqual(['webhook_delivery_limit', 'webhook_delivery_limit']);
      await settle(`status = 'failed', next_attempt_at = null`);
      expect(await test()).toBe('done');
    });

    it('are refused beyond 50,000 of a day, also of deleted endpoints', async () => {
      await settle(`status = 'failed', next_attempt_at = null`);
      const other = await given.endpoint();
      const requested = (day: string, deliveries: number) =>
        world.owner.query(
          `update webhook_endpoint set requested_on = (now() at time zone 'UTC')::date + $2::int, requested_deliveries = $3 where id = $1`,
          [other.id, day === 'today' ? 0 : -1, deliveries],
        );
      const counted = () => given.stored<number>(endpoint.id, 'requested_deliveries');
      const before = await world.owner.query<{ sum: number }>(
        `select coalesce(sum(requested_deliveries), 0)::int as sum from webhook_endpoint
       where workspace_id = $1 and requested_on = (now() at time zone 'UTC')::date`,
        [ada.workspaceId],
      );
      await service.deleteWebhookEndpoint(ada, { webhookEndpointId: other.id });
      await requested('today', 49_999 - before.rows[0]!.sum);
      expect([await test(), await test(), await replay()]).toEqual([
        'done',
        ...Array.from({ length: 2 }, () => 'webhook_delivery_limit'),
      ]);
      expect(await counted()).toBe(1);
      await requested('yesterday', 50_000);
      expect(await test()).toBe('done');
      expect(await counted()).toBe(2);
    });
  });

  describe('the deliveries of a webhook endpoint', () => {
    it('are listed newest first, by page and by status, with the last attempt', async () => {
      const made: WebhookDelivery[] = [];
      for (let count = 0; count < 5; count += 1) made.unshift(await service.testWebhookEndpoint(ada, named()));
      await finish(made[1]!, 'failed');
      await finish(made[3]!, 'delivered');

      const first = await service.listWebhookDeliveries(ada, { ...named(), limit: 3 });
      const rest = await service.listWebhookDeliveries(ada, { ...named(), limit: 3, cursor: first.next });
      expect([...first.items, ...rest.items].map(({ id }) => id)).toEqual(made.map(({ id }) => id));
      expect(rest.next).toBeUndefined();
      expect(await listed({ status: 'failed' })).toEqual([
        {
          ...made[1]!,
          status: 'failed',
          attempts: 1,
          nextAttemptAt: undefined,
          lastAttempt: { at: expect.any(String) as string, durationMs: 12, responseStatus: 500, response: 'no' },
        },
      ]);
      const other = await given.endpoint();
      const otherPage = { webhookEndpointId: other.id, limit: 3, cursor: first.next };
      expect(await outcomeOf(service.listWebhookDeliveries(ada, otherPage))).toBe('cursor_invalid');
    });
  });

  describe('a retry', () => {
    const retry = ({ id }: { readonly id: number }) =>
      service.retryWebhookDelivery(ada, { ...named(), webhookDeliveryId: id as never });

    it('makes a failed delivery due, and leaves an entry in the audit trail', async () => {
      const delivery = await service.testWebhookEndpoint(ada, named());
      await finish(delivery, 'failed');

      expect(await retry(delivery)).toMatchObject({
        id: delivery.id,
        status: 'pending',
        attempts: 1,
        nextAttemptAt: expect.any(String) as string,
      });
      while ((await recordAudit(world.database)) > 0);
      const resource = { resourceType: 'webhookDelivery', resourceId: delivery.id };
      const { items } = await service.listAuditEvents(ada, resource);
      expect(items.map(({ operation }) => operation)).toEqual(['retryWebhookDelivery']);
    });

    it('is refused for a delivery that arrived, one of another endpoint, and one of a disabled endpoint', async () => {
      const [arrived, failed] = [
        await service.testWebhookEndpoint(ada, named()),
        await service.testWebhookEndpoint(ada, named()),
      ];
      await finish(arrived, 'delivered');
      await finish(failed, 'failed');
      const other = await given.endpoint();
      const elsewhere = await service.testWebhookEndpoint(ada, { webhookEndpointId: other.id });

      expect(await outcomeOf(retry(arrived))).toBe('webhook_delivered');
      expect(await outcomeOf(retry(elsewhere))).toBe('webhook_delivery_not_found');
      expect(await outcomeOf(retry({ id: 999_999_999 }))).toBe('webhook_delivery_not_found');
      await disable();
      expect(await outcomeOf(retry(failed))).toBe('webhook_endpoint_disabled');
    });

    it('is refused if the event is not kept any more', async () => {
      const [event] = (await given.eventsOf(() => given.account(1, '0'))).filter(
        ({ type }) => type === 'account.opened',
      );
      const { createdAt } = await service.getEvent(ada, { eventId: Number(event!.id) as never });
      await service.replayWebhookEvents(ada, { ...named(), createdFrom: createdAt, createdTo: ALL.createdTo });
      const [delivery] = await listed();
      await finish(delivery!, 'failed');
      expect(await outcomeOf(retry(delivery!))).toBe('done');
      await finish(delivery!, 'failed');
      await world.owner.query(
        `begin; set local session_replication_role = replica; delete from event where id = ${event!.id}; commit`,
      );

      expect(await outcomeOf(retry(delivery!))).toBe('event_not_found');
    });
  });
});

describe('old events', () => {
  beforeAll(async () => void (given = await webhookWorld()));

  afterAll(() => given.world.close());

  beforeEach(async () => {
    for (const { id } of await given.service.listWebhookEndpoints(given.ada, {}).then(({ items }) => items))
      await given.service.deleteWebhookEndpoint(given.ada, { webhookEndpointId: id });
  });

  const read = async <Row extends object>(sql: string, ...values: unknown[]): Promise<Row[]> =>
    (await given.world.owner.query<Row>(sql, values)).rows;

  /** Events of an order that is done, as old as the others are made. Returns their ids. */
  async function oldEvents(count: number): Promise<number[]> {
    await read('alter table event disable trigger append_only');
    await read(`update event set created_at = now() - interval '41 days'`);
    await read('alter table event enable trigger append_only');
    const rows = await read<{ id: bigint }>(
      `insert into event (workspace_id, type, resource_type, resource_id, sequence, changes, actor, created_at)
     select $1, 'order.completed', 'order', 1e9::bigint + nextval('event_id_seq'), 1, '{}', '{"type": "system"}', now() - interval '40 days'
     from generate_series(1, $2) returning id`,
      given.ada.workspaceId,
      count,
    );
    return rows.map(({ id }) => Number(id));
  }

  /** Which of the events are left. */
  async function kept(events: readonly number[]): Promise<number[]> {
    const old = new OldEvents(given.world.database, 30);
    while ((await old.deleteBatch()) > 0);
    const rows = await read<{ id: bigint }>('select id from event where id = any($1) order by id', events);
    return rows.map(({ id }) => Number(id));
  }

  const disable = (id: number) =>
    read(`update webhook_endpoint set status = 'disabled', disabled_reason = 'user' where id = $1`, id);

  it('stay until each endpoint that is not disabled has passed them', async () => {
    await recordAll(given.world.database);
    const { id } = await given.endpoint();
    const events = await oldEvents(2);
    expect(await kept(events)).toEqual(events);
    await read('update webhook_endpoint set cursor_event_id = $2 where id = $1', id, events[0]);
    expect(await kept(events)).toEqual(events.slice(1));
    await disable(id);
    expect(await kept(events)).toEqual([]);
  });

  it('stay while a delivery of them is pending', async () => {
    await recordAll(given.world.database);
    const { id } = await given.endpoint();
    const [first = 0, second = 0] = await oldEvents(2);
    await read('update webhook_endpoint set cursor_event_id = $2 where id = $1', id, second);
    await read(
      `insert into webhook_delivery (workspace_id, endpoint_id, event_id, event_type, kind, status, next_attempt_at)
       values ($1, $2, $3, 'order.completed', 'event', 'pending', now() + interval '1 hour')`,
      ...[given.ada.workspaceId, id, first],
    );
    expect(await kept([first, second])).toEqual([first]);
    await disable(id);
    expect(await kept([first, second])).toEqual([]);
  });
});
