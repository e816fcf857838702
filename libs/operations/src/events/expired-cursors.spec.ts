import type { EventPage, EventQuery } from '@banking/domain';
import { RULE_VIOLATION } from '@banking/postgres';
import { keepRows, testOrProve } from '@banking/postgres/testing';
import { type Member, orderWorld, type OrderWorld } from '../testing/order-world.js';
import { recordAll } from '../testing/event-world.js';
import { OldEvents } from './record-changes.js';

const seed = Date.now() & 0x7fffffff;
const STEPS = testOrProve(300, 1_000);
const READERS = 4;
let orders: OrderWorld;
let restore: () => Promise<void>;
let { ada, eve } = {} as { ada: Member; eve: Member };

beforeAll(async () => {
  orders = await orderWorld();
  ({ ada, eve } = orders);
  await recordAll(orders.world.database);
  await age();
  await deleteOld();
  restore = await keepRows(orders.world.owner);
});
afterEach(() => restore());
afterAll(() => orders.world.close());

const list = (query: EventQuery = {}, scope = ada): Promise<EventPage> => orders.service.listEvents(scope, query);
const idsOf = ({ items }: EventPage): number[] => items.map(({ id }) => id);
const EXPIRED = { reason: 'cursor_expired', status: 410 };

/** Makes events up to an id too old to be kept. */
async function age(last = Number.MAX_SAFE_INTEGER): Promise<void> {
  const { owner } = orders.world;
  await owner.query('alter table event disable trigger append_only');
  await owner.query(`update event set created_at = now() - interval '31 days' where id <= $1`, [last]);
  await owner.query('alter table event enable trigger append_only');
}

async function deleteOld(): Promise<void> {
  const old = new OldEvents(orders.world.database);
  while ((await old.deleteBatch()) > 0);
}

/** Records an event. */
async function record(resource: 'quote' | number, { workspaceId } = ada): Promise<number> {
  const { rows } = await orders.world.owner.query<{ id: bigint }>(
    `insert into event (id, workspace_id, type, resource_type, resource_id, sequence, changes, actor, created_at)
     select n.id, $1, case when r.isquote then 'quote.created' else 'account.changed' end, case when r.isquote then 'quote' else 'account' end,
            r.id, coalesce((select max(e.sequence) from event e
                            where e.workspace_id = $1 and e.resource_type = 'account' and e.resource_id = r.id), 0) + 1,
            '{}', '{"type": "system"}', now()
     from (select nextval('event_id_seq') as id) n
     cross join lateral (select 1000000000 + coalesce($2::bigint, n.id) as id, $2::bigint is null as isquote) r
     returning id`,
    [workspaceId, resource === 'quote' ? null : resource],
  );
  return Number(rows[0]!.id);
}

/** The ids of all events from a cursor to the end, and the last cursor. */
async function walk(query: EventQuery): Promise<{ readonly ids: readonly number[]; readonly end: string }> {
  const ids: number[] = [];
  for (let cursor = query.cursor; ;) {
    const page = await list({ ...query, cursor });
    ids.push(...idsOf(page));
    if (page.items.length === 0 && page.next === cursor) return { ids, end: page.next };
    cursor = page.next;
  }
}

const leftIds = async (): Promise<number[]> =>
  (
    await orders.world.owner.query<{ id: bigint }>('select id from event where workspace_id = $1 order by id', [
      ada.workspaceId,
    ])
  ).rows.map(({ id }) => Number(id));

const markOf = async ({ workspaceId }: Member): Promise<number> =>
  Number(
    (
      await orders.world.owner.query<{ id: bigint }>(
        'select last_id as id from event_deletion where workspace_id = $1',
        [workspaceId],
      )
    ).rows[0]?.id ?? 0,
  );

describe('a cursor', () => {
  it('is refused if events behind it were deleted, also when the call would wait', async () => {
    const { next: cursor } = await list({ limit: 500 });
    await record('quote');
    const { next: filtered } = await list({ type: ['account.changed'], limit: 500 });
    await record('quote');
    await age();
    await deleteOld();

    await expect(list({ cursor })).rejects.toMatchObject(EXPIRED);
    await expect(list({ cursor, wait: 20 })).rejects.toMatchObject(EXPIRED);
    await expect(list({ cursor: filtered, type: ['account.changed'] })).rejects.toMatchObject(EXPIRED);
    expect(await walk({})).toMatchObject({ ids: await leftIds() });
  });

  it('goes on at the end of the deleted events, and behind it', async () => {
    await walk({});
    const last = await record('quote');
    const { end: cursor } = await walk({});
    await age();
    await deleteOld();
    expect(await leftIds()).not.toContain(last);

    await expect(list({ cursor })).resolves.toEqual({ items: [], next: cursor });
    const later = await record('quote');
    expect(await walk({ cursor })).toMatchObject({ ids: [later] });
  });

  it('of a reader who began behind the deletion reads all that is left, one by one', async () => {
    for (const resource of [1, 'quote', 2, 3] as const) await record(resource);
    const left = await leftIds();

    for (const limit of [1, 2, 500]) expect(await walk({ limit })).toMatchObject({ ids: left });
    const ofAccounts = { resourceType: 'account', limit: 1 } as const;
    expect((await walk(ofAccounts)).ids.length).toBeGreaterThan(1);
    const createdFrom = '2026-01-01T00:00:00Z';
    expect(await walk({ createdFrom, limit: 1 })).toMatchObject({ ids: left });
  });

  it('of a reader who began behind the deletion is refused after the next deletion', async () => {
    const { next: cursor } = await list({ limit: 1 });
    await record('quote');
    await age();
    await deleteOld();

    await expect(list({ cursor })).rejects.toMatchObject(EXPIRED);
  });

  it('of a workspace without events is the beginning of the next ones', async () => {
    await orders.world.owner.query(`delete from event where workspace_id = $1`, [ada.workspaceId]);
    const { items, next: cursor } = await list();
    expect(items).toEqual([]);
    const first = await record('quote');

    expect(idsOf(await list({ cursor, wait: 20 }))).toEqual([first]);
  });

  it('is not refused because of events of another workspace', async () => {
    const { next: cursor } = await list({ limit: 500 });
    await record('quote', eve);
    await age();
    await deleteOld();

    await expect(list({ cursor })).resolves.toMatchObject({ items: [] });
  });
});

/** Numbers below a limit, the same for each run with the seed. */
function numbers(from: number): (limit: number) => number {
  let state = from;
  return (limit) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (state >>> 8) % limit;
  };
}

/** A reader who reads all events, and what it must have seen. */
interface Reader {
  /** What it has not seen since it began. */
  readonly due: Set<number>;
  /** The last deleted event when it began. Of those before, it lists what is left at the time. */
  mark: number;
  cursor: string | undefined;
}

it(`a reader sees each event since it began, or is told that some were deleted (seed ${seed})`, async () => {
  const number = numbers(seed);
  const start = async (): Promise<Reader> => ({ due: new Set(await leftIds()), mark: 0, cursor: undefined });
  const readers = await Promise.all(Array.from({ length: READERS }, start));
  const recorded: number[] = await leftIds();
  let refusals = 0;
  for (let step = 0; step < STEPS; step += 1) {
    const choice = number(12);
    if (choice < 5) {
      const id = await record(number(3) === 0 ? 'quote' : number(4));
      recorded.push(id);
      for (const { due } of readers) due.add(id);
    } else if (choice === 5) {
      await age(recorded[number(recorded.length)]);
      await deleteOld();
    } else {
      const at = number(READERS);
      const reader = readers[at]!;
      const left = new Set(await leftIds());
      const page = await list({ cursor: reader.cursor, limit: 1 + number(4) }).catch((error: unknown) => error);
      if (page instanceof Error) {
        expect(page).toMatchObject(EXPIRED);
        expect([...reader.due].filter((id) => !left.has(id)).length).toBeGreaterThan(0);
        readers[at] = await start();
        refusals += 1;
        continue;
      }
      const { items, next } = page as EventPage;
      // A reader has begun with its first page.
      if (reader.cursor === undefined) reader.mark = await markOf(ada);
      for (const id of reader.due) if (id <= reader.mark && !left.has(id)) reader.due.delete(id);
      for (const { id } of items) {
        expect(reader.due.delete(id)).toBe(true);
      }
      if (items.length === 0 && next === reader.cursor) expect([...reader.due]).toEqual([]);
      reader.cursor = next;
    }
  }
  expect(refusals).toBeGreaterThan(0);
});

it('the mark of deleted events only rises, and the service cannot write it', async () => {
  const { owner } = orders.world;
  for (const text of [
    'update event_deletion set last_id = last_id - 1',
    'delete from event_deletion',
    'truncate event_deletion',
  ])
    await expect(owner.query(text)).rejects.toMatchObject({ code: RULE_VIOLATION.recordChanged });
});
