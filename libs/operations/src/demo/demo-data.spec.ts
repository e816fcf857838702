import { openDatabase } from '@banking/postgres/testing';
import { openBooks, verifyBooks } from '@banking/ledger';
import { OPERATOR_ROLE, type Database, SCHEMA } from '@banking/postgres';
import { makeDemoData } from './make-demo-data.js';
import { readDemoIds } from './demo-bank.js';
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
                     from leg t join transaction x on x.id = t.transaction_id join workspace w on w.id = t.workspace_id),
       'events', (select json_agg(json_build_array(t.amount, e.status, e.reason_code) order by t.amount, e.id)
                  from remittance_event e
                  join transfer t on t.transaction_id = e.transaction_id and t.fee_amount is not null),
       'orders', (select json_agg(json_build_array(o.amount, o.type, o.status, o.description, o.start_at, e.status, x.status)
                            order by o.amount, o.description)
                  from customer_order o join execution e on e.order_id = o.id left join transaction x on x.id = e.transaction_id),
       'quotes', (select json_agg(json_build_array(amount, rate, fee_amount, target_amount) order by id) from quote),
       'codes', (select count(*) from account_code)) as made`,
  );
  return rows[0]!.made;
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
    expect(Object.keys(demo.users)).toHaveLength(6);
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

  it('are made once by two processes at the same time', async () => {
    const other = await openDatabase({
      connection: world.connection,
      role: OPERATOR_ROLE,
      schema: SCHEMA,
      poolSize: 2,
    });

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
