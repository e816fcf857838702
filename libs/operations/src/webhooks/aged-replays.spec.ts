import type { WebhookEndpoint } from '@banking/domain';
import { API_ROLE, SCHEMA } from '@banking/postgres';
import { openDatabase, sql, until } from '@banking/postgres/testing';
import { positionAt } from '../events/events.js';
import { Explaining, sentBy } from '../testing/aged-workspaces.js';
import { outcomeOf, webhookWorld } from '../testing/event-world.js';
import { replayWebhookEvents } from './webhook-deliveries.js';

const EVENTS = 120_000;
/** Far behind the events of the world. */
const BEGIN = Date.parse('2031-01-01T00:00:00Z');

let given: Awaited<ReturnType<typeof webhookWorld>>;
let endpoint: WebhookEndpoint;

/** An event a second. */
beforeAll(async () => {
  given = await webhookWorld();
  const { world, ada } = given;
  await world.owner.query(
    `insert into event (workspace_id, type, resource_type, resource_id, sequence, changes, actor, created_at, recorded_at)
     select $1, 'quote.created', 'quote', 1e9::bigint + n, 1, '{}', '{"type": "system"}', t.at, t.at
     from generate_series(0, ${EVENTS - 1}) n cross join lateral (select timestamptz '2031-01-01T00:00:00Z' + n * interval '1 s' as at) t`,
    [ada.workspaceId],
  );
  endpoint = await given.endpoint({ types: ['quote.created'] });
});
afterAll(() => given.world.close());

const period = (fromS: number, toS: number) => ({
  webhookEndpointId: endpoint.id,
  createdFrom: new Date(BEGIN + fromS * 1_000).toISOString(),
  createdTo: new Date(BEGIN + toS * 1_000).toISOString(),
});

const replay = (fromS: number, toS: number) => given.service.replayWebhookEvents(given.ada, period(fromS, toS));

/** One replay runs at a time. */
const finishAll = () =>
  given.world.owner.query(
    `update webhook_delivery set status = 'delivered', next_attempt_at = null, attempts = 1, last_attempt_at = now(), last_duration_ms = 1,
       last_response_status = 200`,
  );

describe(`a replay of a workspace with ${EVENTS} events`, () => {
  it.each([
    ['at the beginning', 0, 10],
    ['in the middle', 60_000, 60_030],
    ['at the end', EVENTS - 5, EVENTS],
  ])('delivers those of its period: %s', async (_, from, to) => {
    expect(await replay(from, to)).toEqual({ deliveries: to - from });
    await finishAll();
  });

  it('is refused beyond 10,000 events', async () => {
    expect(await outcomeOf(replay(0, 10_001))).toBe('webhook_replay_limit');
    expect(await outcomeOf(replay(0, EVENTS))).toBe('webhook_replay_limit');
  });

  it.each([
    ['at the beginning', 10],
    ['in the middle', 60_000],
    ['at the end', EVENTS - 5],
  ])('finds its first event by its id, and reads few others: %s', async (_, fromS) => {
    const { world, ada } = given;
    const { createdFrom } = period(fromS, EVENTS);
    const [search] = await sentBy(world.database, () => positionAt(world.database, ada.workspaceId, createdFrom));

    const explaining = await Explaining.open(world);
    const { rows, buffers } = await explaining.explain(ada.workspaceId, sql('select'), search!);
    await explaining.close();
    expect(rows).toBeLessThan(500);
    expect(buffers).toBeLessThan(500);
  });

  it('reads no more events than a period may have, with some', async () => {
    const { owner, database, connection } = given.world;
    const read = async () => {
      const { rows } = await owner.query<{ rows: bigint }>(
        `select pg_stat_clear_snapshot(), idx_tup_fetch + seq_tup_read as rows from pg_stat_user_tables where relname = 'event'`,
      );
      return rows[0]!.rows;
    };
    // A session reports its counts at its end at the latest.
    const sessions = async () =>
      (
        await owner.query<{ count: number }>(
          `select count(*)::int from pg_stat_activity
           where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`,
        )
      ).rows[0]!.count;
    await Promise.all([database.end(), given.world.provisioning.end()]);
    await until(sessions, (count) => count === 0);
    await owner.query('select pg_stat_force_next_flush()');
    const before = await read();

    const measured = await openDatabase({ connection, role: API_ROLE, schema: SCHEMA });
    await replayWebhookEvents(measured, given.ada, period(100, 101));
    await measured.end();
    await until(sessions, (count) => count === 0);

    expect((await read()) - before).toBeLessThan(1_000n);
  });
});
