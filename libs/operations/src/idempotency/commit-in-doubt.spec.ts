import {
  type AccountId,
  type Order,
  type PlaceOrderInput,
  type RecipientId,
  Refusal,
  type RequestOptions,
  type TransferAmount,
} from '@banking/domain';
import { openBooks, verifyBooks } from '@banking/ledger';
import {
  API_ROLE,
  bind,
  CommitInDoubtError,
  type Database,
  type RetryPolicy,
  SCHEMA,
  SQLSTATE,
  sqlStatement,
} from '@banking/postgres';
import { openDatabase, until, Wire } from '@banking/postgres/testing';
import { NO_RATES } from '@banking/reference';
import { LedgerDirectory } from '../apps/directory.js';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { OrderBatcher, OrderService } from '../orders/order-service.js';
import { placeOrder } from '../orders/place-order.js';
import { postOrders } from '../orders/post-orders.js';
import { RememberedAccounts } from '../orders/remembered-accounts.js';
import type { PreparedOrder } from '../orders/prepared-order.js';
import { orderWorld, type OrderWorld } from '../testing/order-world.js';
import { cutAll, cutOnce, heal } from '../testing/test-databases.js';
import { IN_DOUBT_POLICIES, retryDelayMs, retryInDoubt } from './create-once.js';

let service: LedgerBankingService;
let wire: Wire;
let wired: Database;
let recipientID: RecipientId;
let { world, ada } = {} as OrderWorld;

beforeAll(async () => {
  ({ world, ada } = await orderWorld());
});

afterAll(async () => {
  await wired.end();
  await wire.remove();
});

afterAll(() => world.close());

/** On a busy machine a connection may take longer than a service would wait. */
const POOL = { poolSize: 2, acquireTimeoutMs: 20_000 };

let accountId: AccountId;

describe('commit in doubt', () => {
  let orders: OrderService;
  let from: AccountId;

  beforeAll(async () => {
    wire = await Wire.lay(world.connection);
    wired = await openDatabase({ connection: wire.connection, role: API_ROLE, schema: SCHEMA, ...POOL });
    const books = openBooks(wired);
    service = new LedgerBankingService(wired, books);
    const remembered = new RememberedAccounts();
    const batcher = new OrderBatcher(async (batch, waitsForLocks) => {
      await meanwhile;
      await beforeBatch?.();
      const posting = { books, reference: orders.reading.reference, remembered };
      return postOrders(posting, batch.map(poisoned), waitsForLocks);
    });
    orders = new OrderService(books, NO_RATES, { batcher, retryPolicy: { triesMax: 4, firstMs: 1, maxMs: 1 } });
  });

  beforeEach(async () => {
    heal(wire);
    from = (await service.openAccount(ada, { productID: 1 as never })).resource.id;
    const to = (await service.openAccount(ada, { productID: 1 as never })).resource;
    await service.fundAccount(ada, { accountId: from, amount: '1000' as TransferAmount });
    recipientID = (await service.addInternalRecipient(ada, { accountCode: to.code ?? '' })).resource.id;
  });

  /** The next batch is posted after this. */
  let meanwhile: Promise<unknown> | undefined;

  /** Called before each batch is posted. */
  let beforeBatch: (() => Promise<void>) | undefined;

  /** The order with the key `poison` has an unknown repeat unit, which the database rejects. */
  const poisoned = (order: PreparedOrder): PreparedOrder =>
    order.kind === 'placement' && order.key?.key === 'poison'
      ? { ...order, content: { ...order.content, repeatUnit: 'poison' as never } }
      : order;

  const place = (options: RequestOptions = {}, amount = '100', more: Partial<PlaceOrderInput> = {}) => {
    const input: PlaceOrderInput = {
      accountId: from,
      recipientID,
      amount: amount as TransferAmount,
      type: 'instant',
      ...more,
    };
    return placeOrder(orders, ada, input, options);
  };

  const range = (length: number) => Array.from({ length }, (_, index) => index);

  describe('an order whose connection is lost around the commit', () => {
    it.each<[string, 'toServer' | 'toClient', string, RequestOptions, number?]>([
      ['before the database has read it, with a key', 'toServer', 'post_payments', { idempotencyKey: 'lost-1' }],
      ['before the database has read COMMIT, without a key', 'toServer', 'commit', {}],
      ['after it was done, with a key', 'toClient', 'COMMIT', { idempotencyKey: 'lost-2' }],
      ['after it was done, without a key', 'toClient', 'COMMIT', {}],
      ['after its accounts were remembered, before the database has read COMMIT', 'toServer', 'commit', {}, 2],
      ['after its accounts were remembered, with a key', 'toClient', 'COMMIT', { idempotencyKey: 'lost-4' }, 2],
    ])('is placed once if the connection is lost %s', async (_, direction, text, options, before = 0) => {
      for (let count = 0; count < before; count += 1) await place();
      let cuts = 0;
      cutOnce(wire, direction, text, () => (cuts += 1));

      const { resource } = await place(options);

      expect(cuts).toBe(1);

      expect(resource).toMatchObject({ status: 'completed' });
      const { items } = await service.listOrders(ada, { accountId: from });
      expect([items.length, items[0]]).toEqual([before + 1, resource]);
      const account = await service.getAccount(ada, { accountId: from });
      expect(account.edges.balances[0]?.amount).toBe(900 - 100 * before);
      expect((await verifyBooks(world.database, [ada.workspaceId])).findings).toEqual([]);
    });
  });

  it('returns the response of the commit in doubt, also if the order has changed since', async () => {
    const options = { idempotencyKey: 'lost-3' };
    const other = new LedgerBankingService(world.database, world.books);
    let attempts = 0;
    beforeBatch = async () => {
      attempts += 1;
      if (attempts === 2) await other.changeAccount(ada, { accountId: from, alias: 'Later' });
    };
    cutOnce(wire, 'toClient', 'COMMIT');

    const first = await place(options).finally(() => (beforeBatch = undefined));

    expect([attempts, first.isReplay, first.resource.edges.account?.alias]).toEqual([2, false, undefined]);
    expect(await place(options)).toEqual({ resource: first.resource, isReplay: true });
  });

  describe('another creation whose connection is lost around the commit', () => {
    const open = (idempotencyKey: string) =>
      service.openAccount(ada, { productID: 1 as never, alias: idempotencyKey }, { idempotencyKey });
    const count = async (alias: string) =>
      (await service.listAccounts(ada, { limit: 500 })).items.filter((account) => account.alias === alias).length;

    it('is returned by its key if it was committed', async () => {
      cutOnce(wire, 'toClient', 'COMMIT');

      const { resource, isReplay } = await open('doubt-1');

      expect([resource.alias, isReplay]).toEqual(['doubt-1', false]);
      expect(await count('doubt-1')).toBe(1);
      expect(await open('doubt-1')).toEqual({ resource, isReplay: true });
    });

    it('is refused with `unavailable` if it was not committed, and succeeds when retried', async () => {
      // A busy machine may not have noticed yet that a connection of the test before is lost. That attempt reaches no commit, or takes the
      // cut, so each has a cut and a key of its own.
      let attempts = 0;
      let key = '';
      const refused = await until(
        () => {
          key = `doubt-2-${(attempts += 1)}`;
          cutOnce(wire, 'toServer', 'commit');
          return open(key).then(
            () => undefined,
            (error: Refusal) => error,
          );
        },
        (error) => error?.cause instanceof Refusal,
      );
      expect(refused).toMatchObject({
        reason: 'unavailable',
        message: 'The connection to the database was lost. Nothing was done.',
        retryAfterSeconds: 1,
        cause: { reason: 'outcome_unknown' },
      });

      expect(await count(key)).toBe(0);
      expect(await open(key)).toMatchObject({ isReplay: false });
    });

    it('is refused with `outcome_unknown` if the database stays unreachable, and is a replay later', async () => {
      cutAll(wire, 'COMMIT');

      await expect(open('doubt-3')).rejects.toMatchObject({ reason: 'outcome_unknown', status: 504 });
      heal(wire);

      expect(await open('doubt-3')).toMatchObject({ isReplay: true });
      expect(await count('doubt-3')).toBe(1);
    });

    it('is refused with `outcome_unknown` without a key', async () => {
      cutOnce(wire, 'toClient', 'COMMIT');

      await expect(service.openAccount(ada, { productID: 1 as never, alias: 'doubt-4' })).rejects.toMatchObject({
        reason: 'outcome_unknown',
      });

      expect(await count('doubt-4')).toBe(1);
    });
  });

  describe('an order that has used up the balance when its confirmation is lost', () => {
    it.each<[string, RequestOptions]>([
      ['a key', { idempotencyKey: 'all-of-it' }],
      ['no key', {}],
    ])('is returned if it had %s', async (_, options) => {
      cutOnce(wire, 'toClient', 'COMMIT');

      const { resource, isReplay } = await place(options, '1000');

      expect([resource.status, isReplay]).toEqual(['completed', false]);
      expect((await service.listOrders(ada, { accountId: from })).items).toEqual([resource]);
    });

    it('is returned if the account was disabled since', async () => {
      const unharmed = new LedgerBankingService(world.database, world.books);
      const disable = () => unharmed.changeAccount(ada, { accountId: from, status: 'disabled' });
      cutOnce(wire, 'toClient', 'COMMIT', () => (meanwhile = disable()));

      const { resource } = await place({}, '100');

      expect((await service.listOrders(ada, { accountId: from })).items.map(({ id }) => id)).toEqual([resource.id]);
      expect((await service.getAccount(ada, { accountId: from })).status).toBe('disabled');
    });

    it('is refused with `outcome_unknown` if the database stays unreachable, with and without a key', async () => {
      for (const options of [{ idempotencyKey: 'away' }, {}]) {
        cutAll(wire, 'COMMIT');

        await expect(place(options)).rejects.toMatchObject({ reason: 'outcome_unknown', status: 504 });
        heal(wire);
      }

      expect((await service.listOrders(ada, { accountId: from })).items).toHaveLength(2);
      expect(await place({ idempotencyKey: 'away' })).toMatchObject({ isReplay: true });
    });

    it('is placed once in a part of a batch that the database rejected', async () => {
      cutOnce(wire, 'toClient', 'COMMIT');

      const poison = expect(place({ idempotencyKey: 'poison' })).rejects.toMatchObject({
        code: SQLSTATE.checkViolation,
      });
      const placed = await Promise.all(range(5).map(() => place()));
      await poison;

      const { items } = await service.listOrders(ada, { accountId: from });
      expect(items.map(({ id }) => id).sort()).toEqual(placed.map(({ resource }) => resource.id).sort());
      expect((await service.getAccount(ada, { accountId: from })).edges.balances[0]?.amount).toBe(500);
    });
  });
});

describe('a change whose connection is lost around the commit', () => {
  let recipientId: RecipientId;

  beforeAll(async () => {
    wire = await Wire.lay(world.connection);
    wired = await openDatabase({ connection: wire.connection, role: API_ROLE, schema: SCHEMA, ...POOL });
    service = new LedgerBankingService(wired, openBooks(wired));
    const account = (await service.openAccount(ada, { productID: 1 as never })).resource;
    accountId = account.id;
    recipientId = (await service.addInternalRecipient(ada, { accountCode: account.code ?? '' })).resource.id;
  });

  /** Cuts the connection after the database has executed a statement, before the response arrives. */
  function loseResponseTo(statementName: string): void {
    wire.toServer = (sent, sender) => {
      if (sent.includes(statementName)) {
        wire.toServer = (bytes) => ({ pass: bytes });
        wire.toClient = (bytes, receiver) => {
          if (receiver !== sender) return { pass: bytes };
          wire.toClient = (later) => ({ pass: later });
          return { isCut: true };
        };
      }
      return { pass: sent };
    };
  }

  const NOW = '2099-01-01T00:00:00.000Z';

  it.each<[string, string, () => Promise<unknown>, string]>([
    [
      'an account',
      'change_account',
      () => service.changeAccount(ada, { accountId, alias: 'Changed' }),
      `select alias = 'Changed' as is_done from account where id = $1`,
    ],
    [
      'a recipient',
      'change_recipient',
      () => service.changeRecipient(ada, { recipientId, alias: 'Changed' }),
      `select alias = 'Changed' as is_done from recipient where id = $2`,
    ],
    [
      'the clock',
      'move_clock',
      () => service.moveClock(ada, { now: NOW as never }),
      `select now = '${NOW}' as is_done from sandbox_clock`,
    ],
    [
      'a recipient that is deleted',
      'delete_recipient',
      () => service.deleteRecipient(ada, { recipientId }),
      `select forgotten_at is not null as is_done from recipient where id = $2`,
    ],
  ])('is refused with `outcome_unknown` and was made: %s', async (what, name, change, isDone) => {
    loseResponseTo(name);

    await expect(change()).rejects.toMatchObject({ reason: 'outcome_unknown', status: 504 });

    const named = sqlStatement<{ is_done: boolean }>(
      `is ${what} done`,
      `with named as (select $1::bigint, $2::bigint) ${isDone}`,
    );
    const row = await world.database.read({ workspaces: [ada.workspaceId] }, bind(named, accountId, recipientId));
    expect(row).toEqual({ is_done: true });
  });

  it('does nothing of the request if the subject of a user was being bound, and the next request binds it', async () => {
    const directory = new LedgerDirectory(wired);
    const subject = { issuer: 'doubt', subject: 'ada', email: 'ada@northwind.example' };
    loseResponseTo('bind_subject');

    await expect(directory.userOf(subject)).rejects.toMatchObject({ reason: 'unavailable' });
    await expect(directory.userOf(subject)).resolves.toMatchObject({ id: ada.actor });
  });
});

describe('retry in doubt', () => {
  beforeAll(async () => {
    wire = await Wire.lay(world.connection);
    wired = await openDatabase({ connection: wire.connection, role: API_ROLE, schema: SCHEMA, ...POOL });
    service = new LedgerBankingService(wired, openBooks(wired));
    accountId = (await service.openAccount(ada, { productID: 1 as never })).resource.id;
    const to = (await service.openAccount(ada, { productID: 1 as never })).resource;
    recipientID = (await service.addInternalRecipient(ada, { accountCode: to.code ?? '' })).resource.id;
  });

  beforeEach(() => heal(wire));

  async function placeLater(): Promise<Order> {
    const input = { accountId, recipientID, amount: '100' as TransferAmount, startAt: '2099-01-01T00:00:00Z' };
    return (await service.placeOrder(ada, { ...input, type: 'scheduled' })).resource;
  }

  describe('a cancellation whose confirmation is lost', () => {
    it('returns the cancelled order if it was committed', async () => {
      const { id } = await placeLater();
      cutOnce(wire, 'toClient', 'COMMIT');

      expect(await service.cancelOrder(ada, { accountId, orderId: id })).toMatchObject({ id, status: 'cancelled' });
    });

    it('cancels the order if it was not committed', async () => {
      const { id } = await placeLater();
      cutOnce(wire, 'toServer', 'cancel_order');

      expect(await service.cancelOrder(ada, { accountId, orderId: id })).toMatchObject({ id, status: 'cancelled' });
    });

    it('is refused with `outcome_unknown` if the database stays unreachable', async () => {
      const { id } = await placeLater();
      cutAll(wire, 'COMMIT');

      await expect(service.cancelOrder(ada, { accountId, orderId: id })).rejects.toMatchObject({
        reason: 'outcome_unknown',
      });
    });
  });

  describe('a resumption whose confirmation is lost', () => {
    /** An order without a placer, so that the retry recognises the first attempt by the new placer. */
    const paused = async () => {
      const { id } = await placeLater();
      await world.owner.query(`set session_replication_role = replica; update customer_order
      set paused_at = now(), pause_reason = 'placer_without_role', placed_by = null where id = ${id}; reset session_replication_role`);
      return id;
    };

    it.each([
      ['was committed', 'toClient', 'COMMIT'],
      ['was not committed', 'toServer', 'get_order'],
    ] as const)('returns the active order if it %s', async (_, side, point) => {
      const orderId = await paused();
      cutOnce(wire, side, point);

      const resumed = await service.resumeOrder(ada, { accountId, orderId });

      expect([resumed.id, resumed.status, resumed.pausedAt]).toEqual([orderId, 'active', undefined]);
    });

    it('is refused with `outcome_unknown` if the database stays unreachable', async () => {
      const orderId = await paused();
      cutAll(wire, 'COMMIT');

      await expect(service.resumeOrder(ada, { accountId, orderId })).rejects.toMatchObject({
        reason: 'outcome_unknown',
      });
    });
  });
});

const POLICY = { triesMax: 3, firstMs: 1, maxMs: 1 };

/** Runs attempts with these results, one after another. An error is thrown. */
async function run(results: readonly unknown[], signal?: AbortSignal) {
  const attempts: boolean[] = [];
  const outcome = await retryInDoubt(
    async (isRetry) => {
      const result = results[attempts.push(isRetry) - 1];
      if (result instanceof Error) throw result;
      return result;
    },
    POLICY,
    signal,
  ).catch((error: unknown) => error);
  return { outcome, attempts };
}

describe('retryInDoubt', () => {
  const doubt = new CommitInDoubtError(new Error('the first'));

  it('does not retry a success or an error that is no doubt', async () => {
    const failure = new Error('a failure');

    expect(await run(['done'])).toEqual({ outcome: 'done', attempts: [false] });
    expect(await run([failure, 'done'])).toEqual({ outcome: failure, attempts: [false] });
  });

  it('returns the result of the retry', async () => {
    expect(await run([doubt, 'done'])).toEqual({ outcome: 'done', attempts: [false, true] });
  });

  it.each([
    ['another doubt', new CommitInDoubtError(new Error('the second'))],
    ['an unreachable database', new Refusal('unavailable')],
    ['an error that is no refusal', new Error('a failure')],
  ])('retries again after %s', async (_, error) => {
    expect(await run([doubt, error, 'done'])).toEqual({ outcome: 'done', attempts: [false, true, true] });
  });

  it('throws the first doubt if no retry decides', async () => {
    const { outcome, attempts } = await run([
      doubt,
      new CommitInDoubtError(undefined),
      new Refusal('unavailable'),
      'late',
    ]);

    expect(outcome).toBe(doubt);
    expect(attempts).toEqual([false, true, true]);
  });

  it('throws the refusal of a retry', async () => {
    const refusal = new Refusal('order_not_found');

    expect(await run([doubt, refusal, 'late'])).toEqual({ outcome: refusal, attempts: [false, true] });
  });

  it('does not retry for a caller who has gone', async () => {
    const { outcome, attempts } = await run([doubt, 'late'], AbortSignal.abort());

    expect([outcome, attempts]).toEqual([doubt, [false]]);
    expect(await run([doubt, 'done'], new AbortController().signal)).toMatchObject({ outcome: 'done' });
  });
});

/** The delays before all retries of a policy. */
function delaysOf(policy: RetryPolicy, random: number): number[] {
  return Array.from({ length: policy.triesMax - 1 }, (_, index) => retryDelayMs(policy, index + 1, random));
}

describe('the delays before the retries of an order in doubt', () => {
  it('begin at once and double up to their bound', () => {
    expect(delaysOf(IN_DOUBT_POLICIES.order, 0.5)).toEqual([0, 250, 500, 1_000, 2_000]);
  });

  it('differ between processes, from 0.4 to 7.5 seconds in all', () => {
    const sums = [0, 0.999_999].map((random) =>
      delaysOf(IN_DOUBT_POLICIES.order, random).reduce((sum, ms) => sum + ms, 0),
    );

    expect(sums).toEqual([400, 7_496]);
  });

  it('are one retry at once for a change of a row', () => {
    expect(delaysOf(IN_DOUBT_POLICIES.change, 0.5)).toEqual([0]);
  });
});
