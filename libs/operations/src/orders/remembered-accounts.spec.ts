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
import { RULE_VIOLATION } from '@banking/postgres';
import { testOrProve } from '@banking/postgres/testing';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { orderWorld, type OrderWorld, recipientAbroad, roundTripsOf } from '../testing/order-world.js';
import type { AccountsByKey } from './lock-orders.js';
import type { Placement } from './prepared-order.js';
import { holdAccounts, RememberedAccounts } from './remembered-accounts.js';

let given: OrderWorld;
let euro: number;
let recipientId: RecipientId;

beforeAll(async () => {
  given = await orderWorld();
  euro = (await given.service.listProducts()).find(({ edges }) => edges.currency.code === 'EUR')!.id;
  recipientId = await recipientAbroad(given.service, given.ada, 'DE89370400440532013000');
});

afterAll(() => given.world.close());

/** A service of another process. */
const process = () => new LedgerBankingService(given.world.database, given.world.books, { hasPayoutNetwork: true });

const place = (service: LedgerBankingService, accountId: AccountId, key = given.key()) =>
  service.placeOrder(
    given.ada,
    given.order(accountId, recipientId, { amount: '5000' as TransferAmount, purposeCode: 'IR001' }),
    key,
  );

const deposit = (accountId: AccountId, amount = '5000') =>
  given.service.fundAccount(given.ada, { accountId, amount: amount as TransferAmount });

describe('an account that one process uses', () => {
  /** How an order was carried out: on what is remembered, on what was read, or on both one after the other. */
  async function wayOf(service: LedgerBankingService, accountId: AccountId): Promise<string> {
    const { names } = await roundTripsOf(given.world.database, () => place(service, accountId));
    return names.filter((name) => name === 'hold_accounts' || name === 'lock_free_accounts').join(', ');
  }

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

  it('has the right balance after any sequence of orders, deposits and changes by several processes', async () => {
    const steps = constantFrom('one', 'one', 'other', 'both', 'deposit', 'alias', 'disable');
    const law = asyncProperty(array(steps, { minLength: 4, maxLength: 12 }), async (sequence) => {
      const accountId = await given.account(euro, '60000');
      const [one, other] = [process(), process()];
      let balance = minorUnits(60_000n);
      const pay = async (service: LedgerBankingService) => {
        const { account, executions } = (await place(service, accountId)).resource.edges;
        const { transfers } = executions![0]!.edges.transaction!.edges;
        for (const { amount } of transfers!) balance = subtract(balance, parseTransferAmount(amount));
        return account!.edges.balances[0]!.amount;
      };
      const paid = async (service: LedgerBankingService) => {
        const shown = await pay(service).catch(({ reason }: { reason: string }) => reason);
        expect([toBalanceAmount(balance), 'insufficient_funds']).toContain(shown);
      };
      for (const step of sequence) {
        if (step === 'one') await paid(one);
        if (step === 'other') await paid(other);
        if (step === 'both') await Promise.allSettled([pay(one), pay(one), pay(other)]);
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

  it('leaves the books in order', () => given.expectInOrder());
});

describe('the time of a remembered batch', () => {
  const posting = { proposals: [], workspaces: [], transactionIds: [], transferIds: [], ownAccounts: new Map() };

  it('is that of the database, with the time that has passed since, for ten seconds', () => {
    let nowMs = 1_000;
    const remembered = new RememberedAccounts(() => nowMs);
    expect(remembered.recall(posting, [])).toBeUndefined();
    remembered.compare(new DecisionContext(posting, [], '2026-11-24T23:59:59.999001Z' as Timestamp));

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
    order: Placement;
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
      `select a.head, a.status, a.alias, a.updated_at::text as updated_at, v.versions, rfc3339(clock_timestamp()) as at
       from account a, payment_versions(array[a.workspace_id], array[$2::bigint]) v where a.id = $1`,
      [accountId, recipientId],
    );
    const { head, status, alias, updated_at: accountUpdatedAt, versions, at } = rows[0]!;
    const { workspaceId } = given.ada;
    const known = { workspaceId, id: accountId, currencyId: 978, balance: 0n, version: 0 };
    return {
      states: [{ ...known, status, head }],
      accounts: new Map([[`${workspaceId}/${accountId}`, { accountAlias: alias, accountUpdatedAt } as never]]),
      order: {
        workspaceId,
        draft: { accountId, recipientID: recipientId },
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
    'a time before that of the balance': (held) => (held.at = '2026-01-01T00:00:00.000000Z' as Timestamp),
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
