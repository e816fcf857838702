import { SCHEMA } from '@banking/postgres';
import { administer, until } from '@banking/postgres/testing';
import { deliveryWorld } from './testing/delivery-world.js';
import { startReceiver, status } from './testing/receiver.js';

let given: Awaited<ReturnType<typeof deliveryWorld>>;
let at: Awaited<ReturnType<typeof startReceiver>>;

beforeAll(async () => {
  given = await deliveryWorld();
  at = await startReceiver();
});
afterAll(async () => {
  await given.close();
  await at.close();
});
beforeEach(() => given.read('delete from webhook_due'));

const isDue = async (id: number): Promise<boolean> =>
  (await given.read<{ id: bigint }>('select id from webhook_endpoints_due(1000)')).some((row) => row.id === BigInt(id));
const dueAt = async (id: number): Promise<string> =>
  (await given.read<{ at: string }>('select due_at::text as at from webhook_due where endpoint_id = $1', id))[0]?.at ??
  '';
const lease = (id: number) =>
  given.read(`update webhook_endpoint set lease_until = now() + interval '1 minute' where id = $1`, id);
/** Statements that no trigger sees. */
const asReplica = (text: string): string =>
  `set session_replication_role = replica; ${text}; set session_replication_role = origin`;
const END_OF_LEASE = 'update webhook_endpoint set lease_until = clock_timestamp() where id = $1';
const NEW_EVENT = `insert into event (workspace_id, type, resource_type, resource_id, sequence, changes, actor, created_at)
  values (1, 'order.placed', 'order', nextval('webhook_delivery_id_seq') + 1000000, 1, '{"status": {"before": null, "after": "active"}}', '{"type": "system"}', now())`;

describe('an endpoint', () => {
  it('is due after an event, and not after its delivery', async () => {
    const { id } = await given.endpoint(at.url);
    expect(await dueAt(id)).toBe('infinity');

    await given.events(1);
    expect(await isDue(id)).toBe(true);

    const worker = given.worker();
    await worker.run();
    await worker.finished();
    expect(await dueAt(id)).toBe('infinity');
  });

  it('is due at its next attempt', async () => {
    const { id } = await given.endpoint(at.url);
    at.respondWith(status(500));
    await given.events(1);
    const worker = given.worker();
    await worker.run();
    await worker.finished();
    at.respondWith(status(204));

    const [delivery] = await given.read<{ at: string }>(
      'select next_attempt_at::text as at from webhook_delivery where endpoint_id = $1',
      id,
    );
    expect(await dueAt(id)).toBe(delivery?.at);
  });

  it('is due at the end of its pause, whatever happens', async () => {
    const { id } = await given.endpoint(at.url);
    await given.read(
      `update webhook_endpoint set status = 'failing', failing_since = now(), paused_until = now() + interval '5 minutes' where id = $1`,
      id,
    );
    await given.events(1);

    const [endpoint] = await given.read<{ at: string }>(
      'select paused_until::text as at from webhook_endpoint where id = $1',
      id,
    );
    expect(await dueAt(id)).toBe(endpoint?.at);
    expect(await isDue(id)).toBe(false);
  });

  it.each(['disabled', 'deleted'])('is not due once it is %s, also during a lease', async (end) => {
    const { id } = await given.endpoint(at.url);
    await given.events(1);
    await lease(id);
    await given.read(
      end === 'disabled'
        ? `update webhook_endpoint set status = 'disabled', disabled_reason = 'user' where id = $1`
        : `update webhook_endpoint set deleted_at = now(), sealed_secret = null where id = $1`,
      id,
    );
    await given.events(1);
    expect(await dueAt(id)).toBe(end === 'disabled' ? 'infinity' : '');
  });

  it('is due at the latest when its lease ends', async () => {
    const { id } = await given.endpoint(at.url);
    await given.events(1);
    await lease(id);
    await given.events(1);
    expect(await isDue(id)).toBe(false);

    const [row] = await given.read<{ isInTime: boolean }>(
      `select d.due_at <= e.lease_until as "isInTime" from webhook_due d join webhook_endpoint e on e.id = d.endpoint_id where e.id = $1`,
      id,
    );
    expect(row).toEqual({ isInTime: true });
  });
});

describe('an event that is committed while a session ends', () => {
  it.each([
    ['before the end', NEW_EVENT, END_OF_LEASE],
    ['after the end', END_OF_LEASE, NEW_EVENT],
  ])('makes its endpoint due: %s', async (_, first, second) => {
    const { id } = await given.endpoint(at.url);
    await lease(id);
    await given.read(`update webhook_due set due_at = 'infinity'`);
    const valuesOf = (sql: string) => (sql === END_OF_LEASE ? [id] : []);
    await given.read('begin');
    await given.read(first, ...valuesOf(first));
    const other = administer(given.world.connection, async (client) => {
      await client.query(`set search_path = ${SCHEMA}`);
      await client.query(second, valuesOf(second));
    });
    await until(async () => {
      // A database transaction sees the sessions as they were at its first look.
      await given.read('select pg_stat_clear_snapshot()');
      const [row] = await given.read<{ isBlocked: boolean }>(
        'select exists (select from pg_stat_activity where pg_backend_pid() = any(pg_blocking_pids(pid))) as "isBlocked"',
      );
      return row?.isBlocked === true;
    });
    await given.read('commit');
    await other;

    expect(await isDue(id)).toBe(true);
  });
});

describe('a look at all endpoints', () => {
  it('finds one that is not due and should be', async () => {
    const { id } = await given.endpoint(at.url);
    await given.events(1);
    await given.read(`update webhook_due set due_at = 'infinity'`);
    expect(await isDue(id)).toBe(false);

    await given.read('select wake_webhook_endpoints()');

    expect(await isDue(id)).toBe(true);
  });
});

describe('a look at all endpoints that fails', () => {
  it('is reported, and events are delivered', async () => {
    const { id } = await given.endpoint(at.url);
    const [{ text } = { text: '' }] = await given.read<{ text: string }>(
      `select pg_get_functiondef('wake_webhook_endpoints'::regproc) as text`,
    );
    await given.read(
      `create or replace function wake_webhook_endpoints() returns void language plpgsql as $$ begin raise 'planted'; end $$`,
    );
    await given.events(1);
    const worker = given.worker();
    await worker.run();
    await worker.finished();
    await worker.stop();
    await given.read(text);

    expect(await dueAt(id)).toBe('infinity');
    expect(given.errors.splice(0).map(String).join()).toContain('planted');
  });
});

describe('an endpoint of a workspace that another database serves', () => {
  it('is not made due', async () => {
    const { id } = await given.endpoint(at.url);
    await given.events(1);
    await given.read('delete from webhook_due');
    await given.read(
      asReplica(
        `insert into cell_identity (number, name) values (1, 'b'); insert into cell_workspace (workspace_id, state) values (1, 'moving')`,
      ),
    );
    await given.read('select wake_webhook_endpoints()');
    expect(await dueAt(id)).toBe('');

    await given.read(asReplica(`update cell_workspace set state = 'open'`));
    await given.read('select wake_webhook_endpoints()');
    expect(await isDue(id)).toBe(true);
    await given.read(asReplica('delete from cell_identity; delete from cell_workspace'));
  });
});

describe('endpoints with nothing to do', () => {
  it('are not read', async () => {
    await given.read(
      asReplica(
        `with waiting as (
           insert into webhook_endpoint (workspace_id, url, sealed_secret, answered_url, cursor_event_id)
           select 2 + n % 5000, 'https://example.com/' || n, '\\x00', 'https://example.com/' || n, 0
           from generate_series(1, 20000) n returning workspace_id, id)
         insert into webhook_due (workspace_id, endpoint_id, due_at) select workspace_id, id, 'infinity' from waiting`,
      ),
    );
    await given.read('vacuum analyze webhook_due');
    const { id } = await given.endpoint(at.url);
    await given.events(1);

    const [plan] = await given.read<{ 'QUERY PLAN': [{ Plan: Record<string, number> }] }>(
      'explain (analyze, buffers, format json) select id from webhook_endpoints_due(256)',
    );

    expect(await isDue(id)).toBe(true);
    expect(plan?.['QUERY PLAN'][0].Plan['Shared Hit Blocks']).toBeLessThan(300);
  });
});
