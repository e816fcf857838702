import type { Order } from '@banking/domain';
import { keepRows, until } from '@banking/postgres/testing';
import { CHECK, executionOf, type OrderFaults, orderFaults, transactionOf } from '../testing/order-faults.js';
import { verifyPayments } from '../testing/order-world.js';
import { ORDER_KEY_CHECK, RUN_TIMES_CHECK } from './verify-orders.js';
import { PAYEE_CHECK } from './verify-payees.js';
import { REFERENCE_CHECK } from './verify-payments.js';

let faults: OrderFaults;
let orders: OrderFaults['orders'];

let restore: () => Promise<void>;

beforeAll(async () => {
  faults = await orderFaults();
  orders = faults.orders;
  // Opens the accounts between the workspaces: the service remembers them, so they must outlast each test.
  await faults.payInto('NW0000000008');
  restore = await keepRows(faults.world.owner);
});

afterEach(() => restore());
afterAll(() => faults.world.close());

/** A transaction that has just ended may still be listed. One that the verification leaves open stays listed. */
const noTransactionOpen = () =>
  until(async () => {
    const { rowCount } = await faults.world.owner.query(
      `select from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null and backend_type = 'client backend'`,
    );
    return rowCount === 0;
  });

describe('the verification of unchanged orders', () => {
  it('reports nothing while orders are placed and cancelled, and leaves no database transaction open', async () => {
    let ranges = 0;
    const findings = await verifyPayments(faults.world.database, Object.values(faults.world.demo.workspaces), {
      rangeRows: 2,
      onRange: async () => {
        ranges += 1;
        await noTransactionOpen();
        if (ranges <= 12) await faults.placeMore(ranges);
      },
    });

    expect(findings).toEqual([]);
    expect(ranges).toBeGreaterThan(12);
  });

  it('reports nothing', async () => {
    expect(await faults.failedChecks()).toEqual([]);
  });
});

describe('the verification of orders', () => {
  const { EXECUTIONS, STANDS, STEPS, PAID, CONVERSIONS, PAYOUTS, QUOTES, UNQUEUED, REFERENCES, ONCE, DEBITS, FEES } =
    CHECK;

  const insertRun = (order: Order, sequence: number, status: string) =>
    `insert into execution (workspace_id, order_id, sequence, status, scheduled_at)
   select workspace_id, id, ${sequence}, '${status}', '2099-02-28T09:00:00Z' from customer_order where id = ${order.id}`;
  const setOrder = (order: Order, change: string) => `update customer_order set ${change} where id = ${order.id}`;
  const setRun = (order: Order, change: string) => `update execution set ${change} where id = ${executionOf(order)}`;
  const setResponse = (answer: string) => `update idempotency set answer = ${answer} where key = 'verified'`;
  const deleteConversion = () =>
    `update conversion set source_amount = null where transaction_id = ${transactionOf(orders.abroad)}`;

  it.each<[string, () => string, readonly string[]]>([
    ['an order is missing', () => `delete from customer_order where id = ${orders.later.id}`, [EXECUTIONS]],
    ['an order has no execution', () => `delete from execution where order_id = ${orders.cancelled.id}`, [STANDS]],
    [
      'executions do not start at one',
      () => setRun(orders.later, `sequence = 2, scheduled_at = '2099-02-28T09:00:00Z'`),
      [STANDS],
    ],
    ['two executions are scheduled', () => insertRun(orders.later, 2, 'scheduled'), [STANDS, UNQUEUED]],
    ['an execution before the last is scheduled', () => insertRun(orders.later, 2, 'cancelled'), [STANDS]],
    [
      'an instant order has run twice',
      () =>
        insertRun(orders.abroad, 2, 'failed')
          .replace('scheduled_at)', 'scheduled_at, failure_code)')
          .replace("Z' from", "Z', 'unavailable' from"),
      [STANDS],
    ],
    ['a completed order has a scheduled execution', () => setOrder(orders.later, `status = 'completed'`), [STANDS]],
    ['a cancelled order has a scheduled execution', () => setOrder(orders.later, `status = 'cancelled'`), [STANDS]],
    ['an active order has no scheduled execution', () => setOrder(orders.cancelled, `status = 'active'`), [STANDS]],
    ['an order failed without a failed execution', () => setOrder(orders.abroad, `status = 'failed'`), [STANDS]],
    [
      'an execution is completed and its transaction pending',
      () => setRun(orders.abroad, `status = 'completed'`),
      [STEPS],
    ],
    [
      'an execution failed and its transaction has not',
      () => setRun(orders.abroad, `status = 'failed', failure_code = 'payout_rejected'`),
      [STEPS],
    ],
    ['an order has another amount', () => setOrder(orders.abroad, 'amount = amount + 1'), [PAID]],
    [
      'an order has another recipient',
      () => setOrder(orders.abroad, 'recipient_id = (select min(r.id) from recipient r where r.id > recipient_id)'),
      [PAID],
    ],
    [
      'an order is of another account',
      () => setOrder(orders.abroad, 'account_id = account_id + 1'),
      [PAID, FEES, REFERENCE_CHECK.check],
    ],
    [
      'the fee was taken as payment',
      () => `update transfer set type = 'spot' where type = 'fee' and transaction_id = ${transactionOf(orders.abroad)}`,
      [PAID, FEES],
    ],
    [
      'a payout is of no order',
      () => `delete from execution where id = ${executionOf(orders.abroad)};
           delete from customer_order where id = ${orders.abroad.id}; ${deleteConversion()}`,
      [PAYOUTS, DEBITS],
    ],
    [
      'an execution is not in the queue',
      () => `delete from work where subject_id = ${executionOf(orders.later)} and kind = 'execution'`,
      [UNQUEUED],
    ],
    [
      'a reference is of two orders',
      () => `drop index customer_order_reference; ${setOrder(orders.quoted, `external_reference = 'abroad'`)}`,
      [REFERENCES],
    ],
    [
      'a transaction is of two executions',
      () =>
        `drop index execution_by_transaction; ${setRun(orders.quoted, `transaction_id = ${transactionOf(orders.abroad)}`)}`,
      [PAYOUTS, CONVERSIONS, QUOTES, ONCE, DEBITS],
    ],
    [
      'a fee is taken and nothing else',
      () =>
        `insert into transaction (workspace_id, id, status, hash)
       select workspace_id, 900001, 'completed', decode(repeat('0', 64), 'hex') from transaction where id = ${transactionOf(orders.keyed)};
       insert into transfer (workspace_id, id, transaction_id, account_id, currency_id, direction, amount, type, account_version, balance_after)
       select workspace_id, 900001, 900001, account_id, currency_id, 'debit', 1, 'fee', account_version + 1000, 0 from transfer
       where transaction_id = ${transactionOf(orders.keyed)} and direction = 'debit' and type <> 'fee'`,
      [DEBITS],
    ],
    [
      'a debit is of no execution',
      () =>
        `update execution set transaction_id = null, status = 'failed', failure_code = 'unavailable' where id = ${executionOf(orders.keyed)}`,
      [PAYOUTS, CONVERSIONS, DEBITS],
    ],
    [
      'a run is at another time',
      () => setRun(orders.later, `scheduled_at = scheduled_at + interval '1 hour'`),
      [RUN_TIMES_CHECK.check],
    ],
    [
      'a cancelled run is at another time',
      () => setRun(orders.cancelled, `scheduled_at = scheduled_at - interval '2 us'`),
      [RUN_TIMES_CHECK.check],
    ],
    ['an anchor is moved', () => setOrder(orders.later, `anchor = '2099-02-01T09:00:00Z'`), [RUN_TIMES_CHECK.check]],
    [
      'a run is behind the end of its schedule',
      () =>
        `${setRun(orders.later, `sequence = 2, scheduled_at = '2099-02-28T09:00:00Z'`)};
       ${setOrder(orders.later, `stop_at = '2099-02-01T09:00:00Z'`)}`,
      [STANDS, RUN_TIMES_CHECK.check],
    ],
    [
      'a stored response names an unknown order',
      () => setResponse(`jsonb_set(answer::jsonb, '{2}', '999999999')`),
      [ORDER_KEY_CHECK],
    ],
    ['a stored response has an unknown version', () => setResponse(`'[3, 1, []]'`), [ORDER_KEY_CHECK]],
    [
      'a stored response is of another account',
      () => `update idempotency set operation = 'placeOrder/1' where key = 'verified'`,
      [ORDER_KEY_CHECK],
    ],
    [
      'an order has two stored responses',
      () =>
        `insert into idempotency (workspace_id, operation, key, fingerprint, answer)
       select workspace_id, operation, 'again', fingerprint, answer from idempotency where key = 'verified'`,
      [ORDER_KEY_CHECK],
    ],
  ])('reports that %s', async (_what, fault, checks) => {
    await faults.plant(fault());

    expect((await faults.failedChecks()).sort()).toEqual([...checks].sort());
  });
});

describe('the verification of conversions, quotes and fees', () => {
  const { CONVERSIONS, CONVERTED, QUOTES, FEES } = CHECK;

  const setOrder = (order: Order, change: string) => `update customer_order set ${change} where id = ${order.id}`;
  const setQuote = (change: string) => `update quote set ${change} where id = ${orders.quoted.quoteID}`;
  const setConversion = (change: string) =>
    `update conversion set ${change} where transaction_id = ${transactionOf(orders.abroad)}`;
  /** A rate just below 83.00: the target amount is one unit too high, and the sum is still right. */
  const roundUp = () =>
    setConversion(`rate = '82.99999999995', remainder_numerator = -5, remainder_denominator = 1000000`);
  const deleteConversion = () =>
    `update conversion set source_amount = null where transaction_id = ${transactionOf(orders.abroad)}`;

  it.each<[string, () => string, readonly string[]]>([
    ['a conversion is lost', deleteConversion, [CONVERSIONS]],
    [
      'nothing was converted',
      () =>
        `update transfer set type = 'payout' where type = 'spot' and transaction_id = ${transactionOf(orders.abroad)}`,
      [CONVERSIONS],
    ],
    ['a conversion has another rate', () => setConversion(`rate = '1'`), [CONVERTED]],
    [
      'a conversion has another remainder',
      () => setConversion('remainder_numerator = remainder_numerator + 1, remainder_denominator = 1000'),
      [CONVERTED],
    ],
    ['a conversion is rounded up', roundUp, [CONVERTED]],
    [
      'a conversion has other amounts',
      () => setConversion('source_amount = source_amount * 2, target_amount = target_amount * 2'),
      [CONVERTED],
    ],
    ['a quote was used by an order that does not name it', () => setOrder(orders.quoted, 'quote_id = null'), [QUOTES]],
    [
      'a quote was used by an order for later',
      () => `update quote_use set order_id = ${orders.later.id} where order_id = ${orders.quoted.id}`,
      [QUOTES, QUOTES, QUOTES],
    ],
    ['the use of a quote is lost', () => `delete from quote_use where order_id = ${orders.quoted.id}`, [QUOTES]],
    ['a quote has another amount', () => setQuote('amount = amount + 1'), [QUOTES]],
    ['a quote has another rate', () => setQuote("rate = '1'"), [QUOTES]],
    ['a fee is not that of the quote', () => setQuote('fee_amount = fee_amount + 1'), [FEES]],
    [
      'a fee has another amount on both sides',
      () =>
        `update transfer set amount = amount + 1 where type = 'fee' and transaction_id = ${transactionOf(orders.abroad)};
         update transfer set own_legs = ${otherFees('o.account_id', 'o.amount + 1')} where own_legs is not null and transaction_id = ${transactionOf(orders.abroad)}`,
      [FEES],
    ],
    [
      'a fee is credited to another account than that of fees',
      () =>
        `update transfer set own_legs = ${otherFees(
          `(select id from account a where a.workspace_id = transfer.workspace_id and a.kind = 'settlement' and a.currency_id = o.currency_id)`,
          'o.amount',
        )} where own_legs is not null and transaction_id = ${transactionOf(orders.abroad)}`,
      [FEES],
    ],
  ])('reports that %s', async (_what, fault, checks) => {
    await faults.plant(fault());

    expect((await faults.failedChecks()).sort()).toEqual([...checks].sort());
  });
});

describe('the verification of a payment to an account here', () => {
  it.each([
    ['its workspace', 'NW0000000006'],
    ['another workspace', 'NW0000000008'],
  ])('reports that it credited another account than the one of its recipient, in %s', async (_where, code) => {
    const [transactionId] = [transactionOf(await faults.payInto(code)), await faults.payInto(code)];
    expect(await faults.failedChecks()).toEqual([]);

    await faults.plant(
      `insert into account (workspace_id, id, currency_id, product_id, name, type, code)
       select workspace_id, 990001, currency_id, product_id, name, type, 'another' from account where code = '${code}';
       insert into audit_outbox (workspace_id, entries) select workspace_id,
         '[{"operation": "openAccount", "outcome": "done", "resourceType": "account", "resourceId": 990001, "actor": {"type": "system"}}]'
         from account where id = 990001;
       update transfer t set account_id = 990001 from account a, transaction x
       where a.code = '${code}' and (t.workspace_id, t.account_id) = (a.workspace_id, a.id)
         and x.id = ${transactionId} and t.created_at = x.created_at`,
    );

    expect(await faults.failedChecks()).toEqual([PAYEE_CHECK]);
  });

  it('is not compared with the rows of a workspace that has left for another cell', async () => {
    const code = 'NW0000000008';
    const transactionId = transactionOf(await faults.payInto(code));
    const loseCredit = `update transfer t set amount = amount + 1 from account a, transaction x
      where a.code = '${code}' and (t.workspace_id, t.account_id) = (a.workspace_id, a.id)
        and x.id = ${transactionId} and t.created_at = x.created_at`;
    await faults.plant(loseCredit);
    expect(await faults.failedChecks()).toContain(PAYEE_CHECK);

    await faults.plant(
      `insert into cell_identity (number, name) values (0, 'home');
       insert into cell_workspace (workspace_id, state)
       select id, case when id = (select workspace_id from account where code = '${code}') then 'gone' else 'open' end from workspace`,
    );
    expect(await faults.failedChecks()).not.toContain(PAYEE_CHECK);
  });

  it('reports that it credited an account here with the code of an account of another workspace', async () => {
    await faults.payInto('NW0000000006');

    await faults.plant(
      `update recipient set account_code = 'NW0000000008' where account_code = 'NW0000000006';
       update account set code = 'NW0000000008' where code = 'NW0000000006'`,
    );

    expect(await faults.failedChecks()).toContain(PAYEE_CHECK);
  });
});

/** The legs of our own, with another account and amount of the credited fee. */
const otherFees = (accountId: string, amount: string) => `(
  select array_agg(case when o.type = 'fee' then row(o.id, ${accountId}, o.currency_id, o.type, ${amount})::own_leg else o end)
  from unnest(own_legs) o)`;

describe('the verification of references', () => {
  let transactionId: number;
  let orderId: number;

  beforeEach(() => {
    [transactionId, orderId] = [transactionOf(faults.orders.abroad), faults.orders.abroad.id];
  });

  const details = async () => {
    const { world } = faults;
    const findings = await verifyPayments(world.database, Object.values(world.demo.workspaces), { rangeRows: 3 });
    return findings.filter(({ check }) => check === REFERENCE_CHECK.check).map(({ detail }) => detail);
  };

  const ofTransfers = (change: string) =>
    `update transfer set ${change} where transaction_id = ${transactionId} and type = 'fee'`;

  const ofOrder = (change: string) => `update customer_order set ${change} where id = ${orderId}`;

  const ofConversion = (change: string) => `update conversion set ${change} where transaction_id = ${transactionId}`;

  it('reports nothing in an unchanged database', async () => {
    expect(await details()).toEqual([]);
  });

  it.each<[string, () => string, RegExp]>([
    [
      'a transfer without its transaction',
      () => ofTransfers('transaction_id = 999999999'),
      /^transfer \d+ names transaction 999999999, which is not there$/,
    ],
    [
      'a transfer without its account',
      () => ofTransfers('account_id = 999999999'),
      /^transfer \d+ names account 999999999 in currency \d+, which is not there$/,
    ],
    [
      'a leg of our own without its account',
      () =>
        `update transfer set own_legs = ${otherFees('999999999', 'o.amount')} where own_legs is not null and transaction_id = ${transactionId}`,
      /^transfer \d+ names account 999999999 in currency \d+, which is not there$/,
    ],
    [
      'a transfer in another currency than its account',
      () => ofTransfers('currency_id = 356'),
      /^transfer \d+ names account \d+ in currency 356, which is not there$/,
    ],
    [
      'a transfer without its recipient',
      () => ofTransfers(`recipient_id = 999999999, recipient_digest = decode(repeat('0', 64), 'hex')`),
      /^transfer \d+ names recipient 999999999, which is not there$/,
    ],
    [
      'an order without its account',
      () => ofOrder('account_id = 999999999'),
      /^order \d+ names account 999999999, which is not there$/,
    ],
    [
      'an order without its recipient',
      () => ofOrder('recipient_id = 999999999'),
      /^order \d+ names recipient 999999999, which is not there$/,
    ],
    [
      'a conversion without its source currency',
      () => `delete from currency where id = 950; ${ofConversion('source_currency_id = 950')}`,
      /^the conversion of transaction \d+ names currency 950, which is not there$/,
    ],
    [
      'a conversion without its target currency',
      () => `delete from currency where id = 950; ${ofConversion('target_currency_id = 950')}`,
      /^the conversion of transaction \d+ names currency 950, which is not there$/,
    ],
  ])('reports %s', async (_what, fault, detail) => {
    await faults.plant(fault());

    expect(await details()).toEqual([expect.stringMatching(detail)]);
  });
});
