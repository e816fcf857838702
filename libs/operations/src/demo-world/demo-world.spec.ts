import { createHash } from 'node:crypto';
import type { RecipientId, WorkspaceId } from '@banking/domain';
import { openBooks, verifyBooks } from '@banking/ledger';
import { recordRailEvent } from '@banking/payouts';
import { APP_ROLE, Database, SCHEMA } from '@banking/postgres';
import { forgetRecipient } from '../forget-recipient.js';
import { makeDemoWorld } from './make-demo-world.js';
import { madeBefore, readDemoWorld } from './world.js';
import { emptyWorld, openProvisioning, type World } from '../testing/worlds.js';

let world: World;

beforeEach(async () => {
  world = await emptyWorld();
});
afterEach(() => world.close());

/** Everything anybody made, without ids and times: what is the same wherever the demo world is made. */
async function content(): Promise<unknown> {
  const { rows } = await world.owner.query<{ made: unknown }>(
    `select json_build_object(
       'people', (select json_agg(json_build_array(u.email, u.status, a.name) order by u.email, a.name)
                  from app_user u join app_membership m on m.user_id = u.id join app a on a.id = m.app_id),
       'roles', (select json_agg(json_build_array(u.email, w.name, r.role) order by u.email, w.name)
                 from workspace_role r join app_user u on u.id = r.user_id join workspace w on w.id = r.workspace_id),
       'accounts', (select json_agg(json_build_array(w.name, a.kind, a.currency_id, a.alias, a.balance, a.version) order by w.name, a.kind, a.currency_id, a.alias)
                    from account a join workspace w on w.id = a.workspace_id),
       'recipients', (select json_agg(json_build_array(r.name, r.kind, b.swift_code, n.data) order by r.name)
                      from recipient r left join bank b on b.id = r.bank_id left join beneficiary n on n.recipient_id = r.id),
       'transfers', (select json_agg(json_build_array(w.name, x.status, t.type, t.direction, t.amount, t.balance_after, t.description)
                            order by w.name, t.type, t.direction, t.amount, t.currency_id)
                     from transfer t join transaction x on x.id = t.transaction_id join workspace w on w.id = t.workspace_id),
       'events', (select json_agg(json_build_array(t.amount, e.provider_event, e.status, e.reason_code) order by t.amount, e.provider_event)
                  from remittance_event e join remittance m on m.id = e.remittance_id
                  join transfer t on t.transaction_id = m.transaction_id and t.fee_amount is not null),
       'orders', (select json_agg(json_build_array(o.amount, o.type, o.status, o.description, o.start_at, e.status, x.status)
                            order by o.amount, o.description)
                  from customer_order o join execution e on e.order_id = o.id left join transaction x on x.id = e.transaction_id),
       'quotes', (select json_agg(json_build_array(amount, rate, fee_amount, target_amount) order by id) from quote),
       'codes', (select count(*) from account_code)) as made`,
  );
  return rows[0]!.made;
}

/** Every row of every table as text, its table first. */
async function everyRow(): Promise<readonly string[]> {
  const { rows: tables } = await world.owner.query<{ name: string }>(
    `select c.relname as name from pg_class c
     where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace order by 1`,
  );
  const each = tables.map(({ name }) => `select '${name} ' || (t.*)::text as line from ${name} t`);
  const { rows } = await world.owner.query<{ line: string }>(each.join(' union all '));
  return rows.map(({ line }) => line);
}

/** What people do to a demo world: a payment on its way arrives, and the recipient of several is forgotten. */
async function useIt(): Promise<void> {
  const workspaceId = (await madeBefore(world.database, 'workspaces:Northwind Trading')) as WorkspaceId;
  const payment = (await madeBefore(world.database, 'transaction of transfers:pending'))!;
  const end = { providerEvent: 'the-end', status: 'ACCC', reasonCode: undefined, message: undefined };
  await recordRailEvent(world.books, workspaceId, payment, end);
  const recipientId = (await madeBefore(world.database, 'more recipients:Berlin')) as RecipientId;
  await forgetRecipient(world.database, { workspaceId, actor: undefined }, recipientId);
}

/** Leaves what the version left that knew no gateway and marked its world without saying what was in it. */
async function takeGatewayAway(): Promise<void> {
  await world.owner.query(`delete from app_user where email = 'gateway@northwind.example'`);
  await world.owner.query(`delete from demo_step where name like '%gateway@%' or name like 'world:%'`);
  await world.owner.query(`insert into demo_step (name, id) values ('world:whole', 1)`);
}

async function expectWholeAndProven(): Promise<void> {
  const demo = await readDemoWorld(world.database);
  const proof = await verifyBooks(world.database, Object.values(demo!.workspaces));
  expect(proof).toMatchObject({ workspaces: 3, findings: [] });
  expect(proof.transfers).toBeGreaterThan(20);
}

/** The same database, except that its writing steps from the n-th on fail, as a process that has been killed. */
function cutShort(database: Database, after: number): Database {
  let left = after;
  const step = () => {
    if (left-- <= 0) throw new Error('cut short');
  };
  const flight: Database['flight'] = async (scope, bound) => {
    const writes = bound.some(({ statement }) => /^\s*(insert|update|with)/i.test(statement.text));
    if (writes) step();
    return database.flight(scope, bound);
  };
  const transaction: Database['transaction'] = async (scope, work, options) =>
    database.transaction(
      scope,
      (tx) =>
        work({
          flight: (bound) => tx.flight(bound),
          commit: async (bound) => {
            step();
            return tx.commit(bound);
          },
        }),
      options,
    );
  return Object.assign(Object.create(database) as Database, { flight, transaction });
}

describe('Given a database without a demo world', () => {
  it('When it is read, Then there is none', async () => {
    expect(await readDemoWorld(world.database)).toBeUndefined();
  });

  it('When it is made, Then everything has its name, and the books are proven', async () => {
    await makeDemoWorld(world.books, () => openProvisioning(world));

    const demo = (await readDemoWorld(world.database))!;
    expect(Object.keys(demo.apps)).toEqual(['Northwind Treasury', 'Southwind']);
    expect(Object.keys(demo.users)).toHaveLength(5);
    expect(Object.keys(demo.workspaces)).toEqual(['Northwind Trading', 'Ada personal', 'Southwind Imports']);
    expect(Object.keys(demo.accounts)).toHaveLength(7);
    expect(Object.keys(demo.recipients)).toEqual(['internal', 'international']);
    expect(Object.keys(demo.transfers).sort()).toEqual([
      'funding',
      'internal',
      'international',
      'pending',
      'returned',
      'spot',
    ]);
    await expectWholeAndProven();
  });

  it('When it is made, Then its mark is that of its steps', async () => {
    await makeDemoWorld(world.books, () => openProvisioning(world));

    const { rows } = await world.owner.query<{ name: string }>('select name from demo_step order by name collate "C"');
    const names = rows.map(({ name }) => name);
    const [marks, steps] = [true, false].map((is) => names.filter((name) => name.startsWith('world:') === is));
    const digest = createHash('sha256').update(steps!.join('\n')).digest('hex').slice(0, 12);
    expect(marks).toEqual([`world:whole ${digest}`]);
  });

  it('When two processes make it at once, Then there is one', async () => {
    const other = await Database.open({ connection: world.connection, role: APP_ROLE, schema: SCHEMA, poolSize: 2 });

    await Promise.all([
      makeDemoWorld(world.books, () => openProvisioning(world)),
      makeDemoWorld(openBooks(other), () => openProvisioning(world)),
    ]);

    await other.end();
    await expectWholeAndProven();
    const made = await content();
    await world.close();
    world = await emptyWorld();
    await makeDemoWorld(world.books, () => openProvisioning(world));
    expect(made).toEqual(await content());
  });
});

describe('Given a demo world that has been made', () => {
  it('When it is made again, Then nothing changes', async () => {
    await makeDemoWorld(world.books, () => openProvisioning(world));
    const before = [await content(), await readDemoWorld(world.database)];

    await makeDemoWorld(world.books, () => openProvisioning(world));

    expect([await content(), await readDemoWorld(world.database)]).toEqual(before);
  });
});

describe('Given a demo world that an earlier version made', () => {
  it('When it has been used and is made again, Then it gains what it lacks, and nothing else changes', async () => {
    await makeDemoWorld(world.books, () => openProvisioning(world));
    await useIt();
    const whole = await content();
    await takeGatewayAway();
    const before = await everyRow();
    expect(await content()).not.toEqual(whole);

    expect(await makeDemoWorld(world.books, () => openProvisioning(world))).toBe(true);

    expect(await content()).toEqual(whole);
    const after = await everyRow();
    expect(before.filter((line) => !after.includes(line))).toEqual([]);
    const gained = after.filter((line) => !before.includes(line)).map((line) => line.split(' ')[0]);
    expect(Object.fromEntries(gained.map((table) => [table, gained.filter((one) => one === table).length]))).toEqual({
      app_user: 1,
      app_membership: 2,
      workspace_role: 3,
      directory_change: 6,
      demo_step: 6,
    });
    expect(await makeDemoWorld(world.books, () => openProvisioning(world))).toBe(false);
  });

  it('When it is only read, Then it is there as it was left', async () => {
    await makeDemoWorld(world.books, () => openProvisioning(world));
    const { users, ...others } = (await readDemoWorld(world.database))!;
    await takeGatewayAway();

    const { 'gateway@northwind.example': gateway, ...people } = users;
    expect(gateway).toBeGreaterThan(0);
    expect(await readDemoWorld(world.database)).toEqual({ ...others, users: people });
  });
});

describe('Given a start that is cut short after each of its steps', () => {
  it('When it is started again and again, Then it ends with the same world', async () => {
    await makeDemoWorld(world.books, () => openProvisioning(world));
    const whole = await content();
    await world.close();
    world = await emptyWorld();

    // What the network said is told again at every start and recorded once, so a start must be able to get past that.
    let starts = 0;
    for (let isDone = false; !isDone; starts++) {
      const books = openBooks(cutShort(world.database, 1 + (starts % 15)));
      isDone = await makeDemoWorld(books, () => openProvisioning(world)).then(
        () => true,
        (error: Error) => {
          if (error.message !== 'cut short') throw error;
          return false;
        },
      );
      if (starts > 100) throw new Error('no start gets on');
    }

    expect(starts).toBeGreaterThan(10);
    expect(await content()).toEqual(whole);
    await expectWholeAndProven();
  });
});
