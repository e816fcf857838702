import type { Order } from '@banking/domain';
import { CHECK, type OrderFaults, orderFaults, transactionOf } from '../testing/order-faults.js';

let faults: OrderFaults;
let orders: OrderFaults['orders'];

beforeEach(async () => {
  faults = await orderFaults();
  orders = faults.orders;
});
afterEach(() => faults.world.close());

describe('the verification of conversions, quotes and fees', () => {
  const { CONVERSIONS, CONVERTED, QUOTES, FEES } = CHECK;

  const setOrder = (order: Order, change: string) => `update customer_order set ${change} where id = ${order.id}`;
  const setQuote = (change: string) => `update quote set ${change} where id = ${orders.quoted.quoteID}`;
  const setConversion = (change: string) =>
    `update conversion set ${change} where transaction_id = ${transactionOf(orders.abroad)}`;
  /** A rate just below 83.00: the target amount is one unit too high, and the sum is still right. */
  const roundUp = (rounding: string) =>
    `alter table conversion drop constraint conversion_rounds_down;
     ${setConversion(`rounding = '${rounding}', rate = '82.99999999995', remainder_numerator = -5, remainder_denominator = 1000000`)}`;
  const deleteConversion = () => `delete from conversion where transaction_id = ${transactionOf(orders.abroad)}`;

  it.each<[string, () => string, readonly string[]]>([
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
    ['a conversion has another rate', () => setConversion(`rate = '1'`), [CONVERTED]],
    [
      'a conversion has another remainder',
      () => setConversion('remainder_numerator = remainder_numerator + 1, remainder_denominator = 1000'),
      [CONVERTED],
    ],
    ['a conversion is rounded up and marked as rounded down', () => roundUp('down'), [CONVERTED]],
    ['no conversion is wrong that was rounded half to even, as in an older version', () => roundUp('half-even'), []],
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
        `update transfer set amount = amount + 1 where type = 'fee' and transaction_id = ${transactionOf(orders.abroad)}`,
      [FEES],
    ],
    [
      'a fee is credited to another account than that of fees',
      () =>
        `update transfer set account_id = (select id from account a where a.workspace_id = transfer.workspace_id and a.kind = 'settlement' and a.currency_id = transfer.currency_id)
         where type = 'fee' and direction = 'credit' and transaction_id = ${transactionOf(orders.abroad)}`,
      [FEES],
    ],
  ])('reports that %s', async (_what, fault, checks) => {
    await faults.plant(fault());

    expect((await faults.failedChecks()).sort()).toEqual([...checks].sort());
  });
});
