import { API_ROLE, SQLSTATE } from '@banking/postgres';
import type { WebhookEndpoint } from '@banking/domain';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { recordAudit } from '../audit/record-audit.js';
import { actorsOf, outcomeOf, RECEIVER, stepsOf, webhookWorld } from '../testing/event-world.js';

let given: Awaited<ReturnType<typeof webhookWorld>>;
let { world, service, ada, eve } = {} as typeof given;

beforeAll(async () => {
  given = await webhookWorld();
  ({ world, service, ada, eve } = given);
});
afterAll(() => world.close());
afterEach(async () => {
  await world.owner.query(
    `update webhook_endpoint set deleted_at = now(), sealed_secret = null, previous_sealed_secret = null, previous_valid_until = null
     where deleted_at is null`,
  );
  await given.expectVerified();
});

const named = ({ id }: WebhookEndpoint) => ({ webhookEndpointId: id });

describe('a new webhook endpoint', () => {
  it('shows its secret once, and the database has it sealed for this endpoint', async () => {
    const created = await given.endpoint({ types: ['order.completed'], description: 'Ledger' });

    expect(created).toEqual({
      id: created.id,
      url: RECEIVER,
      types: ['order.completed'],
      description: 'Ledger',
      status: 'enabled',
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/) as string,
      createdAt: expect.stringMatching(/Z$/) as string,
    });
    const { secret, ...endpoint } = created;
    expect(await service.getWebhookEndpoint(ada, named(created))).toEqual(endpoint);
    expect((await service.listWebhookEndpoints(ada)).items).toEqual([endpoint]);
    const sealed = await given.stored<Buffer>(created.id, 'sealed_secret');
    expect(sealed.toString()).toBe(`${ada.workspaceId}/${created.id}/${secret!.slice('whsec_'.length)}`);
  });

  it('shows no secret in the replay of its request, because none is stored', async () => {
    const options = { idempotencyKey: 'endpoint-once' };
    const first = await service.createWebhookEndpoint(ada, { url: RECEIVER }, options);
    const again = await service.createWebhookEndpoint(ada, { url: RECEIVER }, options);
    const { secret, ...endpoint } = first.resource;

    expect([first.isReplay, secret?.length]).toEqual([false, 50]);
    expect(again).toEqual({ resource: endpoint, isReplay: true });
    const { rows } = await world.owner.query<{ answer: string }>(
      `select answer from idempotency where key = 'endpoint-once'`,
    );
    expect(rows.map(({ answer }) => answer).join()).not.toContain('whsec_');
    const other = service.createWebhookEndpoint(ada, { url: `${RECEIVER}/other` }, options);
    expect(await outcomeOf(other)).toBe('idempotency_key_reused');
  });

  it('is refused for an address that is not allowed, and without a key of the deployment', async () => {
    expect(await outcomeOf(given.endpoint({ url: 'http://receiver.example' }))).toBe('webhook_url_refused');
    const without = new LedgerBankingService(world.database, world.books);
    expect(await outcomeOf(without.createWebhookEndpoint(ada, { url: RECEIVER }))).toBe('webhooks_unavailable');
  });

  it('begins behind the last event that is recorded', async () => {
    const events = await given.eventsOf(() => given.account(1, '0'));
    const { id } = await given.endpoint();

    expect(await given.stored<bigint>(id, 'cursor_event_id')).toBe(events.at(-1)!.id);
  });

  it('is one of 20 at most, also of concurrent requests', async () => {
    const outcomes = await Promise.all(Array.from({ length: 23 }, () => outcomeOf(given.endpoint())));
    expect(outcomes.filter((outcome) => outcome !== 'done')).toEqual(Array(3).fill('webhook_endpoint_limit'));
    expect(await outcomeOf(service.createWebhookEndpoint(eve, { url: RECEIVER }))).toBe('done');

    const { items } = await service.listWebhookEndpoints(ada);
    await service.deleteWebhookEndpoint(ada, named(items[0]!));
    expect(await outcomeOf(given.endpoint())).toBe('done');
  });
});

describe('a webhook endpoint', () => {
  it('is changed, disabled and enabled, with an event of each change and its cursor unchanged', async () => {
    let endpoint = {} as WebhookEndpoint;
    const change = (fields: object) => service.changeWebhookEndpoint(ada, { ...named(endpoint), ...fields });
    const events = await given.eventsOf(async () => {
      endpoint = await given.endpoint({ types: ['order.placed'] });
      await change({ url: `${RECEIVER}/2`, types: [], description: 'Moved' });
      await change({ description: 'Moved' });
      expect(await change({ status: 'disabled' })).toMatchObject({ status: 'disabled', disabledReason: 'user' });
      await change({ description: 'Again', status: 'enabled' });
    });
    const ours = events.filter(({ resource_type: type }) => type === 'webhookEndpoint');

    expect(stepsOf(ours)).toEqual([
      'webhookEndpoint.created null>enabled',
      'webhookEndpoint.changed',
      'webhookEndpoint.disabled enabled>disabled',
      'webhookEndpoint.changed',
      'webhookEndpoint.enabled disabled>enabled',
    ]);
    expect(actorsOf(ours)).toEqual(given.byAda);
    expect(JSON.stringify(ours, (_, value: unknown) => (typeof value === 'bigint' ? 0 : value))).not.toContain(
      'hook/2',
    );
    expect(await service.getWebhookEndpoint(ada, named(endpoint))).toEqual({
      id: endpoint.id,
      url: `${RECEIVER}/2`,
      types: [],
      description: 'Again',
      status: 'enabled',
      createdAt: endpoint.createdAt,
    });
    const cursor = await given.stored<bigint>(endpoint.id, 'cursor_event_id');
    expect(ours.every(({ id }) => id > cursor)).toBe(true);
  });

  it('keeps the reason for which the worker disabled it, and loses its failures when it is enabled', async () => {
    const endpoint = await given.endpoint();
    await world.owner.query(
      `update webhook_endpoint set status = 'disabled', disabled_reason = 'failing', failing_since = now(), consecutive_failures = 9
       where id = $1`,
      [endpoint.id],
    );
    const change = (status: 'enabled' | 'disabled') =>
      service.changeWebhookEndpoint(ada, { ...named(endpoint), status, description: status });

    expect(await change('disabled')).toMatchObject({ disabledReason: 'failing', failingSince: expect.any(String) });
    const enabled = await change('enabled');
    expect([enabled.status, enabled.disabledReason, enabled.failingSince]).toEqual(['enabled', undefined, undefined]);
    expect(await given.stored<number>(endpoint.id, 'consecutive_failures')).toBe(0);
  });

  it('belongs to the administrator who enables it', async () => {
    const { id } = await given.endpoint();
    await world.owner.query(
      `update webhook_endpoint set created_by = 0, status = 'disabled', disabled_reason = 'owner_without_role' where id = $1`,
      [id],
    );
    await service.changeWebhookEndpoint(ada, { webhookEndpointId: id, description: 'Changed' });
    expect(await given.stored<bigint>(id, 'created_by')).toBe(0n);
    await service.changeWebhookEndpoint(ada, { webhookEndpointId: id, status: 'enabled' });
    expect(await given.stored<bigint>(id, 'created_by')).toBe(BigInt(ada.actor ?? 0));
  });

  it('has a new secret after a rotation, and the former one for 24 hours', async () => {
    const endpoint = await given.endpoint();
    const former = await given.stored<Buffer>(endpoint.id, 'sealed_secret');
    let rotated = {} as typeof endpoint;
    const events = await given.eventsOf(async () => {
      rotated = await service.rotateWebhookSecret(ada, named(endpoint));
    });

    expect(stepsOf(events).at(-1)).toBe('webhookEndpoint.changed');
    expect(rotated.secret).toMatch(/^whsec_/);
    expect(rotated.secret).not.toBe(endpoint.secret);
    expect((await given.stored<Buffer>(endpoint.id, 'sealed_secret')).toString()).toContain(rotated.secret!.slice(6));
    expect(await given.stored<Buffer>(endpoint.id, 'previous_sealed_secret')).toEqual(former);
    const left = `extract(epoch from previous_valid_until - now())::int`;
    expect(await given.stored<number>(endpoint.id, left)).toBeCloseTo(86_400, -2);
  });

  it('is deleted with its secrets, and its pending deliveries end', async () => {
    const endpoint = await given.endpoint();
    await service.rotateWebhookSecret(ada, named(endpoint));
    const { id } = await service.testWebhookEndpoint(ada, named(endpoint));
    const events = await given.eventsOf(() => service.deleteWebhookEndpoint(ada, named(endpoint)));

    expect(stepsOf(events)).toEqual(['webhookEndpoint.deleted']);
    const secrets = `num_nulls(sealed_secret, previous_sealed_secret, previous_valid_until)`;
    expect(await given.stored<number>(endpoint.id, secrets)).toBe(3);
    const { rows } = await world.owner.query('select status, next_attempt_at from webhook_delivery where id = $1', [
      id,
    ]);
    expect(rows).toEqual([{ status: 'failed', next_attempt_at: null }]);
    expect(await outcomeOf(service.deleteWebhookEndpoint(ada, named(endpoint)))).toBe('webhook_endpoint_not_found');
  });

  it('is not found in another workspace', async () => {
    const endpoint = await given.endpoint();
    const name = named(endpoint);
    const period = { createdFrom: '2020-01-01T00:00:00Z', createdTo: '2090-01-01T00:00:00Z' };
    const calls = [
      service.getWebhookEndpoint(eve, name),
      service.changeWebhookEndpoint(eve, { ...name, description: 'Mine' }),
      service.deleteWebhookEndpoint(eve, name),
      service.rotateWebhookSecret(eve, name),
      service.testWebhookEndpoint(eve, name),
      service.replayWebhookEvents(eve, { ...name, ...period }),
      service.listWebhookDeliveries(eve, name),
      service.retryWebhookDelivery(eve, { ...name, webhookDeliveryId: 1 as never }),
    ];

    expect(await Promise.all(calls.map(outcomeOf))).toEqual(calls.map(() => 'webhook_endpoint_not_found'));
    const { secret: _, ...unchanged } = endpoint;
    expect(await service.getWebhookEndpoint(ada, name)).toEqual(unchanged);
  });

  it('leaves an entry in the audit trail for each change, and none for a change without effect', async () => {
    const endpoint = await given.endpoint({ description: 'Audited' });
    await service.changeWebhookEndpoint(ada, { ...named(endpoint), description: 'Audited' });
    await service.changeWebhookEndpoint(ada, { ...named(endpoint), status: 'disabled' });
    await service.rotateWebhookSecret(ada, named(endpoint));
    await service.deleteWebhookEndpoint(ada, named(endpoint));
    while ((await recordAudit(world.database)) > 0);
    const { items } = await service.listAuditEvents(ada, { resourceType: 'webhookEndpoint', resourceId: endpoint.id });

    expect(items.map(({ operation, actor }) => [operation, actor.userID])).toEqual(
      ['deleteWebhookEndpoint', 'rotateWebhookSecret', 'changeWebhookEndpoint', 'createWebhookEndpoint'].map(
        (operation) => [operation, ada.actor],
      ),
    );
  });

  it('has secrets that the role of the service cannot read', async () => {
    await world.owner.query(`begin; set local role ${API_ROLE}`);
    const read = world.owner.query('select sealed_secret from webhook_endpoint');
    await expect(read).rejects.toMatchObject({ code: SQLSTATE.insufficientPrivilege });
    await world.owner.query('rollback');
  });
});
