import type { Order } from '@banking/domain';
import { type OrderFaults, orderFaults, transactionOf } from '../testing/order-faults.js';

let faults: OrderFaults;
let orders: OrderFaults['orders'];
const EDITED = ['customer_order', 'execution', 'transaction', 'recipient', 'beneficiary'];

beforeAll(async () => {
  faults = await orderFaults();
  orders = faults.orders;
  await faults.plant(EDITED.map((table) => `create table kept_${table} as table ${table}`).join(';'));
  await faults.plant('alter table customer_order drop constraint customer_order_schedule');
});
afterEach(() =>
  faults.plant(
    EDITED.map((table) => `delete from ${table}; insert into ${table} select * from kept_${table}`).join(';'),
  ),
);
afterAll(() => faults.world.close());

/** Texts of an order have a salted digest. */
const SALTED = `texts_salt = decode(repeat('5a', 16), 'hex'), texts_digest = sha256('x')`;

describe('the verification of what transactions cover', () => {
  const setOrder = (order: Order, change: string) => `update customer_order set ${change} where id = ${order.id}`;
  const setConversion = (change: string) =>
    `update conversion set ${change} where transaction_id = ${transactionOf(orders.quoted)}`;
  const setRecipient = (change: string) =>
    `update recipient set ${change} where id = ${orders.abroad.edges.recipient!.id}`;
  const setBank = (field: string) =>
    `update beneficiary set data = data || '{"${field}":"X"}' where recipient_id = ${orders.abroad.edges.recipient!.id}`;

  it('has no findings in intact books', async () => {
    expect(await faults.uncovered()).toEqual([]);
  });

  it.each([
    'account_id = account_id + 1',
    'recipient_id = recipient_id + 1',
    'amount = amount + 1',
    `type = 'scheduled'`,
    `description = 'Gift', ${SALTED}`,
    `purpose_code = 'IR002'`,
    'quote_id = quote_id + 1',
    `external_reference = 'other'`,
    `metadata = '{"invoice":"2108"}', ${SALTED}`,
  ])('finds an order after %s', async (change) => {
    await faults.plant(setOrder(orders.quoted, change));

    expect(await faults.uncovered()).toEqual([
      `transaction ${transactionOf(orders.quoted)} covers another order, or none`,
    ]);
  });

  it.each([
    'quote_id = quote_id + 1',
    'source_currency_id = 978',
    'source_amount = source_amount + 1',
    'target_currency_id = 978',
    'target_amount = target_amount + 1',
    `rate = '1'`,
    `rate_source = 'other'`,
    `rate_as_of = rate_as_of + interval '1 microsecond'`,
    `rounding = 'half-even'`,
    'remainder_numerator = remainder_numerator + 1, remainder_denominator = remainder_denominator + 1',
    'remainder_denominator = remainder_denominator + 1',
    `fixed_side = 'target'`,
  ])('finds a conversion after %s', async (change) => {
    await faults.plant(setConversion(change));

    expect(await faults.uncovered()).toEqual([
      `transaction ${transactionOf(orders.quoted)} covers another conversion, or none`,
    ]);
  });

  it.each<[string, () => string]>([
    ['name', () => setRecipient(`name = 'Eve'`)],
    ['account', () => setRecipient(`account_code = '50100099999999'`)],
    ['currency', () => setRecipient('currency_id = 978')],
    ['corridor', () => setRecipient('corridor_id = corridor_id + 1')],
    ['type of routing code', () => setBank('routingCodeType1')],
    ['routing code', () => setBank('routingCodeValue1')],
  ])('finds a recipient with another %s', async (_what, change) => {
    await faults.plant(change());

    const of = orders.abroad.edges.recipient!.id;
    expect(await faults.uncovered()).toEqual(
      expect.arrayContaining(
        [orders.abroad, orders.quoted, orders.keyed].map(
          (order) => `transaction ${transactionOf(order)} covers other details of recipient ${of}`,
        ),
      ),
    );
  });

  it.each<[string, () => string]>([
    ['order', () => `delete from execution where order_id = ${orders.quoted.id}`],
    ['conversion', () => setConversion('source_amount = null')],
  ])('finds a lost %s', async (what, change) => {
    await faults.plant(change());

    expect(await faults.uncovered()).toEqual([
      `transaction ${transactionOf(orders.quoted)} covers another ${what}, or none`,
    ]);
  });

  it.each([
    ...[
      'source_currency_id',
      'source_amount',
      'target_currency_id',
      'target_amount',
      'rate',
      'rate_source',
      'rate_as_of',
      'rounding',
    ],
    ...['remainder_numerator', 'remainder_denominator', 'fixed_side'],
  ])('finds a conversion without its %s', async (column) => {
    await faults.plant(setConversion(`${column} = null`));

    expect(await faults.uncovered()).toEqual([
      `transaction ${transactionOf(orders.quoted)} covers another conversion, or none`,
    ]);
  });

  it('finds a conversion in a currency that is none', async () => {
    await faults.plant(setConversion('source_currency_id = 9999'));

    expect(await faults.uncovered()).toEqual([
      `transaction ${transactionOf(orders.quoted)} covers another conversion, or none`,
    ]);
  });

  it('does not report an alias of a recipient or the end of an order, which may change', async () => {
    await faults.plant(
      `${setRecipient(`alias = 'Ravi', saved = false`)}; ${setOrder(orders.quoted, 'updated_at = now()')}`,
    );

    expect(await faults.uncovered()).toEqual([]);
  });
});
