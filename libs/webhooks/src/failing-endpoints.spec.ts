import { until } from '@banking/postgres/testing';
import { deliveryWorld } from './testing/delivery-world.js';
import { startReceiver, status } from './testing/receiver.js';

let given: Awaited<ReturnType<typeof deliveryWorld>>;
let receiver: Awaited<ReturnType<typeof startReceiver>>;
/** Receivers besides that one. */
const others: (typeof receiver)[] = [];

beforeAll(async () => void (given = await deliveryWorld()));
afterAll(() => given.close());
beforeEach(async () => void (receiver = await startReceiver()));
afterEach(async () => {
  for (const one of [receiver, ...others.splice(0)]) await one.close();
  await given.read('update webhook_endpoint set sealed_secret = null, deleted_at = now() where deleted_at is null');
  expect(given.errors).toEqual([]);
});

/** Claims and sends until nothing is due. */
async function deliver(worker = given.worker()) {
  await worker.run();
  await worker.finished();
}

/** Polls as a worker does until it has recorded so many results. */
async function untilRecorded(worker: ReturnType<typeof given.worker>, endpointId: number, count: number) {
  await until(async () => {
    if ((await given.deliveries(endpointId)).length >= count) return true;
    await worker.run();
    return false;
  });
}

describe('an endpoint that fails', () => {
  it('is failing after ten failures, and its backlog waits behind the cursor', async () => {
    receiver.respondWith(status(503));
    const { id } = await given.endpoint(receiver.url);
    const events = await given.events(200);
    await deliver();

    const rows = await given.deliveries(id);
    expect(rows.length).toBeGreaterThanOrEqual(10);
    expect(rows.length).toBeLessThanOrEqual(42);
    const row = await given.endpointRow(id);
    expect(row).toMatchObject({ status: 'failing', consecutive_failures: rows.length });
    expect(Number(row.cursor_event_id)).toBeLessThan(events[50] ?? 0);
  });

  it('is not failing because of slow requests that began before a success', async () => {
    const held: (() => void)[] = [];
    receiver.respondWith((response) => {
      if (receiver.received.length <= 12) held.push(() => response.writeHead(500).end());
      else response.writeHead(200).end();
      if (receiver.received.length === 40) held.forEach((respond) => respond());
    });
    const { id } = await given.endpoint(receiver.url);
    await given.events(40);
    await deliver();
    expect((await given.deliveries(id)).filter((row) => row.status === 'pending')).toHaveLength(12);
    expect(await given.endpointRow(id)).toMatchObject({ status: 'enabled' });
  });

  it('is tried with one request at a time, after a pause that grows', async () => {
    receiver.respondWith(status(503));
    const { id } = await given.endpoint(receiver.url);
    await given.events(100);
    await deliver();
    await given.read(`update webhook_delivery set next_attempt_at = now() + interval '1 day' where status = 'pending'`);
    const [before, deliveries] = [await given.endpointRow(id), await given.deliveries(id)];
    const sent = receiver.received.length;
    await deliver();
    expect(receiver.received).toHaveLength(sent);
    const pauses: number[] = [];
    for (const seconds of [0, 60, 3_600]) {
      await given.read(
        `update webhook_endpoint set paused_until = null, failing_since = now() - $2 * interval '1 second' where id = $1`,
        ...[id, seconds],
      );
      await deliver();
      const [row] = await given.read<{ seconds: number }>(
        'select extract(epoch from paused_until - now())::float8 as seconds from webhook_endpoint where id = $1',
        id,
      );
      pauses.push(Math.round(row?.seconds ?? 0));
    }
    expect(receiver.received).toHaveLength(sent + 3);
    expect(pauses).toEqual([1, 60, 300]);
    expect(new Set(receiver.received.slice(sent).map((one) => one.id)).size).toBe(1);
    // The event of the probe stays behind the cursor and has no delivery yet.
    expect(await given.deliveries(id)).toEqual(deliveries);
    expect((await given.endpointRow(id)).cursor_event_id).toBe(before.cursor_event_id);
  });

  it('gets everything after its first success', async () => {
    receiver.respondWith(status(503));
    const { id } = await given.endpoint(receiver.url);
    const events = await given.events(100);
    await deliver();
    receiver.respondWith(status(200));
    await given.passTime();
    await deliver();
    await deliver();
    const rows = await given.deliveries(id);
    expect(rows.map((row) => row.status)).toEqual(events.map(() => 'delivered'));
    expect(await given.endpointRow(id)).toMatchObject({
      status: 'enabled',
      consecutive_failures: 0,
      failing_since: null,
    });
  });

  it('is disabled after five days', async () => {
    receiver.respondWith(status(503));
    const { id } = await given.endpoint(receiver.url);
    await given.events(100);
    await deliver();
    const age = (days: number) =>
      given.read(`update webhook_endpoint set failing_since = now() - $2 * interval '1 day' where id = $1`, id, days);
    await age(4.9);
    await given.passTime();
    await deliver();
    expect(await given.endpointRow(id)).toMatchObject({ status: 'failing' });
    await age(5.1);
    await given.passTime();
    await deliver();
    expect(await given.endpointRow(id)).toMatchObject({ status: 'disabled', disabled_reason: 'failing' });
    const sent = receiver.received.length;
    await given.passTime();
    await deliver();
    expect(receiver.received).toHaveLength(sent);
  });

  it('does not delay another one', async () => {
    const healthy = await startReceiver();
    others.push(healthy);
    receiver.respondWith(() => undefined);
    const { id } = await given.endpoint(receiver.url);
    await given.endpoint(healthy.url);
    await given.events(50);
    const worker = given.worker({ outbound: { timeoutMs: 60_000 } });
    await worker.run();
    await Promise.all([healthy.until(50), receiver.until(32)]);
    expect(receiver.received).toHaveLength(32);
    expect(await given.deliveries(id)).toEqual([]);
    receiver.respondWith(status(200));
    await receiver.close();
    await worker.finished();
  });
});

describe('an endpoint that closes the connection, beside healthy ones of its host', () => {
  const HEALTHY = 9;

  it.each([
    ['gets one request for an attempt if it has never answered', true, 1],
    ['gets one more for an attempt if it has answered, because the connection was idle', false, 2],
  ])('%s', async (_what, isNew, requests) => {
    let closed = 0;
    const held: (() => void)[] = [];
    receiver.respondWith((response) => {
      if (response.req.url?.endsWith('/closes')) {
        closed += 1;
        return void response.destroy();
      }
      held.push(() => response.writeHead(204).end());
      if (held.length === HEALTHY) held.forEach((respond) => respond());
    });
    for (let index = 0; index < HEALTHY; index += 1)
      await given.endpoint(`${receiver.url}/${index}`, { types: ['order.completed'] });
    const worker = given.worker();
    await given.events(1, { type: 'order.completed' });
    await deliver(worker);
    expect(receiver.connections()).toBe(HEALTHY);

    const { id } = await given.endpoint(`${receiver.url}/closes`, { isNew });
    await given.events(1);
    await deliver(worker);
    expect(await given.deliveries(id)).toMatchObject([{ attempts: 1, status: 'pending' }]);
    expect([closed, receiver.connections()]).toEqual([requests, HEALTHY + 1]);
  });
});

describe('an endpoint that has never answered', () => {
  it('gets one request a minute, also from several workers, for retries and after another address', async () => {
    receiver.respondWith(status(500));
    const { id } = await given.endpoint(receiver.url, { isNew: true });
    await given.events(100);
    const workers = [given.worker(), given.worker(), given.worker()];
    const minute = async () => {
      await Promise.all(workers.map((worker) => deliver(worker)));
      await given.read(`update webhook_delivery set next_attempt_at = now() where status = 'pending'`);
      await given.read(`update webhook_endpoint set lease_until = null, url = url || 'x' where id = $1`, id);
      await Promise.all(workers.map((worker) => deliver(worker)));
      return receiver.received.length;
    };
    expect(await minute()).toBe(1);
    await given.read(`update webhook_endpoint set claimed_at = now() - interval '59 seconds'`);
    expect(await minute()).toBe(1);
    await given.passTime();
    expect(await minute()).toBe(2);
    expect((await given.deliveries(id)).length).toBeGreaterThan(0);
  });

  it('gets the rest after its first answer, and then no more after another address until that one answers', async () => {
    const { id } = await given.endpoint(receiver.url, { isNew: true });
    await given.events(50);
    await deliver();
    await receiver.until(50);
    const elsewhere = await startReceiver();
    others.push(elsewhere);
    elsewhere.respondWith(status(404));
    await given.read('update webhook_endpoint set url = $2 where id = $1', id, elsewhere.url);
    await given.events(50);
    await given.passTime();
    await deliver();
    expect(elsewhere.received).toHaveLength(1);
  });
});

describe('an endpoint whose owner is no administrator any more', () => {
  beforeAll(() =>
    given.read(`with a as (insert into app (name) values ('Northwind') returning id)
      insert into workspace (id, app_id, name) select ${given.workspaceId}, id, 'Northwind' from a`),
  );
  const grant = (role: string | undefined, userStatus = 'completed') =>
    given.read(
      `with u as (insert into app_user (email, status) values ($1, $2) returning id),
       r as (insert into workspace_role (workspace_id, user_id, role) select 1, id, $3::text from u where $3::text is not null)
       select id from u`,
      ...[`${crypto.randomUUID()}@a.example`, userStatus, role],
    );

  it.each([
    ['admin', 'completed', 'enabled'],
    ['member', 'completed', 'disabled'],
    [undefined, 'completed', 'disabled'],
    ['admin', 'suspended', 'disabled'],
  ])('role %s, user %s: %s', async (role, userStatus, expected) => {
    const [user] = (await grant(role, userStatus)) as { id: bigint }[];
    const { id } = await given.endpoint(receiver.url, { owner: Number(user?.id) });
    const isEnabled = expected === 'enabled';
    await given.events(1);
    await deliver();
    expect(receiver.received).toHaveLength(isEnabled ? 1 : 0);
    expect(await given.endpointRow(id)).toMatchObject({
      status: expected,
      disabled_reason: isEnabled ? null : 'owner_without_role',
    });
    const noted = await given.read(
      `select from audit_outbox where entries -> 0 ->> 'operation' = 'disableWebhookEndpoint' and (entries -> 0 ->> 'resourceId')::bigint = $1`,
      id,
    );
    expect(noted).toHaveLength(isEnabled ? 0 : 1);
  });

  it('gets no more requests of a session that runs', async () => {
    const [user] = (await grant('admin')) as { id: bigint }[];
    const { id } = await given.endpoint(receiver.url, { owner: Number(user?.id) });
    await given.events(300);
    let revoking: Promise<unknown> | undefined;
    receiver.respondWith((response) => {
      revoking ??= given.read('delete from workspace_role where user_id = $1', user?.id);
      void revoking.then(() => response.writeHead(200).end());
    });
    await deliver();
    expect(receiver.received.length).toBeLessThan(300);
    expect(await given.endpointRow(id)).toMatchObject({ disabled_reason: 'owner_without_role' });
  });
});

describe('the lease of an endpoint', () => {
  it('is that of one worker', async () => {
    await given.endpoint(receiver.url);
    const events = await given.events(300);
    const workers = [given.worker(), given.worker(), given.worker()];
    await Promise.all(workers.map((worker) => deliver(worker)));
    expect(receiver.received).toHaveLength(events.length);
  });

  it('lets a worker that lost it record nothing', async () => {
    const { id } = await given.endpoint(receiver.url);
    const [event] = await given.events(1);
    const held: (() => void)[] = [];
    receiver.respondWith((response) => void held.push(() => response.writeHead(500).end()));
    const stalled = given.worker();
    await stalled.run();
    await receiver.until(1);
    await given.read('update webhook_endpoint set lease_until = null');
    receiver.respondWith(status(200));
    await deliver();
    const delivered = await given.deliveries(id);
    expect(delivered).toMatchObject([{ event_id: BigInt(event ?? 0), status: 'delivered' }]);
    const row = await given.endpointRow(id);
    held.forEach((respond) => respond());
    await stalled.finished();
    expect(await given.deliveries(id)).toEqual(delivered);
    expect(await given.endpointRow(id)).toEqual(row);
    expect(receiver.received.map(({ event: id }) => id)).toEqual([event, event]);
  });

  it('leaves events whose request has not ended to the next worker', async () => {
    const { id } = await given.endpoint(receiver.url);
    const events = await given.events(40);
    receiver.respondWith((response, { event }) => {
      if (event !== events[0]) response.writeHead(200).end();
    });
    const killed = given.worker();
    await killed.run();
    await receiver.until(40);
    // What was recorded behind the open request is not sent again. Its results are recorded by a poll at the latest.
    await untilRecorded(killed, id, 39);
    expect(Number((await given.endpointRow(id)).cursor_event_id)).toBeLessThan(events[0] ?? 0);
    await given.read('update webhook_endpoint set lease_until = null, lease_token = lease_token + 1');
    receiver.respondWith(status(200));
    await deliver();
    expect(receiver.received).toHaveLength(41);
    expect(receiver.received.at(-1)?.event).toBe(events[0]);
    expect((await given.deliveries(id)).map((row) => row.status)).toEqual(events.map(() => 'delivered'));
    await receiver.close();
    await killed.finished();
  });

  it('ends when the endpoint is changed', async () => {
    const other = await startReceiver();
    others.push(other);
    const { id } = await given.endpoint(receiver.url);
    await given.events(300);
    const held: (() => void)[] = [];
    let changing: Promise<unknown> | undefined;
    receiver.respondWith((response) => {
      if (changing) return void held.push(() => response.writeHead(200).end());
      changing = given.read('update webhook_endpoint set url = $2 where id = $1', id, other.url);
      void changing.then(() => response.writeHead(200).end());
    });
    const worker = given.worker();
    await worker.run();
    await receiver.until(32);
    await untilRecorded(worker, id, 1);
    receiver.respondWith(status(200));
    held.forEach((respond) => respond());
    await worker.finished();
    await given.passTime();
    await deliver();
    expect(receiver.received.length).toBeLessThan(300);
    expect(receiver.received.length + other.received.length).toBe(300);
  });
});
