import type { Intent, Order, OrderWish, RecipientId, Scope, TransferAmount, UserId, WorkspaceId } from '@banking/domain'; // prettier-ignore
import { LedgerBankingService } from '../ledger-banking-service.js';
import { DEMO_RATES } from '../rates/demo-rate-source.js';
import { demoWorld } from '../testing/worlds.js';
import { verifyPayments } from '../verify-payments.js';
import { ORDER_KEY_CHECK } from './verify-order-keys.js';
import { ORDER_FAULTS } from './verify-orders.js';
import { RUN_TIME_CHECK } from './verify-run-times.js';

let world: Awaited<ReturnType<typeof demoWorld>>;
/** Places an order that runs now and one for later, and cancels every other one of those. */
let meanwhile: (count: number) => Promise<void>;
let orders: { abroad: Order; quoted: Order; keyed: Order; later: Order; cancelled: Order };

/** One order of each way to end, in a world of its own: what is planted never comes out again. */
beforeEach(async () => {
  world = await demoWorld();
  const service = new LedgerBankingService(world.database, world.books, { rates: DEMO_RATES });
  const ada: Scope & { workspaceId: WorkspaceId; actor: UserId } = {
    actor: world.demo.users['ada@northwind.example'] as UserId,
    workspaceId: world.demo.workspaces['Northwind Trading'] as WorkspaceId,
  };
  const accountId = (await service.openAccount(ada, { productID: 1 as never })).resource.id;
  await service.fundAccount(ada, { accountId, amount: '100000000' as TransferAmount });
  const recipientID = world.demo.recipients['international'] as RecipientId;
  const amount = '100000' as TransferAmount;
  const { resource: quote } = await service.createQuote(ada, { accountID: accountId, recipientID, amount });
  const place = async (more: Partial<OrderWish>, intent: Intent = {}) => {
    const wish = { accountId, recipientID, amount, type: 'instant', purposeCode: 'IR001', ...more } as const;
    return (await service.placeOrder(ada, wish, intent)).resource;
  };
  const monthly = { type: 'recurring', repeatUnit: 'monthly', repeatValue: 1, startAt: '2099-01-31T09:00:00Z' } as const; // prettier-ignore
  orders = {
    abroad: await place({ externalReference: 'abroad' }),
    quoted: await place({ quoteID: quote.id, externalReference: 'quoted' }),
    keyed: await place({ metadata: { invoice: '2107' } }, { idempotencyKey: 'verified' }),
    later: await place(monthly),
    cancelled: await place(monthly),
  };
  await service.cancelOrder(ada, { accountId, orderId: orders.cancelled.id });
  meanwhile = async (count) => {
    await place({}, { idempotencyKey: `meanwhile-${count}` });
    const { id: orderId } = await place(monthly);
    if (count % 2 === 0) await service.cancelOrder(ada, { accountId, orderId });
  };
});
afterEach(() => world.close());

async function found(): Promise<string[]> {
  const findings = await verifyPayments(world.database, Object.values(world.demo.workspaces));
  const northwind = world.demo.workspaces['Northwind Trading'];
  expect(findings.filter(({ workspaceId }) => workspaceId !== northwind)).toEqual([]);
  return findings.map(({ check }) => check);
}

/** Does something that the walls forbid, as a superuser whose triggers and foreign keys are off. */
const plant = (text: string) =>
  world.owner.query(`begin; set local session_replication_role = replica; ${text}; commit`);

const executionOf = ({ edges }: Order) => edges.executions![0]!.id;
const transactionOf = ({ edges }: Order) => edges.executions![0]!.edges.transaction!.id;

describe('Given orders nobody has tampered with', () => {
  it('When orders are placed and cancelled between the ranges, Then nothing is found, and no range stays open', async () => {
    let ranges = 0;
    const open = new Set<number>();
    const findings = await verifyPayments(world.database, Object.values(world.demo.workspaces), {
      rangeRows: 2,
      onRange: async () => {
        ranges += 1;
        const { rows } = await world.owner.query<{ open: number }>(
          `select count(*)::int as open from pg_stat_activity
           where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null`,
        );
        open.add(rows[0]!.open);
        if (ranges <= 12) await meanwhile(ranges);
      },
    });

    expect(findings).toEqual([]);
    expect(ranges).toBeGreaterThan(12);
    expect(open).toEqual(new Set([0]));
  });

  it('When they are verified, Then nothing is found', async () => {
    expect(await found()).toEqual([]);
  });
});

describe('Given a fault planted behind the walls', () => {
  const [EXECUTIONS, STANDS, STEPS, PAID, CONVERSIONS, CONVERTED, PAYOUTS, QUOTES, FORGOTTEN, REFERENCES, ONCE, DEBITS, FEES] = ORDER_FAULTS.map(({ check }) => check) as [string, string, string, string, string, string, string, string, string, string, string, string, string]; // prettier-ignore

  const insertRun = (order: Order, sequence: number, status: string) =>
    `insert into execution (workspace_id, order_id, sequence, status, scheduled_at)
     select workspace_id, id, ${sequence}, '${status}', '2099-02-28T09:00:00Z' from customer_order where id = ${order.id}`;
  const setOrder = (order: Order, change: string) => `update customer_order set ${change} where id = ${order.id}`;
  const setRun = (order: Order, change: string) => `update execution set ${change} where id = ${executionOf(order)}`;
  const setQuote = (change: string) => `update quote set ${change} where id = ${orders.quoted.quoteID}`;
  const setConversion = (change: string) =>
    `update conversion set ${change} where transaction_id = ${transactionOf(orders.abroad)}`;
  /** 83.00 and a little less, so that one unit too much arrives: the sum is right, and the rounding is up. */
  const roundUp = (rounding: string) =>
    `alter table conversion drop constraint conversion_rounds_down;
     ${setConversion(`rounding = '${rounding}', rate = '82.99999999995', remainder_numerator = -5, remainder_denominator = 1000000`)}`; // prettier-ignore
  const setResponse = (answer: string) => `update idempotency set answer = ${answer} where key = 'verified'`;
  const deleteConversion = () => `delete from conversion where transaction_id = ${transactionOf(orders.abroad)}`;

  it.each<[string, () => string, readonly string[]]>([
    ['an order is not there', () => `delete from customer_order where id = ${orders.later.id}`, [EXECUTIONS]],
    ['an order has no execution', () => `delete from execution where order_id = ${orders.cancelled.id}`, [STANDS]],
    [
      'executions do not start at one',
      () => setRun(orders.later, `sequence = 2, scheduled_at = '2099-02-28T09:00:00Z'`),
      [STANDS],
    ],
    ['two executions are to come', () => insertRun(orders.later, 2, 'scheduled'), [STANDS, FORGOTTEN]],
    ['an execution is to come before the last', () => insertRun(orders.later, 2, 'cancelled'), [STANDS]],
    ['an instant order has run twice', () => insertRun(orders.abroad, 2, 'failed').replace('scheduled_at)', 'scheduled_at, failure_code)').replace("Z' from", "Z', 'unavailable' from"), [STANDS]], // prettier-ignore
    ['a completed order is to run', () => setOrder(orders.later, `status = 'completed'`), [STANDS]],
    ['a cancelled order is to run', () => setOrder(orders.later, `status = 'cancelled'`), [STANDS]],
    ['an active order is never to run again', () => setOrder(orders.cancelled, `status = 'active'`), [STANDS]],
    ['an order failed and no execution has', () => setOrder(orders.abroad, `status = 'failed'`), [STANDS]],
    ['an execution is completed and its transaction pending', () => setRun(orders.abroad, `status = 'completed'`), [STEPS]], // prettier-ignore
    ['an execution failed and its transaction has not', () => setRun(orders.abroad, `status = 'failed', failure_code = 'payout_rejected'`), [STEPS]], // prettier-ignore
    ['an order says another amount', () => setOrder(orders.abroad, 'amount = amount + 1'), [PAID]],
    ['an order says another recipient', () => setOrder(orders.abroad, 'recipient_id = recipient_id + 1'), [PAID, FEES]],
    ['an order is of another account', () => setOrder(orders.abroad, 'account_id = account_id + 1'), [PAID]],
    [
      'the fee was taken as payment',
      () => `update transfer set type = 'spot' where type = 'fee' and transaction_id = ${transactionOf(orders.abroad)}`,
      [PAID],
    ],
    ['a conversion is lost', deleteConversion, [CONVERSIONS]],
    [
      'a conversion is of no transaction',
      () => setConversion('transaction_id = 999999999'),
      [CONVERSIONS, CONVERSIONS, CONVERTED],
    ],
    [
      'nothing was converted',
      () =>
        `update transfer set type = 'payout' where type = 'spot' and transaction_id = ${transactionOf(orders.abroad)}`,
      [CONVERSIONS],
    ],
    ['a conversion says another rate', () => setConversion(`rate = '1'`), [CONVERTED]],
    ['a conversion drops its remainder', () => setConversion('remainder_numerator = remainder_numerator + 1, remainder_denominator = 1000'), [CONVERTED]], // prettier-ignore
    ['a conversion is rounded up and says down', () => roundUp('down'), [CONVERTED]],
    ['a conversion is rounded half to even, as before', () => roundUp('half-even'), []],
    ['a conversion says other amounts', () => setConversion('source_amount = source_amount * 2, target_amount = target_amount * 2'), [CONVERTED]], // prettier-ignore
    [
      'a payout is of no order',
      () => `delete from execution where id = ${executionOf(orders.abroad)};
             delete from customer_order where id = ${orders.abroad.id}; ${deleteConversion()}`,
      [PAYOUTS, DEBITS],
    ],
    ['a quote was used by an order that does not name it', () => setOrder(orders.quoted, 'quote_id = null'), [QUOTES]],
    ['a quote was used by an order for later', () => `update quote_use set order_id = ${orders.later.id} where order_id = ${orders.quoted.id}`, [QUOTES, QUOTES, QUOTES]], // prettier-ignore
    ['the use of a quote is lost', () => `delete from quote_use where order_id = ${orders.quoted.id}`, [QUOTES]],
    ['a quote says another amount', () => setQuote('amount = amount + 1'), [QUOTES]],
    ['a quote says another rate', () => setQuote("rate = '1'"), [QUOTES]],
    ['an execution is not in the queue', () => `delete from work where subject_id = ${executionOf(orders.later)} and kind = 'execution'`, [FORGOTTEN]], // prettier-ignore
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
        `insert into transaction (workspace_id, id, status, hash, value_date)
         select workspace_id, 900001, 'completed', repeat('0', 64), current_date from transaction where id = ${transactionOf(orders.keyed)};
         insert into transfer (workspace_id, id, transaction_id, account_id, currency_id, direction, amount, type, account_version, balance_after)
         select workspace_id, 900001, 900001, account_id, currency_id, 'debit', 1, 'fee', account_version + 1000, 0 from transfer
         where transaction_id = ${transactionOf(orders.keyed)} and direction = 'debit' and type <> 'fee' and account_version is not null`,
      [DEBITS],
    ],
    ['a debit is of no execution', () => `update execution set transaction_id = null, status = 'failed', failure_code = 'unavailable' where id = ${executionOf(orders.keyed)}`, [PAYOUTS, CONVERSIONS, DEBITS]], // prettier-ignore
    ['a fee is not that of the quote', () => setQuote('fee_amount = fee_amount + 1'), [FEES]],
    ['a fee is of a corridor without a schedule', () => `update recipient set corridor_id = 999999 where id = ${orders.abroad.edges.recipient!.id}`, [FEES, FEES]], // prettier-ignore
    ['a run is at another time', () => setRun(orders.later, `scheduled_at = scheduled_at + interval '1 hour'`), [RUN_TIME_CHECK]], // prettier-ignore
    ['a cancelled run is at another time', () => setRun(orders.cancelled, `scheduled_at = scheduled_at - interval '2 us'`), [RUN_TIME_CHECK]], // prettier-ignore
    ['an anchor is moved', () => setOrder(orders.later, `anchor = '2099-02-01T09:00:00Z'`), [RUN_TIME_CHECK]],
    [
      'a run is behind the end of its schedule',
      () =>
        `${setRun(orders.later, `sequence = 2, scheduled_at = '2099-02-28T09:00:00Z'`)};
         ${setOrder(orders.later, `stop_at = '2099-02-01T09:00:00Z'`)}`,
      [STANDS, RUN_TIME_CHECK],
    ],
    ['a stored response says another amount', () => setResponse(`jsonb_set(answer::jsonb, '{amount}', '"1"')`), [ORDER_KEY_CHECK]], // prettier-ignore
    ['a stored response says other metadata', () => setResponse(`jsonb_set(answer::jsonb, '{metadata}', '{}')`), [ORDER_KEY_CHECK]], // prettier-ignore
    ['a stored response names an order that is not there', () => setResponse(`jsonb_set(answer::jsonb, '{id}', '999999999')`), [ORDER_KEY_CHECK]], // prettier-ignore
    ['a stored response is of another account', () => `update idempotency set operation = 'placeOrder/1' where key = 'verified'`, [ORDER_KEY_CHECK]], // prettier-ignore
    [
      'an order has two stored responses',
      () =>
        `insert into idempotency (workspace_id, operation, key, fingerprint, answer)
         select workspace_id, operation, 'again', fingerprint, answer from idempotency where key = 'verified'`,
      [ORDER_KEY_CHECK],
    ],
  ])('When %s, Then it is found', async (_what, fault, checks) => {
    await plant(fault());

    expect((await found()).sort()).toEqual([...checks].sort());
  });
});
