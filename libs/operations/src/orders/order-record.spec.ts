import { Reference } from '../reference/reference.js';
import { ORDER, type OrderFacts } from '../resources/compose-order.js';
import { orderRecord, responseOf } from './order-writes.js';

/** Written by the first program with this version. A stored record is replayed for thirty days, so later programs read it. */
const RECORD =
  '[2,7,[11,"5000","completed","instant","Rent","IR001",null,null,null,null,null,null,null,"ref-1",{"a":"b"},"2026-11-22 09:30:00.5+00",' +
  '"2026-11-22 09:30:00.5+00",[[12,1,"pending","2026-11-22 09:30:00.5+00","2026-11-22 09:30:00.5+00",null,null,' +
  '[13,"pending","aa",null,null,"2026-11-22 09:30:00.5+00","2026-11-22 09:30:00.5+00",' +
  '[[14,"5000","Rent","debit","payout","IR001","100","2026-11-22 09:30:00.5+00","94900",null]]],' +
  '[15,"2026-11-22 09:30:00.5+00","2026-11-22 09:30:00.5+00",null]]],' +
  '1,"Main","enabled","CACC",null,"DE1","2026-11-21 08:00:00+00","2026-11-21 08:00:00+00",14,"94900","2026-11-22 09:30:00.5+00",978,1,' +
  '2,"Grace","DE89370400440532013000",null,true,"2026-11-21 08:00:00+00","2026-11-21 08:00:00+00",978,true,null,null,null,null,null]]';

const AT = '2026-11-22T09:30:00.500000Z';
const BEFORE = '2026-11-21T08:00:00.000000Z';
const EURO = { id: 978, code: 'EUR', name: 'Euro', decimals: 2, createdAt: BEFORE, updatedAt: BEFORE };
const CURRENT_ACCOUNT = {
  id: 1,
  name: 'Current account',
  createdAt: BEFORE,
  updatedAt: BEFORE,
  edges: { currency: EURO },
};
const TIMES = ['2026-11-21 08:00:00+00', '2026-11-21 08:00:00+00'];
const REFERENCE = new Reference(7n, [
  [[978, 'EUR', 'Euro', null, 2, null, ...TIMES]],
  [[1, 'Current account', null, 978, ...TIMES]],
  [],
]);

const ACCOUNT = {
  id: 1,
  name: 'Main',
  status: 'enabled',
  type: 'CACC',
  code: 'DE1',
  createdAt: BEFORE,
  updatedAt: BEFORE,
  edges: {
    balances: [{ id: 14, amount: 94_900, createdAt: AT, updatedAt: AT }],
    currency: EURO,
    product: CURRENT_ACCOUNT,
  },
};
const RESPONSE = {
  id: 11,
  amount: '5000',
  status: 'completed',
  type: 'instant',
  description: 'Rent',
  purposeCode: 'IR001',
  externalReference: 'ref-1',
  metadata: { a: 'b' },
  createdAt: AT,
  updatedAt: AT,
  edges: {
    account: ACCOUNT,
    recipient: {
      id: 2,
      name: 'Grace',
      accountCode: 'DE89370400440532013000',
      saved: true,
      createdAt: BEFORE,
      updatedAt: BEFORE,
      edges: { currency: EURO },
    },
    executions: [
      {
        id: 12,
        sequence: 1,
        status: 'pending',
        scheduledAt: AT,
        executedAt: AT,
        edges: {
          transaction: {
            id: 13,
            status: 'pending',
            hash: 'aa',
            orderID: 11,
            createdAt: AT,
            updatedAt: AT,
            edges: {
              internationalRemittance: { id: 15, createdAt: AT, updatedAt: AT, edges: { events: [] } },
              transfers: [
                {
                  id: 14,
                  amount: '5000',
                  description: 'Rent',
                  direction: 'debit',
                  type: 'payout',
                  purpose: 'IR001',
                  feeAmount: '100',
                  createdAt: AT,
                  updatedAt: AT,
                  edges: { account: ACCOUNT, balance: { id: 14, amount: 94_900, createdAt: AT, updatedAt: AT } },
                },
              ],
            },
          },
        },
      },
    ],
  },
};

const reference = {
  ofVersion: (version: bigint) => {
    expect(version).toBe(7n);
    return Promise.resolve(REFERENCE);
  },
};

describe('the record of a response', () => {
  it('is composed to the same bytes by every later program', async () => {
    expect(JSON.stringify(await responseOf(reference, RECORD))).toBe(JSON.stringify(RESPONSE));
  });

  it('of version 1 is the response itself', async () => {
    expect(JSON.stringify(await responseOf(reference, JSON.stringify(RESPONSE)))).toBe(JSON.stringify(RESPONSE));
  });

  it('has the placer of the order if it was written with one', async () => {
    const [version, referenceVersion, values] = JSON.parse(RECORD) as [number, number, unknown[]];
    const record = JSON.stringify([version, referenceVersion, [...values, 4, null]]);

    expect(await responseOf(reference, record)).toEqual({ ...RESPONSE, placedBy: 4 });
  });

  it('of a version to come is not read', async () => {
    await expect(responseOf(reference, '[3,7,[]]')).rejects.toThrow('a record of a response has the unknown version 3');
  });

  it('has a place for every fact', () => {
    const facts = { orderId: 11n } as OrderFacts;
    const [, , values] = JSON.parse(orderRecord(7n, facts)) as [number, number, unknown[]];

    const quoted = ORDER.columns.split(' as "').length - 1;
    expect(ORDER.columns).toMatch(/ as executions$/);
    expect(values).toHaveLength(quoted + 1);
  });
});
