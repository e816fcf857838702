import { FINAL_EVENT_TYPES, type RecipientId } from '@banking/domain';
import { RULE_VIOLATION, SQLSTATE } from '@banking/postgres';
import { OldEvents } from './record-changes.js';
import { orderWorld, type OrderWorld } from '../testing/order-world.js';
import { readEvents, recordAll } from '../testing/event-world.js';

let given: OrderWorld;
let { world, ada, service } = {} as typeof given;

beforeAll(async () => {
  given = await orderWorld();
  ({ world, ada, service } = given);
});
afterAll(() => world.close());

/** Makes all recorded events so old. */
async function age(days: number): Promise<void> {
  await recordAll(world.database);
  await world.owner.query('alter table event disable trigger append_only');
  await world.owner.query(`update event set created_at = created_at - make_interval(days => $1)`, [days]);
  await world.owner.query('alter table event enable trigger append_only');
}

async function deletePass(keptDays = 30): Promise<void> {
  const old = new OldEvents(world.database, keptDays);
  while ((await old.deleteBatch()) > 0);
}

const eventsOf = async (resource: string, id: number) =>
  (await readEvents(world.owner))
    .filter((event) => event.resource_type === resource && Number(event.resource_id) === id)
    .map(({ type, sequence }) => `${sequence} ${type}`);

async function keptSequence(resource: string, id: number): Promise<number | undefined> {
  const { rows } = await world.owner.query<{ sequence: number }>(
    'select sequence from event_sequence where workspace_id = $1 and resource_type = $2 and resource_id = $3',
    [ada.workspaceId, resource, id],
  );
  return rows[0]?.sequence;
}

async function addRecipient(): Promise<RecipientId> {
  return given.near(await given.account(1, '0'));
}

describe('old events', () => {
  it('are deleted over all workspaces, and the sequence of each resource that goes on continues', async () => {
    const recipientId = await addRecipient();
    await service.changeRecipient(ada, { recipientId, alias: 'Landlord' });
    const archived = await addRecipient();
    await service.deleteRecipient(ada, { recipientId: archived });
    const payer = await given.account(1, '10000');
    const paid = (await service.placeOrder(ada, given.order(payer, recipientId))).resource.id;
    await recordAll(world.database);
    const before = await readEvents(world.owner);
    const last = new Map(before.map((event) => [`${event.resource_type}/${event.resource_id}`, event]));
    await age(31);
    await deletePass();
    expect(await readEvents(world.owner)).toEqual([]);
    expect(await keptSequence('recipient', archived)).toBeUndefined();
    expect(await keptSequence('order', paid)).toBeUndefined();

    // The money of a transaction may come back later.
    const going = [...last.values()].filter(({ type }) => !FINAL_EVENT_TYPES.some((final) => final === type));
    expect(going.map(({ type }) => type)).toContain('transaction.completed');
    await world.owner.query('insert into change_outbox (changes) values ($1)', [
      JSON.stringify(
        going.flatMap(({ workspace_id: workspace, resource_type: resource, resource_id: id }) => {
          const start = [`${workspace}`, `${resource}.${resource === 'transaction' ? 'returned' : 'changed'}`];
          return [1, 2].map(() => [...start, `${id}`, {}]);
        }),
      ),
    ]);
    await recordAll(world.database);
    expect((await readEvents(world.owner)).map(({ sequence }) => sequence)).toEqual(
      going.flatMap(({ sequence }) => [sequence + 1, sequence + 2]),
    );

    await age(31);
    await deletePass();
    expect(await keptSequence('recipient', recipientId)).toBe(4);

    await service.deleteRecipient(ada, { recipientId });
    await recordAll(world.database);
    await age(31);
    await deletePass();
    expect(await keptSequence('recipient', recipientId)).toBeUndefined();
  });

  it('stay for the kept time', async () => {
    const recipientId = await addRecipient();
    await service.deleteRecipient(ada, { recipientId });
    await age(29);
    await deletePass();
    expect(await eventsOf('recipient', recipientId)).toHaveLength(2);

    await deletePass(28);
    expect(await eventsOf('recipient', recipientId)).toEqual([]);
  });

  it('are read in batches, and the next batch continues behind the last', async () => {
    await world.owner.query(
      `insert into event (workspace_id, type, resource_type, resource_id, sequence, changes, actor, created_at)
       select w.id, case when n % 2 = 0 then 'quote.created' else 'account.opened' end, case when n % 2 = 0 then 'quote' else 'account' end,
              800000 + n, 1, '{}', '{"type": "system"}', now() - interval '40 days'
       from workspace w, generate_series(1, 1500) n`,
    );
    const old = new OldEvents(world.database);
    const calls: number[] = [];
    do calls.push(await old.deleteBatch());
    while (calls.at(-1)! > 0);

    expect(await readEvents(world.owner)).toEqual([]);
    expect(calls.length).toBeGreaterThan(3);
  });
});

describe('old events of a workspace that is being moved to another cell', () => {
  const setState = (state: string) =>
    world.owner.query('update cell_workspace set state = $2 where workspace_id = $1', [ada.workspaceId, state]);

  it('stay, and those of others are deleted', async () => {
    await world.owner.query(`insert into cell_identity (number, name) values (0, 'home') on conflict do nothing`);
    await world.owner.query(
      'insert into cell_workspace (workspace_id) select id from workspace on conflict do nothing',
    );
    const recipientId = await addRecipient();
    await service.deleteRecipient(ada, { recipientId });
    const elsewhere = await given.near(await given.account(1, '0', given.eve), given.eve, given.eve);
    await service.deleteRecipient(given.eve, { recipientId: elsewhere });
    await age(31);
    await setState('moving');
    await deletePass();
    expect(await eventsOf('recipient', recipientId)).toHaveLength(2);
    expect(await eventsOf('recipient', elsewhere)).toEqual([]);

    await setState('open');
    await deletePass();
    expect(await eventsOf('recipient', recipientId)).toEqual([]);
  });
});

describe('an event', () => {
  const as = async (text: string) => {
    await world.owner.query('begin');
    try {
      await world.owner.query(`set local role banking_app; set local app.workspaces = '{${ada.workspaceId}}'`);
      return await world.owner.query(text);
    } finally {
      await world.owner.query('rollback');
    }
  };

  it.each([
    'insert into event default values',
    'update event set sequence = 9',
    'delete from event',
    'truncate event',
    'select changes from change_outbox',
    'delete from change_outbox',
    "insert into change_outbox (changes) values ('[]')",
  ])('cannot be written by the role of the service: %s', async (text) => {
    await expect(as(text)).rejects.toMatchObject({ code: SQLSTATE.insufficientPrivilege });
  });

  it('is read by its workspace only', async () => {
    await addRecipient();
    await given.account(1, '0', given.eve);
    await recordAll(world.database);
    const { rows } = await as('select distinct workspace_id as id from event');
    expect(rows).toEqual([{ id: BigInt(ada.workspaceId) }]);
  });

  it('is neither changed nor deleted on its first day, by any role', async () => {
    await addRecipient();
    await recordAll(world.database);
    for (const text of ['update event set sequence = 9', 'delete from event', 'truncate event']) {
      await expect(world.owner.query(text)).rejects.toMatchObject({ code: RULE_VIOLATION.recordChanged });
    }
    await expect(deletePass(0)).rejects.toMatchObject({ code: RULE_VIOLATION.recordChanged });
  });
});
