import type { AccountId, TransferAmount } from '@banking/domain';
import { openBooks } from '@banking/ledger';
import { APP_ROLE, type Database, SCHEMA } from '@banking/postgres';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { DEMO_RATES } from '@banking/rates';
import { reasonOf, until, openDatabase } from '@banking/postgres/testing';
import { orderWorld, type OrderWorld } from '../testing/order-world.js';
import { OrderService } from './order-service.js';
import { placeOrder } from './place-order.js';

let given: OrderWorld;
let { world, service, ada, account, near, key, balanceOf, order: orderOf } = {} as typeof given;

beforeAll(async () => {
  given = await orderWorld();
  ({ world, service, ada, account, near, key, balanceOf, order: orderOf } = given);
});
afterAll(() => world.close());
afterEach(() => given.expectInOrder());

const range = (length: number) => Array.from({ length }, (_, index) => index);

describe('two processes', () => {
  let other: LedgerBankingService;
  let theirs: Database;

  beforeAll(async () => {
    theirs = await openDatabase({ connection: world.connection, role: APP_ROLE, schema: SCHEMA });
    other = new LedgerBankingService(theirs, openBooks(theirs), { rates: DEMO_RATES, hasPayoutNetwork: true });
  });
  afterAll(() => theirs.end());
  const at = (index: number) => (index % 2 ? service : other);

  it('carry out as many orders as one account can pay, without a failure', async () => {
    const [from, to] = [await account(1, '2000'), await account(1, '0')];
    const recipient = await near(to);

    const words = await Promise.all(
      range(60).map((index) => reasonOf(at(index).placeOrder(ada, orderOf(from, recipient), key()))),
    );

    expect(words.filter((word) => word === undefined)).toHaveLength(20);
    expect(words.filter((word) => word === 'insufficient_funds')).toHaveLength(40);
    expect(await balanceOf(to)).toBe(2_000);
  });

  it('serve a third account while two others are busy in both', async () => {
    const busy = await Promise.all(range(2).map(() => account(1, '1000000')));
    const [third, to] = [await account(1, '1000'), await account(1, '0')];
    const recipient = await near(to);
    const pay = (from: AccountId, index: number) =>
      at(index).placeOrder(ada, { ...orderOf(from, recipient), amount: '1' as TransferAmount }, key());
    let isOver = false;
    const streams = range(32).map(async (index) => {
      while (!isOver) await pay(busy[(index >> 1) % 2]!, index);
    });

    for (let round = 0; round < 5; round += 1) await Promise.all(range(4).map((index) => pay(third, index)));
    isOver = true;
    await Promise.all(streams);

    expect(await balanceOf(third)).toBe(980);
  });

  it('place one order for one key, and return it to all', async () => {
    const [from, to] = [await account(1, '1000'), await account(1, '0')];
    const recipient = await near(to);

    for (let round = 0; round < 10; round += 1) {
      const options = key();
      const answers = await Promise.all(
        range(6).map((index) => at(index).placeOrder(ada, orderOf(from, recipient), options)),
      );
      expect(new Set(answers.map(({ resource }) => resource.id)).size).toBe(1);
    }
    expect(await balanceOf(to)).toBe(1_000);
  });

  it('place one order for one external reference', async () => {
    const [one, two, to] = [await account(1, '1000'), await account(1, '1000'), await account(1, '0')];
    const recipient = await near(to);

    for (let round = 0; round < 5; round += 1) {
      const named = { externalReference: `reference-${round}` };
      const words = await Promise.all(
        [one, two, one, two].map((from, index) =>
          reasonOf(at(index).placeOrder(ada, orderOf(from, recipient, named), key())),
        ),
      );
      expect(words.sort()).toEqual([...range(3).map(() => 'external_reference_reused'), undefined]);
    }
  });

  it('finish payments in a ring', async () => {
    const ring = await Promise.all(range(5).map(() => account(1, '1000')));
    const recipients = await Promise.all(ring.map((of) => near(of)));

    const words = await Promise.all(
      range(60).map((index) =>
        reasonOf(at(index).placeOrder(ada, orderOf(ring[index % 5]!, recipients[(index * 3 + 1) % 5]!), key())),
      ),
    );

    expect(words.filter((word) => word !== undefined && word !== 'recipient_invalid')).toEqual([]);
    const held = await Promise.all(ring.map((of) => balanceOf(of)));
    expect((held as number[]).reduce((sum, one) => sum + one, 0)).toBe(5_000);
  });

  /** Waits until this number of sessions waits for a lock. */
  async function waiting(count: number): Promise<void> {
    const read = async () => {
      const { rows } = await world.owner.query<{ count: bigint }>(
        `select pg_stat_clear_snapshot(), count(*) as count from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return Number(rows[0]?.count);
    };
    await until(read, (found) => found >= count);
  }
  const deadlocks = async () => {
    const { rows } = await world.owner.query<{ deadlocks: bigint }>(
      'select pg_stat_clear_snapshot(), deadlocks from pg_stat_database where datname = current_database()',
    );
    return rows[0]?.deadlocks;
  };

  it('place one order for each reference of batches in opposite order, without a deadlock', async () => {
    const services = [
      new OrderService(world.books, DEMO_RATES, { hasPayoutNetwork: true }),
      new OrderService(openBooks(theirs), DEMO_RATES),
    ];
    const payers = [await account(1, '1000'), await account(1, '1000')];
    const recipient = await near(await account(1, '0'));
    const references = Array.from({ length: 9 }, (_, index) => `RACE-${index}`);
    const before = await deadlocks();
    // Another session has locked the middle account, so that both batches stop half-way.
    await world.owner.query('begin');
    await world.owner.query(`select set_config('app.workspaces', '{${ada.workspaceId}}', true)`);
    await world.owner.query(
      `insert into customer_order (workspace_id, account_id, recipient_id, amount, type, status, external_reference)
       values ($1, $2, $3, 1, 'instant', 'completed', 'RACE-4')`,
      [ada.workspaceId, payers[0], recipient],
    );

    const placing = Promise.all(
      [references, [...references].reverse()].flatMap((list, at) =>
        list.map((externalReference) =>
          reasonOf(
            placeOrder(
              services[at]!,
              ada,
              orderOf(payers[at]!, recipient, { externalReference, amount: '1' as TransferAmount }),
              {},
            ),
          ),
        ),
      ),
    );
    await waiting(2);
    await world.owner.query('rollback');
    const words = await placing;

    expect(words.filter((word) => word === undefined)).toHaveLength(9);
    expect(words.filter((word) => word === 'external_reference_reused')).toHaveLength(9);
    expect(await deadlocks()).toBe(before);
  });
});
