import { openDatabase } from '@banking/postgres/testing';
import { createHash } from 'node:crypto';
import type { RecipientId, WorkspaceId } from '@banking/domain';
import { openBooks, verifyBooks } from '@banking/ledger';
import { recordEvent } from '@banking/payouts';
import { APP_ROLE, type Database, SCHEMA } from '@banking/postgres';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { recordChanges } from '../events/record-changes.js';
import { makeDemoData } from './make-demo-data.js';
import { findStep, readDemoIds } from './demo-bank.js';
import { emptyDatabase, type TestDatabase } from '../testing/test-databases.js';

let world: TestDatabase;

beforeEach(async () => {
  world = await emptyDatabase();
});
afterEach(() => world.close());

/** The content without ids and times, which is the same in each database with demo data. */
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
       'events', (select json_agg(json_build_array(t.amount, e.status, e.reason_code) order by t.amount, e.id)
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

/** Each row of all tables as text, after the name of its table. */
async function everyRow(): Promise<readonly string[]> {
  const { rows: tables } = await world.owner.query<{ name: string }>(
    `select c.relname as name from pg_class c
     where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace order by 1`,
  );
  const each = tables.map(({ name }) => `select '${name} ' || (t.*)::text as line from ${name} t`);
  const { rows } = await world.owner.query<{ line: string }>(each.join(' union all '));
  return rows.map(({ line }) => line);
}

/** Completes the pending payment, and deletes a recipient who has payments. */
async function changeDemoData(): Promise<void> {
  const workspaceId = (await findStep(world.database, 'workspaces:Northwind Trading')) as WorkspaceId;
  const payment = (await findStep(world.database, 'transaction of transfers:pending'))!;
  const credited = { providerEvent: 'credited', status: 'ACCC', reasonCode: undefined, message: undefined };
  await recordEvent(world.books, workspaceId, payment, credited);
  const recipientId = (await findStep(world.database, 'more recipients:Berlin')) as RecipientId;
  await new LedgerBankingService(world.database).deleteRecipient({ workspaceId }, { recipientId });
}

/** Restores the demo data of an older version, which had no gateway user and no digest in its mark. */
async function removeGateway(): Promise<void> {
  await world.owner.query(`delete from app_user where email = 'gateway@northwind.example'`);
  await world.owner.query(`delete from demo_step where name like '%gateway@%' or name like 'world:%'`);
  await world.owner.query(`insert into demo_step (name, id) values ('world:whole', 1)`);
}

async function expectVerified(): Promise<void> {
  const demo = await readDemoIds(world.database);
  const proof = await verifyBooks(world.database, Object.values(demo!.workspaces));
  expect(proof).toMatchObject({ workspaces: 3, findings: [] });
  expect(proof.transfers).toBeGreaterThan(20);
}

/** The same database, but its n-th and later writes fail, as after the end of the process. */
function interrupted(database: Database, after: number): Database {
  let left = after;
  const step = () => {
    if (left-- <= 0) throw new Error('interrupted');
  };
  const pipeline: Database['pipeline'] = async (scope, bound) => {
    const writes = bound.some(({ statement }) => /^\s*(insert|update|with)/i.test(statement.text));
    if (writes) step();
    return database.pipeline(scope, bound);
  };
  const transaction: Database['transaction'] = async (scope, work, options) =>
    database.transaction(
      scope,
      (tx) =>
        work({
          pipeline: (bound) => tx.pipeline(bound),
          change: (bound) => tx.change(bound),
          commit: async (bound) => {
            step();
            return tx.commit(bound);
          },
        }),
      options,
    );
  return Object.assign(Object.create(database) as Database, { pipeline, transaction });
}

describe('the demo data', () => {
  it('are undefined in a database without them', async () => {
    expect(await readDemoIds(world.database)).toBeUndefined();
  });

  it('have their named resources, and their books have no findings', async () => {
    await makeDemoData(world);

    const demo = (await readDemoIds(world.database))!;
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
    await expectVerified();
  });

  it('are marked by a digest of their steps', async () => {
    await makeDemoData(world);

    const { rows } = await world.owner.query<{ name: string }>('select name from demo_step order by name collate "C"');
    const names = rows.map(({ name }) => name);
    const [marks, steps] = [true, false].map((is) => names.filter((name) => name.startsWith('world:') === is));
    const digest = createHash('sha256').update(steps!.join('\n')).digest('hex').slice(0, 12);
    expect(marks).toEqual([`world:whole ${digest}`]);
  });

  it('are made once by two processes at the same time', async () => {
    const other = await openDatabase({ connection: world.connection, role: APP_ROLE, schema: SCHEMA, poolSize: 2 });

    await Promise.all([makeDemoData(world), makeDemoData({ ...world, books: openBooks(other) })]);

    await other.end();
    await expectVerified();
    const made = await content();
    await world.close();
    world = await emptyDatabase();
    await makeDemoData(world);
    expect(made).toEqual(await content());
  });

  it('do not change if they are made again', async () => {
    await makeDemoData(world);
    const before = [await content(), await readDemoIds(world.database)];

    await makeDemoData(world);

    expect([await content(), await readDemoIds(world.database)]).toEqual(before);
  });
});

describe('the demo data of an older version', () => {
  it('get the missing steps, and nothing else changes', async () => {
    await makeDemoData(world);
    await changeDemoData();
    while ((await recordChanges(world.database)) > 0);
    const whole = await content();
    await removeGateway();
    const before = await everyRow();
    expect(await content()).not.toEqual(whole);

    expect(await makeDemoData(world)).toBe(true);

    expect(await content()).toEqual(whole);
    const after = await everyRow();
    expect(before.filter((line) => !after.includes(line))).toEqual([]);
    const gained = after.filter((line) => !before.includes(line)).map((line) => line.split(' ')[0]);
    expect(Object.fromEntries(gained.map((table) => [table, gained.filter((one) => one === table).length]))).toEqual({
      app_user: 1,
      app_membership: 2,
      workspace_role: 3,
      audit_outbox: 3,
      directory_change: 6,
      demo_step: 6,
    });
    expect(await makeDemoData(world)).toBe(false);
  });

  it('are read without the missing steps', async () => {
    await makeDemoData(world);
    const { users, ...others } = (await readDemoIds(world.database))!;
    await removeGateway();

    const { 'gateway@northwind.example': gateway, ...people } = users;
    expect(gateway).toBeGreaterThan(0);
    expect(await readDemoIds(world.database)).toEqual({ ...others, users: people });
  });
});

describe('a start that is interrupted after each of its steps', () => {
  it('ends with the same demo data', async () => {
    await makeDemoData(world);
    const whole = await content();
    await world.close();
    world = await emptyDatabase();

    let starts = 0;
    for (let isDone = false; !isDone; starts++) {
      const books = openBooks(interrupted(world.database, 1 + (starts % 15)));
      isDone = await makeDemoData({ ...world, books }).then(
        () => true,
        (error: Error) => {
          if (error.message !== 'interrupted') throw error;
          return false;
        },
      );
      if (starts > 100) throw new Error('no start makes progress');
    }

    expect(starts).toBeGreaterThan(10);
    expect(await content()).toEqual(whole);
    await expectVerified();
  });
});
