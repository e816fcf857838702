import type { Order } from '@banking/domain';
import { until } from '@banking/postgres/testing';
import { verifyPayments } from '../testing/order-world.js';
import { CHECK, executionOf, type OrderFaults, orderFaults, transactionOf } from '../testing/order-faults.js';
import { ORDER_KEY_CHECK, RUN_TIMES_CHECK } from './verify-orders.js';
import { REFERENCE_CHECK } from './verify-payments.js';

let faults: OrderFaults;
let orders: OrderFaults['orders'];

beforeEach(async () => {
  faults = await orderFaults();
  orders = faults.orders;
});
afterEach(() => faults.world.close());

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
  /** The response itself, as it was stored before records. */
  const VERSION_1 = `(
    select json_strip_nulls(json_build_object(
      'id', o.id, 'amount', o.amount::text, 'type', o.type, 'description', o.description, 'purposeCode', o.purpose_code,
      'repeatUnit', o.repeat_unit, 'repeatValue', o.repeat_value, 'startAt', rfc3339(o.start_at), 'stopAt', rfc3339(o.stop_at),
      'quoteID', o.quote_id, 'externalReference', o.external_reference, 'metadata', o.metadata, 'createdAt', rfc3339(o.created_at),
      'edges', json_build_object('account', json_build_object('id', o.account_id), 'recipient', json_build_object('id', o.recipient_id))
    ))::jsonb from customer_order o where o.id = (answer::jsonb #>> '{2,0}')::bigint)`;
  const setResponse = (answer: string) => `update idempotency set answer = ${answer} where key = 'verified'`;
  const deleteConversion = () => `delete from conversion where transaction_id = ${transactionOf(orders.abroad)}`;

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
         select workspace_id, 900001, 'completed', repeat('0', 64) from transaction where id = ${transactionOf(orders.keyed)};
         insert into transfer (workspace_id, id, transaction_id, account_id, currency_id, direction, amount, type, account_version, balance_after)
         select workspace_id, 900001, 900001, account_id, currency_id, 'debit', 1, 'fee', account_version + 1000, 0 from transfer
         where transaction_id = ${transactionOf(orders.keyed)} and direction = 'debit' and type <> 'fee' and account_version is not null`,
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
      'a stored response has another amount',
      () => setResponse(`jsonb_set(answer::jsonb, '{2,1}', '"1"')`),
      [ORDER_KEY_CHECK],
    ],
    [
      'a stored response has other metadata',
      () => setResponse(`jsonb_set(answer::jsonb, '{2,14}', '{}')`),
      [ORDER_KEY_CHECK],
    ],
    [
      'a stored response names an unknown order',
      () => setResponse(`jsonb_set(answer::jsonb, '{2,0}', '999999999')`),
      [ORDER_KEY_CHECK],
    ],
    [
      'a stored response of version 1 has another amount',
      () => setResponse(`jsonb_set(${VERSION_1}, '{amount}', '"1"')`),
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

  it('reads stored responses of version 1', async () => {
    await faults.plant(setResponse(VERSION_1));

    expect(await faults.failedChecks()).toEqual([]);
  });
});
