import { verifyPayments } from '../testing/order-world.js';
import { type OrderFaults, orderFaults, transactionOf } from '../testing/order-faults.js';
import { REFERENCE_CHECK } from './verify-payments.js';

let faults: OrderFaults;
let transactionId: number;
let orderId: number;

beforeEach(async () => {
  faults = await orderFaults();
  [transactionId, orderId] = [transactionOf(faults.orders.abroad), faults.orders.abroad.id];
});
afterEach(() => faults.world.close());

const details = async () => {
  const { world } = faults;
  const findings = await verifyPayments(world.database, Object.values(world.demo.workspaces), { rangeRows: 3 });
  return findings.filter(({ check }) => check === REFERENCE_CHECK.check).map(({ detail }) => detail);
};

const ofTransfers = (change: string) =>
  `update transfer set ${change} where transaction_id = ${transactionId} and type = 'fee' and account_version is not null`;
const ofOrder = (change: string) => `update customer_order set ${change} where id = ${orderId}`;
const ofConversion = (change: string) => `update conversion set ${change} where transaction_id = ${transactionId}`;

describe('the verification of references', () => {
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
      'a transfer in another currency than its account',
      () => ofTransfers('currency_id = 356'),
      /^transfer \d+ names account \d+ in currency 356, which is not there$/,
    ],
    [
      'a transfer without its recipient',
      () => ofTransfers(`recipient_id = 999999999, recipient_digest = repeat('0', 64)`),
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
