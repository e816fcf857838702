import { OldEvents } from '../events/record-changes.js';
import { recordAll, webhookWorld } from '../testing/event-world.js';

let given: Awaited<ReturnType<typeof webhookWorld>>;

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

describe('old events', () => {
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
