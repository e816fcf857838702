import { array, assert, asyncProperty, constantFrom } from 'fast-check';
import {
  type AccountId,
  add,
  minorUnits,
  parseTransferAmount,
  type RecipientId,
  subtract,
  type Timestamp,
  toBalanceAmount,
  type TransferAmount,
} from '@banking/domain';
import { DecisionContext, type LockedAccount } from '@banking/ledger';
import { SANDBOX_ROUTING } from '@banking/payouts';
import { API_ROLE, RULE_VIOLATION, SCHEMA } from '@banking/postgres';
import { openDatabase, sql, testOrProve } from '@banking/postgres/testing';
import { BatchLimits } from '../limits/batch-limits.js';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { order, orderWorld, type OrderWorld, recipientAbroad, roundTripsOf } from '../testing/order-world.js';
import type { AccountsByKey } from './lock-orders.js';
import type { AccountRow } from '../resources/compose-parties.js';
import { holdAccounts, RememberedAccounts, type RememberedPayment } from './remembered-accounts.js';

const AT = '2026-11-24T10:00:00.000000Z' as Timestamp;
/** An account in EUR before its first transfer. */
const UNUSED = { currencyId: 978, balance: 0n, version: 0, head: '', balanceAt: AT };
const NOTHING = { proposals: [], workspaces: [], transactionIds: [], transferIds: [] };

const NO_LIMITS = new BatchLimits(new Map());

let given: OrderWorld;
let euro: number;
let recipientId: RecipientId;

beforeAll(async () => {
  given = await orderWorld();
  euro = (await given.service.listProducts({})).find(({ edges }) => edges.currency.code === 'EUR')!.id;
  recipientId = await recipientAbroad(given.service, given.ada, 'DE89370400440532013000');
});

afterAll(() => given.world.close());

/** A service of another process. */
const process = () => new LedgerBankingService(given.world.database, given.world.books, { rails: SANDBOX_ROUTING });

const place = (service: LedgerBankingService, accountId: AccountId, key = given.key(), more = {}) =>
  service.placeOrder(
    given.ada,
    given.order(accountId, recipientId, { amount: '5000' as TransferAmount, purposeCode: 'IR001', ...more }),
    key,
  );

const reasonOf = ({ reason }: { readonly reason: string }) => reason;

const deposit = (accountId: AccountId, amount = '5000') =>
  given.service.fundAccount(given.ada, { accountId, amount: amount as TransferAmount });

describe('an account that one process uses', () => {
  /** How an order was carried out: on what is remembered, on what was read, or on both one after the other. */
  async function wayOf(service: LedgerBankingService, accountId: AccountId): Promise<string> {
    return waysOf((await roundTripsOf(given.world.database, () => place(service, accountId))).names);
  }

  const waysOf = (names: readonly string[]) =>
    names.filter((name) => name === 'hold_accounts' || name === 'lock_free_accounts').join(', ');

  it('is remembered until another one changes it, and again when that has stopped', async () => {
    const accountId = await given.account(euro, '1000000');
    const [one, other] = [process(), process()];
    const [remembered, read] = ['hold_accounts', 'lock_free_accounts'];

    expect([await wayOf(one, accountId), await wayOf(one, accountId)]).toEqual([read, remembered]);
    expect(await wayOf(other, accountId)).toBe(read);
    expect(await wayOf(one, accountId)).toBe(`${remembered}, ${read}`);
    expect([await wayOf(one, accountId), await wayOf(one, accountId)]).toEqual([read, remembered]);
    await deposit(accountId);
    expect(await wayOf(one, accountId)).toBe(`${remembered}, ${read}`);
  });

  it('is remembered while its time is ahead of the clock, and its payments are in order', async () => {
    const accountId = await given.account(euro, '1000000');
    const { owner } = given.world;
    await owner.query(`update account set balance_at = now() + interval '1 hour' where id = $1`, [accountId]);
    const service = process();

    const ways = [await wayOf(service, accountId), await wayOf(service, accountId), await wayOf(service, accountId)];

    expect(ways).toEqual(['lock_free_accounts', 'hold_accounts', 'hold_accounts']);
    const { rows } = await owner.query<{ after: number[]; orders_ahead: number }>(
      `select array_agg(extract(microseconds from x.created_at - a.balance_at)::int order by x.created_at) as after,
              count(*) filter (where o.created_at > statement_timestamp())::int as orders_ahead
       from account a join customer_order o on o.account_id = a.id join execution e on e.order_id = o.id
       join transaction x on x.id = e.transaction_id where a.id = $1`,
      [accountId],
    );
    expect(rows).toEqual([{ after: [-2, -1, 0], orders_ahead: 0 }]);
  });

  it('gives no refusal of what is remembered', async () => {
    const accountId = await given.account(euro, '40000');
    const service = process();
    let reason: string | undefined;
    for (let count = 0; reason === undefined && count < 8; count += 1) {
      await place(service, accountId).catch((refusal: { reason: string }) => (reason = refusal.reason));
    }
    expect(reason).toBe('insufficient_funds');

    await deposit(accountId, '40000');

    expect((await place(service, accountId)).resource.status).toBe('completed');
  });

  it('is read where no response has shown it since it was paid', async () => {
    const accountId = await given.account(euro, '100000');
    const service = process();
    await place(service, accountId);
    const payer = await given.account(euro, '10000', given.eve);
    const payee = await given.near(accountId, given.eve, given.ada);
    await service.placeOrder(given.eve, given.order(payer, payee), given.key());
    await service.placeOrder(given.eve, given.order(payer, payee), given.key());

    expect(await wayOf(service, accountId)).toBe('lock_free_accounts');
  });

  it('keeps what a response has shown of it over a refused order', async () => {
    const accountId = await given.account(euro, '100000');
    const service = process();
    await place(service, accountId);
    await expect(place(service, accountId, given.key(), { amount: '1' })).rejects.toMatchObject({
      reason: 'amount_below_minimum',
    });

    expect(await wayOf(service, accountId)).toBe('hold_accounts');
  });

  describe('has an order read once that uses', () => {
    const reference = (externalReference: string) => ({ externalReference });

    it.each<[string, boolean, (service: LedgerBankingService, accountId: AccountId) => Promise<unknown>]>([
      [
        'a key that it has answered itself',
        true,
        (service, accountId) => place(service, accountId, { idempotencyKey: 'own' }),
      ],
      [
        'a key that another process has answered',
        false,
        (service, accountId) => place(service, accountId, { idempotencyKey: 'other' }),
      ],
      [
        'a reference that it has given itself',
        true,
        (service, accountId) => place(service, accountId, given.key(), reference('R-own')).catch(reasonOf),
      ],
      [
        'a reference that another process has given',
        false,
        (service, accountId) => place(service, accountId, given.key(), reference('R-other')).catch(reasonOf),
      ],
    ])('%s', async (_, isOwn, again) => {
      const accountId = await given.account(euro, '1000000');
      const service = process();
      await place(service, accountId);
      await again(isOwn ? service : process(), accountId);
      await place(service, accountId);
      await place(service, accountId);

      const ways: string[] = [];
      for (let count = 0; count < 3; count += 1) {
        const { names } = await roundTripsOf(given.world.database, () => again(service, accountId));
        ways.push(waysOf(names));
      }

      const read = 'lock_free_accounts';
      expect(ways).toEqual([isOwn ? read : `hold_accounts, ${read}`, read, read]);
    });
  });

  it('answers a key that another process has used', async () => {
    const accountId = await given.account(euro, '1000000');
    const [one, other] = [process(), process()];
    await place(one, accountId);
    const key = given.key();
    const first = await place(other, accountId, key);
    await place(one, accountId);
    await place(one, accountId);

    expect(await place(one, accountId, key)).toEqual({ resource: first.resource, isReplay: true });
    const another = given.order(accountId, recipientId, { amount: '7000' as TransferAmount, purposeCode: 'IR001' });
    await expect(one.placeOrder(given.ada, another, key)).rejects.toMatchObject({ reason: 'idempotency_key_reused' });
  });

  describe('in a batch with an order that has to be read', () => {
    /** The accounts that a batch of two orders holds, in its tries, and those that it reads. */
    async function accountsOf(good: AccountId, bad: () => Promise<unknown>, service: LedgerBankingService) {
      const { sent } = await roundTripsOf(given.world.database, () =>
        Promise.all([place(service, good), bad().catch(reasonOf)]),
      );
      const named = (name: string) => sent.filter(({ statement }) => statement.name === name);
      return {
        held: named('hold_accounts').map(({ values }) => String(values[0]).split('(').length - 1),
        read: named('lock_free_accounts').map(
          ({ values }) => JSON.parse(`[${String(values[1]).slice(1, -1)}]`) as number[],
        ),
      };
    }

    async function two() {
      const [good, bad] = [await given.account(euro, '1000000'), await given.account(euro, '40000')];
      const service = process();
      await place(service, good);
      await place(service, bad);
      return { good, bad, service };
    }

    it.each<[string, number[], (bad: AccountId, service: LedgerBankingService) => Promise<() => Promise<unknown>>]>([
      [
        'for it is refused',
        [1],
        (bad, service) =>
          Promise.resolve(() =>
            service.placeOrder(
              given.ada,
              given.order(bad, recipientId, { amount: '9000000' as TransferAmount, purposeCode: 'IR001' }),
              given.key(),
            ),
          ),
      ],
      [
        'for another process has changed its account',
        [2, 1],
        async (bad, service) => {
          await deposit(bad);
          return () => place(service, bad);
        },
      ],
      [
        'for another process has answered its key',
        [2, 1],
        async (bad, service) => {
          const key = given.key();
          await place(process(), bad, key);
          await place(service, bad);
          await place(service, bad);
          return () => place(service, bad, key);
        },
      ],
      [
        'for its account is not remembered',
        [1],
        async (_bad, service) => {
          const fresh = await given.account(euro, '100000');
          return () => place(service, fresh);
        },
      ],
    ])('is carried out without a read: %s', async (_, held, prepare) => {
      const { good, bad, service } = await two();
      const order = await prepare(bad, service);

      const accounts = await accountsOf(good, order, service);

      expect(accounts.held).toEqual(held);
      expect(accounts.read.map((ids) => ids.length)).toEqual([1]);
      expect(accounts.read.flat()).not.toContain(good);
    });
  });

  describe('has an order read', () => {
    const remembered = new RememberedAccounts();
    const known = { ...order(1, 2), rememberedVersions: '1' };

    beforeAll(() => {
      const state = { ...UNUSED, workspaceId: 1, id: 2, status: 'enabled' };
      const context = new DecisionContext({ ...NOTHING, ownAccounts: new Map() }, [state], AT);
      remembered.compare(context, NO_LIMITS);
      remembered.remember(context, new Map([['1/2', {} as AccountRow]]), NO_LIMITS);
    });

    it('unless all of it is remembered', () => {
      expect(remembered.recallable([known, known])).toHaveLength(2);
    });

    it('if an earlier attempt may have been committed', () => {
      expect(remembered.recallable([{ ...known, mayExist: true }])).toHaveLength(0);
    });

    it('in a period of its limits that had not begun when these were read', () => {
      let nowMs = 0;
      const memory = new RememberedAccounts(() => nowMs);
      const state = { ...UNUSED, workspaceId: 1, id: 2, status: 'enabled' };
      const context = new DecisionContext({ ...NOTHING, ownAccounts: new Map() }, [state, { ...state, id: 3 }], AT);
      const use = { startsAt: '2026-11-24T00:00:00.000000Z', endsAt: '2026-11-24T10:00:05.000000Z', used: '1' };
      const row = { id: 1, scope: 'workspace', metric: 'count', per: 'day', value: '9', uses: [use] };
      const limits = BatchLimits.ofRows([{ workspace_id: 1n, limits: [row], roles: {} } as never]);
      memory.compare(context, limits);
      memory.remember(context, new Map([['1/2', {} as AccountRow]]), limits);
      const limited = {
        ...order(1, 2, 3),
        rememberedVersions: '1',
        refusal: undefined,
        terms: { convertedAmounts: [] },
      };

      const recallable = () => memory.recallable([limited as never]).length;
      expect(recallable()).toBe(1);
      nowMs += 5_001;
      expect(recallable()).toBe(0);
    });

    it('if one before it in the batch is', () => {
      const first = order(1, 2);
      expect(remembered.recallable([first, known])).toHaveLength(0);
      expect(remembered.recallable([known, first])).toHaveLength(1);
    });
  });

  it('has the right balance after any sequence of orders, deposits and changes by several processes', async () => {
    const steps = constantFrom('one', 'one', 'other', 'both', 'deposit', 'alias', 'disable');
    const cost = minorUnits(5_000n + (await feeOf()));
    const law = asyncProperty(array(steps, { minLength: 4, maxLength: 12 }), async (sequence) => {
      const accountId = await given.account(euro, '60000');
      const [one, other] = [process(), process()];
      let balance = minorUnits(60_000n);
      const pay = async (service: LedgerBankingService) => {
        const { account } = (await place(service, accountId)).resource.edges;
        balance = subtract(balance, cost);
        return account!.edges.balances[0]!.amount;
      };
      const paid = async (service: LedgerBankingService) => {
        const expected = balance < cost ? 'insufficient_funds' : toBalanceAmount(subtract(balance, cost));
        expect(await pay(service).catch(reasonOf)).toBe(expected);
      };
      for (const step of sequence) {
        if (step === 'one') await paid(one);
        if (step === 'other') await paid(other);
        if (step === 'both') {
          const outcomes = await Promise.all([one, one, other].map((service) => pay(service).catch(reasonOf)));
          expect(outcomes.filter((outcome) => typeof outcome === 'string' && outcome !== 'insufficient_funds')).toEqual(
            [],
          );
        }
        if (step === 'deposit') {
          await deposit(accountId);
          balance = add(balance, minorUnits(5_000n));
        }
        if (step === 'alias') await given.service.changeAccount(given.ada, { accountId, alias: `A-${balance}` });
        if (step === 'disable') {
          await given.service.changeAccount(given.ada, { accountId, status: 'disabled' });
          await expect(place(one, accountId)).rejects.toMatchObject({ reason: 'account_disabled' });
          await given.service.changeAccount(given.ada, { accountId, status: 'enabled' });
        }
      }
      expect(await given.balanceOf(accountId)).toBe(toBalanceAmount(balance));
    });
    await assert(law, { numRuns: testOrProve(10, 60) });
  });

  async function feeOf(): Promise<bigint> {
    const { resource } = await place(given.service, await given.account(euro, '100000'));
    const [debit] = resource.edges.executions![0]!.edges.transaction!.edges.transfers!;
    return parseTransferAmount(debit!.feeAmount ?? '0');
  }

  it('leaves the books in order', () => given.expectInOrder());
});

describe('the time of a remembered batch', () => {
  const posting = { ...NOTHING, ownAccounts: new Map<string, number>() };

  it('is that of the database, with the time that has passed since, for ten seconds', () => {
    let nowMs = 1_000;
    const remembered = new RememberedAccounts(() => nowMs);
    expect(remembered.recall(posting, [])).toBeUndefined();
    remembered.compare(new DecisionContext(posting, [], '2026-11-24T23:59:59.999001Z' as Timestamp), NO_LIMITS);

    nowMs += 1.5;
    expect(remembered.recall(posting, [])?.context.at).toBe('2026-11-25T00:00:00.000501Z');
    nowMs += 9_990;
    expect(remembered.recall(posting, [])?.context.at).toBe('2026-11-25T00:00:09.990501Z');
    nowMs += 10;
    expect(remembered.recall(posting, [])).toBeUndefined();
  });
});

describe('hold_accounts', () => {
  interface Held {
    states: LockedAccount[];
    accounts: AccountsByKey;
    order: RememberedPayment;
    at: Timestamp;
  }

  /** What a process remembers of an account and of a payment from it, and the time of the database. */
  async function heldOf(accountId: AccountId): Promise<Held> {
    const { rows } = await given.world.owner.query<{
      head: string;
      status: string;
      alias: string | null;
      updated_at: string;
      versions: string;
      at: Timestamp;
    }>(
      `select encode(a.head, 'hex') as head, a.status, a.alias, a.updated_at::text as updated_at, v.versions, rfc3339(clock_timestamp()) as at
       from account a, payment_versions(array[a.workspace_id], array[$2::bigint]) v where a.id = $1`,
      [accountId, recipientId],
    );
    const { head, status, alias, updated_at: accountUpdatedAt, versions, at } = rows[0]!;
    const { workspaceId } = given.ada;
    const known = { ...UNUSED, workspaceId, id: accountId };
    return {
      states: [{ ...known, status, head }],
      accounts: new Map([[`${workspaceId}/${accountId}`, { accountAlias: alias, accountUpdatedAt } as never]]),
      order: {
        workspaceId,
        content: { accountId, recipientId },
        entries: [],
        rememberedVersions: versions,
        key: { workspaceId, operation: `placeOrder/${accountId}`, key: 'unused' },
      } as never,
      at,
    };
  }

  const hold = ({ states, accounts, order, at }: Held) =>
    given.world.database.transaction({ workspaces: [given.ada.workspaceId] }, (tx) =>
      tx.pipeline([holdAccounts(states, accounts, [order], at)]),
    );

  /** What a process may remember wrongly. */
  const FAULTS: Readonly<Record<string, (held: Held) => void>> = {
    'the head of the account': (held) => (held.states[0] = { ...held.states[0]!, head: 'a'.repeat(64) }),
    'the status of the account': (held) => (held.states[0] = { ...held.states[0]!, status: 'disabled' }),
    'an account that does not exist': (held) => (held.states[0] = { ...held.states[0]!, id: 4711 }),
    'the time of the last change': (held) => changeRow(held, { accountUpdatedAt: '2026-01-01 00:00:00+00' }),
    'the alias': (held) => changeRow(held, { accountAlias: 'Another' }),
    'a time of long ago': (held) => (held.at = '2026-01-01T00:00:00.000000Z' as Timestamp),
    'a time that is yet to come': (held) => (held.at = '2999-01-01T00:00:00.000000Z' as Timestamp),
    'the versions of the payment': (held) => (held.order = { ...held.order, rememberedVersions: '1 2 3' }),
    'a payment without versions': (held) => (held.order = { ...held.order, rememberedVersions: undefined }),
  };
  const changeRow = (held: Held, row: object) => {
    const [key, known] = [...held.accounts][0]!;
    held.accounts = new Map([[key, { ...known, ...row }]]);
  };

  it('accepts what is as it was remembered, also without the row of a response', async () => {
    const held = await heldOf(await given.account(euro, '10000'));

    await hold(held);
    await hold({ ...held, accounts: new Map() });
  });

  it.each(Object.entries(FAULTS))('refuses %s', async (_, plant) => {
    const held = await heldOf(await given.account(euro, '10000'));
    plant(held);

    await expect(hold(held)).rejects.toMatchObject({ code: RULE_VIOLATION.outdatedMemory });
  });

  it('refuses a time of a second ago, by no position', async () => {
    const held = await heldOf(await given.account(euro, '10000'));
    held.at = new Date(Date.parse(held.at) - 1_000).toISOString() as Timestamp;

    await expect(hold(held)).rejects.toMatchObject({ detail: '{"accounts" : [], "payments" : [], "limits" : []}' });
  });

  it('names what it refuses by its position', async () => {
    const [one, other] = [
      await heldOf(await given.account(euro, '10000')),
      await heldOf(await given.account(euro, '10000')),
    ];
    FAULTS['the head of the account']!(other);
    FAULTS['the versions of the payment']!(one);
    const both = {
      states: [...one.states, ...other.states],
      accounts: new Map([...one.accounts, ...other.accounts]),
      at: other.at,
    };

    const { workspaceId } = given.ada;
    const held = given.world.database.transaction({ workspaces: [workspaceId] }, (tx) =>
      tx.pipeline([holdAccounts(both.states, both.accounts, [other.order, one.order], both.at)]),
    );
    await expect(held).rejects.toMatchObject({ detail: '{"accounts" : [1], "payments" : [1], "limits" : []}' });
  });

  it('finds each account by its key, also by a plan from the time when the workspace had few', async () => {
    const accountId = await given.account(euro, '10000');
    const { connection, owner } = given.world;
    const database = await openDatabase({ connection, role: API_ROLE, schema: SCHEMA, poolSize: 1 });
    const { workspaceId } = given.ada;
    try {
      const touched = async () => {
        const { states, accounts, order, at } = await heldOf(accountId);
        return database.transaction({ workspaces: [workspaceId] }, async (tx) => {
          const [, [row]] = await tx.pipeline([
            holdAccounts(states, accounts, [order], at),
            sql<{ rows: bigint }>(
              `select seq_tup_read + idx_tup_fetch as rows from pg_stat_xact_user_tables where relname = 'account'`,
            ),
          ]);
          return row!.rows;
        });
      };
      await owner.query('analyze account');
      for (let count = 0; count < 8; count += 1) await touched();
      await owner.query(
        `insert into account (workspace_id, kind, currency_id, product_id, name, type, code)
         select $1, 'customer', currency_id, product_id, 'Many', 'CACC', 'many-' || n
         from account a, generate_series(1, 5000) n where a.id = $2`,
        [workspaceId, accountId],
      );

      expect(await touched()).toBeLessThan(10n);
    } finally {
      await database.end();
    }
  });

  it('refuses a key that has an answer', async () => {
    const accountId = await given.account(euro, '100000');
    await place(given.service, accountId, { idempotencyKey: 'answered' });
    const held = await heldOf(accountId);
    held.order = { ...held.order, key: { ...held.order.key!, key: 'answered' } };

    await expect(hold(held)).rejects.toMatchObject({ code: RULE_VIOLATION.outdatedMemory });
  });

  it('refuses an account that another session has locked, without a wait', async () => {
    const accountId = await given.account(euro, '10000');
    const held = await heldOf(accountId);
    const { owner } = given.world;
    await owner.query('begin');
    try {
      await owner.query('select from account where id = $1 for update', [accountId]);
      await expect(hold(held)).rejects.toMatchObject({ code: RULE_VIOLATION.outdatedMemory });
    } finally {
      await owner.query('rollback');
    }
  });

  it('keeps the account locked until the end of the database transaction', async () => {
    const accountId = await given.account(euro, '10000');
    const held = await heldOf(accountId);
    const { workspaceId } = given.ada;

    await given.world.database.transaction({ workspaces: [workspaceId] }, async (tx) => {
      await tx.pipeline([holdAccounts(held.states, held.accounts, [held.order], held.at)]);
      const { rows } = await given.world.owner.query('select from account where id = $1 for update skip locked', [
        accountId,
      ]);
      expect(rows).toEqual([]);
    });
  });
});
