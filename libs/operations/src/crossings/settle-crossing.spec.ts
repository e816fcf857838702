import { type Account, minorUnits, type RecipientId, Refusal } from '@banking/domain';
import { TRIES_MAX } from '@banking/work-queue';
import { sql, until } from '@banking/postgres/testing';
import { crossingWorld, type CrossingWorld } from '../testing/crossing-world.js';
import type { CrossingPort, SubmittedCrossing } from './crossings.js';

let at: CrossingWorld;
let from: Account;
let to: Account;
let recipient: RecipientId;

beforeAll(async () => {
  at = await crossingWorld();
});
afterAll(() => at.close());
beforeEach(async () => {
  [from, to] = [await at.payer(100_000n), await at.payee()];
  recipient = await at.recipientFor(to);
});
afterEach(async () => {
  expect(at.errors.splice(0)).toEqual([]);
  expect(await at.work()).toEqual([]);
});

const pay = (recipientID = recipient) => at.order(from.id, recipientID);
const finish = async () => {
  await at.passTime();
  while ((await at.worker().step()) > 0);
};
const received = (account = to) => at.balanceOf(at.paid, account.id);
/** A port whose call is submitted by the spec. */
const submitted = (crossing: Partial<SubmittedCrossing> = {}): SubmittedCrossing => ({
  originWorkspaceId: 1,
  originTransactionId: 1,
  keyNonce: '0123456789ab',
  accountCode: to.code!,
  currencyId: to.edges.currency!.id,
  amount: minorUnits(100n),
  type: 'internal',
  ...crossing,
});

describe('a crossing', () => {
  it('uses no try while a database is unavailable', async () => {
    const away: CrossingPort = { arrive: () => Promise.reject(new Refusal('unavailable')) };
    await pay();

    for (let time = 0; time <= TRIES_MAX; time += 1) {
      await at.worker(away).step();
      await at.passTime();
    }

    expect(await at.work()).toMatchObject([{ tries: 0, reason: 'unavailable', parked_at: null }]);
    expect(at.errors.splice(0)).toHaveLength(TRIES_MAX + 1);
    await finish();
    expect(await received()).toBe(100n);
  });

  it('is parked after ten failures that do not end by themselves, and settles when it is released', async () => {
    const broken: CrossingPort = { arrive: () => Promise.reject(new Error('broken')) };
    await pay();

    for (let time = 0; time < TRIES_MAX; time += 1) {
      await at.worker(broken).step();
      await at.passTime();
    }

    expect(await at.work()).toMatchObject([{ tries: TRIES_MAX, parked_at: expect.any(String) as string }]);
    expect(at.errors.splice(0)).toHaveLength(TRIES_MAX);
    await at.payers.world.owner.query(`update work set parked_at = null, tries = 0`);
    await finish();
    expect(await received()).toBe(100n);
  });

  it('is left unchanged by a worker that was overtaken', async () => {
    const order = await pay();
    const overtaken: CrossingPort = {
      async arrive(crossing) {
        await at.passTime();
        // The other worker has the claim, and no outcome yet.
        await at.worker({ arrive: () => Promise.reject(new Refusal('unavailable')) }).step();
        return at.port.arrive(crossing);
      },
    };

    await at.worker(overtaken).step();

    expect(at.errors.splice(0)).toMatchObject([{ reason: 'unavailable' }]);
    expect((await at.crossings()).at(-1)).toEqual({
      status: 'due',
      transaction: 'pending',
      returns: 0,
      arrivals: ['accepted'],
    });
    await finish();
    expect((await at.crossings()).at(-1)).toMatchObject({ status: 'completed', arrivals: ['accepted'] });
    expect(order.status).toBe('completed');
    expect(await received()).toBe(100n);
  });

  it('settles beside others to the same account, by one and by two workers', async () => {
    for (let count = 0; count < 40; count += 1) await pay();
    const { rows: before } = await at.payees.world.owner.query('select id from unverified_posting');

    await Promise.all([at.worker().step(), at.worker().step()]);
    await finish();

    expect(await received()).toBe(4_000n);
    const { rows: after } = await at.payees.world.owner.query('select id from unverified_posting');
    // Each INSERT of transfers has a row: both workers share one queue of arrivals here.
    expect(after.length - before.length).toBeLessThanOrEqual(4);
  });
});

describe('an arrival', () => {
  it('is one for its key, however often it is submitted', async () => {
    const crossing = submitted();
    const outcomes = await Promise.all([1, 2, 3].map(() => at.port.arrive(crossing)));

    expect(outcomes).toEqual(['accepted', 'accepted', 'accepted']);
    expect(await at.port.arrive(crossing)).toBe('accepted');
    expect(await received()).toBe(100n);
  });

  it('is another one for another random part, as after a restore that gives ids again', async () => {
    await at.port.arrive(submitted({ originTransactionId: 2 }));
    await at.port.arrive(submitted({ originTransactionId: 2, keyNonce: 'ba9876543210' }));

    expect(await received()).toBe(200n);
  });

  it('is refused for an account that does not exist, in another currency, or elsewhere, and stays refused', async () => {
    const key = { originTransactionId: 3 };
    const dollar = await at.payee(2);
    const faulty = [
      submitted({ ...key, accountCode: 'BA00000000000000' }),
      submitted({ ...key, keyNonce: 'bbbbbbbbbbbb', accountCode: dollar.code! }),
    ];

    for (const crossing of faulty) {
      expect(await at.port.arrive(crossing)).toBe('refused');
      expect(await at.port.arrive(crossing)).toBe('refused');
    }
    const other = at.port.arrive(submitted({ ...key, accountCode: to.code! }));
    await expect(other).rejects.toThrow('the key of a crossing has arrived with another payment');
    expect([await received(), await received(dollar)]).toEqual([0n, 0n]);
  });

  it('has the outcome of another process that has refused it meanwhile', async () => {
    const crossing = submitted({ originTransactionId: 6, accountCode: 'BA00000000000000' });
    const { owner, database } = at.payees.world;
    await owner.query('begin');
    await owner.query(
      `insert into arrival (workspace_id, origin_workspace_id, origin_transaction_id, key_nonce, account_code, currency_id, amount, outcome)
       values ($1, 1, 6, $2, $3, $4, 100, 'refused')`,
      [at.scope.workspaceId, crossing.keyNonce, crossing.accountCode, crossing.currencyId],
    );
    const arriving = at.port.arrive(crossing);
    const isWaiting = async () => {
      const query = sql<{ waits: boolean }>('select exists (select from pg_locks where not granted) as waits');
      return (await database.read({}, query))?.waits;
    };
    await until(isWaiting);
    await owner.query('commit');

    expect(await arriving).toBe('refused');
  });

  it('waits for an account that another session has locked, and delays no other', async () => {
    const free = await at.payee();
    const { owner } = at.payees.world;
    await owner.query('begin');
    await owner.query('select from account where id = $1 for no key update', [to.id]);

    const waiting = at.port.arrive(submitted({ originTransactionId: 4 }));
    const other = at.port.arrive(submitted({ originTransactionId: 5, accountCode: free.code! }));

    expect(await other).toBe('accepted');
    await owner.query('commit');
    expect(await waiting).toBe('accepted');
    expect([await received(), await received(free)]).toEqual([100n, 100n]);
  });
});
