import type { PlaceOrderInput, TransferAmount } from '@banking/domain';
import { reasonOf } from '@banking/postgres/testing';
import { expectWellFormed, orderWorld, type OrderWorld } from '../testing/order-world.js';

let given: OrderWorld;
let { world, service, ada, eve, account, near, key, balanceOf, order: orderOf } = {} as typeof given;

beforeAll(async () => {
  given = await orderWorld();
  ({ world, service, ada, eve, account, near, key, balanceOf, order: orderOf } = given);
});
afterAll(() => world.close());
afterEach(() => given.expectInOrder());

describe('an order between two accounts of a workspace', () => {
  it('has moved the money when it returns', async () => {
    const [from, to] = [await account(1, '1000'), await account(1, '0')];

    const { resource } = await service.placeOrder(ada, orderOf(from, await near(to), { description: 'Rent' }), key());

    expectWellFormed(resource);
    expect(resource).toMatchObject({
      status: 'completed',
      edges: { executions: [{ sequence: 1, status: 'completed', edges: { transaction: { status: 'completed' } } }] },
    });
    expect([await balanceOf(from), await balanceOf(to)]).toEqual([900, 100]);
    expect(await service.getOrder(ada, { accountId: from, orderId: resource.id })).toEqual(resource);
  });

  it('changes nothing if the account holds too little', async () => {
    const [from, to] = [await account(1, '50'), await account(1, '0')];

    expect(await reasonOf(service.placeOrder(ada, orderOf(from, await near(to)), key()))).toBe('insufficient_funds');
    expect((await service.listOrders(ada, { accountId: from })).items).toEqual([]);
  });

  it('is placed once for twenty concurrent requests with one key', async () => {
    const [from, to] = [await account(1, '1000'), await account(1, '0')];
    const recipient = await near(to);
    const options = key();

    const answers = await Promise.all(range(20).map(() => service.placeOrder(ada, orderOf(from, recipient), options)));

    expect(new Set(answers.map(({ resource }) => JSON.stringify(resource))).size).toBe(1);
    expect(answers.filter(({ isReplay }) => !isReplay)).toHaveLength(1);
    expect(await balanceOf(from)).toBe(900);
    expect(await reasonOf(service.placeOrder(ada, orderOf(from, recipient, { description: 'Other' }), options))).toBe(
      'idempotency_key_reused',
    );
  });

  it('is carried out ten times if thirty concurrent orders spend the balance of ten', async () => {
    const [from, to] = [await account(1, '1000'), await account(1, '0')];
    const recipient = await near(to);

    const words = await Promise.all(
      range(30).map(() => reasonOf(service.placeOrder(ada, orderOf(from, recipient), key()))),
    );

    expect(words.filter((word) => word === undefined)).toHaveLength(10);
    expect(words.filter((word) => word === 'insufficient_funds')).toHaveLength(20);
    expect([await balanceOf(from), await balanceOf(to)]).toEqual([0, 1000]);
  });
});

describe('an order to an account of another workspace', () => {
  it('moves the money in both books', async () => {
    const [from, to] = [await account(1, '1000'), await account(1, '0', eve)];

    const { resource } = await service.placeOrder(ada, orderOf(from, await near(to, ada, eve)), key());

    expect(resource.status).toBe('completed');
    expect([await balanceOf(from), await balanceOf(to, eve)]).toEqual([900, 100]);
  });
});

describe('an order to a recipient abroad', () => {
  const ABROAD = {
    countryCode: 'IN',
    currencyCode: 'INR',
    payoutMethod: 'LOCAL',
    data: {
      beneficiaryName: 'Asha Rao',
      destinationCountry: 'IN',
      beneficiaryAccountType: 'Individual',
      beneficiaryCountryCode: 'IN',
      beneficiaryAccountNumber: '00601234567890',
      routingCodeType1: 'IFSC',
      routingCodeValue1: 'ICIC0000001',
    },
  } as const;
  const far = async () => (await service.addInternationalRecipient(ada, ABROAD)).resource.id;
  const abroad = { amount: '100000' as TransferAmount, purposeCode: 'IR002' };

  it('stores rate, fee and remainder, and balances every currency', async () => {
    const from = await account(1, '1000000');

    const { resource } = await service.placeOrder(ada, orderOf(from, await far(), abroad), key());

    expectWellFormed(resource);
    const [execution] = resource.edges.executions ?? [];
    expect(execution).toMatchObject({ status: 'pending', edges: { transaction: { status: 'pending' } } });
    const transfers = execution?.edges.transaction?.edges.transfers ?? [];
    expect(transfers.map(({ type, direction }) => [type, direction])).toEqual([
      ['spot', 'debit'],
      ['fee', 'debit'],
    ]);
    const [spot, fee] = transfers;
    expect(spot?.feeAmount).toBe(fee?.amount);
    expect(BigInt((await balanceOf(from)) as number)).toBe(900_000n - BigInt(fee?.amount ?? ''));
    const { rows } = await world.owner.query(
      `select source_amount, target_amount, rate, (source_amount::numeric * rate::numeric * 1 - target_amount) * remainder_denominator = remainder_numerator as adds_up
       from conversion where transaction_id = $1`,
      [execution?.edges.transaction?.id],
    );
    expect(rows).toMatchObject([{ adds_up: true }]);
  });

  it('is priced by its quote, once', async () => {
    const from = await account(1, '1000000');
    const recipientID = await far();
    const { resource: quote } = await service.createQuote(ada, { accountID: from, recipientID, amount: abroad.amount });
    const asQuoted = orderOf(from, recipientID, { ...abroad, quoteID: quote.id });

    const words = await Promise.all(range(5).map(() => reasonOf(service.placeOrder(ada, asQuoted, key()))));

    expect(words.sort()).toEqual(['quote_used', 'quote_used', 'quote_used', 'quote_used', undefined]);
    const { rows } = await world.owner.query('select target_amount from conversion where quote_id = $1', [quote.id]);
    expect(rows).toEqual([{ target_amount: BigInt(quote.targetAmount) }]);
    expect(await reasonOf(service.placeOrder(ada, { ...asQuoted, amount: '100001' as TransferAmount }, key()))).toBe(
      'quote_unusable',
    );
  });

  it.each<[string, Partial<PlaceOrderInput>, string]>([
    ['no purpose', { purposeCode: undefined }, 'purpose_code_required'],
    ['a purpose that is none', { purposeCode: 'XX' }, 'purpose_code_invalid'],
    ['a cent', { amount: '1' as TransferAmount }, 'amount_below_minimum'],
    ['more than the corridor takes', { amount: '900000000000' as TransferAmount }, 'amount_above_maximum'],
    ['a quote that is not there', { quoteID: 999_999 as never }, 'quote_unusable'],
    ['a start', { startAt: '2999-01-01T00:00:00Z' }, 'schedule_invalid'],
    ['another’s recipient', { recipientID: 999_999 as never }, 'recipient_invalid'],
    ['an amount of nothing', { amount: '0' as TransferAmount }, 'amount_malformed'],
  ])('is refused without any write for %s', async (_, more, word) => {
    const from = await account(1, '1000000');
    const recipientID = await far();

    expect(await reasonOf(service.placeOrder(ada, orderOf(from, recipientID, { ...abroad, ...more }), key()))).toBe(
      word,
    );
    expect(await balanceOf(from)).toBe(1_000_000);
  });
});

describe('an account that another session has locked', () => {
  it('delays its own orders only, which are carried out when it is free', async () => {
    const [held, free, to] = [await account(1, '1000'), await account(1, '1000'), await account(1, '0')];
    const recipient = await near(to);
    const outsider = world.owner;
    await outsider.query('begin');
    await outsider.query('select from account where id = $1 for update', [held]);

    const waiting = service.placeOrder(ada, orderOf(held, recipient), key());
    const behind = service.placeOrder(ada, orderOf(held, recipient), key());
    const others = range(5).map(() => service.placeOrder(ada, orderOf(free, recipient), key()));
    expect((await Promise.all(others)).map(({ resource }) => resource.status)).toEqual(range(5).map(() => 'completed'));
    expect(await balanceOf(held)).toBe(1_000);

    await outsider.query('rollback');
    await Promise.all([waiting, behind]);
    expect(await balanceOf(held)).toBe(800);
  });
});

const range = (length: number) => Array.from({ length }, (_, index) => index);
