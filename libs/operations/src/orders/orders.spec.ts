import type { OrderWish, TransferAmount } from '@banking/domain';
import { expectWellFormed } from '../testing/resources.js';
import { orderWorld } from '../testing/order-world.js';
import { wordOf } from '../testing/worlds.js';

let given: Awaited<ReturnType<typeof orderWorld>>;
let { world, service, ada, eve, account, near, key, balanceOf, order: wish } = {} as typeof given;

beforeAll(async () => {
  given = await orderWorld();
  ({ world, service, ada, eve, account, near, key, balanceOf, order: wish } = given);
});
afterAll(() => world.close());
afterEach(() => given.expectInOrder());

describe('Given two accounts of a workspace', () => {
  it('When one pays the other, Then both have moved when it is answered', async () => {
    const [from, to] = [await account(1, '1000'), await account(1, '0')];

    const { resource } = await service.placeOrder(ada, wish(from, await near(to), { description: 'Rent' }), key());

    expectWellFormed(resource);
    expect(resource).toMatchObject({
      status: 'completed',
      edges: { executions: [{ sequence: 1, status: 'completed', edges: { transaction: { status: 'completed' } } }] },
    });
    expect([await balanceOf(from), await balanceOf(to)]).toEqual([900, 100]);
    expect(await service.getOrder(ada, { accountId: from, orderId: resource.id })).toEqual(resource);
  });

  it('When it asks for more than it holds, Then nothing has happened', async () => {
    const [from, to] = [await account(1, '50'), await account(1, '0')];

    expect(await wordOf(service.placeOrder(ada, wish(from, await near(to)), key()))).toBe('insufficient_funds');
    expect((await service.listOrders(ada, { accountId: from })).items).toEqual([]);
  });

  it('When twenty requests come with one key at once, Then one order is placed and all have its answer', async () => {
    const [from, to] = [await account(1, '1000'), await account(1, '0')];
    const recipient = await near(to);
    const intent = key();

    const answers = await Promise.all(range(20).map(() => service.placeOrder(ada, wish(from, recipient), intent)));

    expect(new Set(answers.map(({ resource }) => JSON.stringify(resource))).size).toBe(1);
    expect(answers.filter(({ isReplay }) => !isReplay)).toHaveLength(1);
    expect(await balanceOf(from)).toBe(900);
    expect(await wordOf(service.placeOrder(ada, wish(from, recipient, { description: 'Other' }), intent))).toBe('idempotency_key_reused'); // prettier-ignore
  });

  it('When thirty spend what is there for ten, Then ten are carried out', async () => {
    const [from, to] = [await account(1, '1000'), await account(1, '0')];
    const recipient = await near(to);

    const words = await Promise.all(range(30).map(() => wordOf(service.placeOrder(ada, wish(from, recipient), key()))));

    expect(words.filter((word) => word === undefined)).toHaveLength(10);
    expect(words.filter((word) => word === 'insufficient_funds')).toHaveLength(20);
    expect([await balanceOf(from), await balanceOf(to)]).toEqual([0, 1000]);
  });
});

describe('Given an account in another workspace', () => {
  it('When it is paid, Then both books have moved', async () => {
    const [from, to] = [await account(1, '1000'), await account(1, '0', eve)];

    const { resource } = await service.placeOrder(ada, wish(from, await near(to, ada, eve)), key());

    expect(resource.status).toBe('completed');
    expect([await balanceOf(from), await balanceOf(to, eve)]).toEqual([900, 100]);
  });
});

describe('Given a recipient abroad', () => {
  const ABROAD = {
    countryCode: 'IN',
    currencyCode: 'INR',
    payoutMethod: 'LOCAL',
    data: { beneficiaryName: 'Asha Rao', destinationCountry: 'IN', beneficiaryAccountType: 'Individual', beneficiaryCountryCode: 'IN', beneficiaryAccountNumber: '00601234567890', routingCodeType1: 'IFSC', routingCodeValue1: 'ICIC0000001' }, // prettier-ignore
  } as const;
  const far = async () => (await service.addInternationalRecipient(ada, ABROAD)).resource.id;
  const abroad = { amount: '100000' as TransferAmount, purposeCode: 'IR002' };

  it('When they are paid in their own currency, Then rate, fee and remainder are written down, and every currency balances', async () => {
    const from = await account(1, '1000000');

    const { resource } = await service.placeOrder(ada, wish(from, await far(), abroad), key());

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

  it('When a quote is named, Then its price is paid, once', async () => {
    const from = await account(1, '1000000');
    const recipientID = await far();
    const { resource: quote } = await service.createQuote(ada, { accountID: from, recipientID, amount: abroad.amount });
    const asQuoted = wish(from, recipientID, { ...abroad, quoteID: quote.id });

    const words = await Promise.all(range(5).map(() => wordOf(service.placeOrder(ada, asQuoted, key()))));

    expect(words.sort()).toEqual(['quote_used', 'quote_used', 'quote_used', 'quote_used', undefined]);
    const { rows } = await world.owner.query('select target_amount from conversion where quote_id = $1', [quote.id]);
    expect(rows).toEqual([{ target_amount: BigInt(quote.targetAmount) }]);
    expect(await wordOf(service.placeOrder(ada, { ...asQuoted, amount: '100001' as TransferAmount }, key()))).toBe(
      'quote_not_found',
    );
  });

  it.each<[string, Partial<OrderWish>, string]>([
    ['no purpose', { purposeCode: undefined }, 'purpose_code_required'],
    ['a purpose that is none', { purposeCode: 'XX' }, 'purpose_code_invalid'],
    ['a cent', { amount: '1' as TransferAmount }, 'amount_below_minimum'],
    ['more than the corridor takes', { amount: '900000000000' as TransferAmount }, 'amount_above_maximum'],
    ['a quote that is not there', { quoteID: 999_999 as never }, 'quote_not_found'],
    ['a start', { startAt: '2999-01-01T00:00:00Z' }, 'schedule_invalid'],
    ['another’s recipient', { recipientID: 999_999 as never }, 'recipient_invalid'],
    ['an amount of nothing', { amount: '0' as TransferAmount }, 'amount_malformed'],
  ])('When the order has %s, Then it is refused and nothing is written', async (_, more, word) => {
    const from = await account(1, '1000000');
    const recipientID = await far();

    expect(await wordOf(service.placeOrder(ada, wish(from, recipientID, { ...abroad, ...more }), key()))).toBe(word);
    expect(await balanceOf(from)).toBe(1_000_000);
  });
});

describe('Given an account that somebody else holds', () => {
  it('When orders of many accounts come, Then only its own wait, and are carried out when it is free', async () => {
    const [held, free, to] = [await account(1, '1000'), await account(1, '1000'), await account(1, '0')];
    const recipient = await near(to);
    const outsider = world.owner;
    await outsider.query('begin');
    await outsider.query('select from account where id = $1 for update', [held]);

    const waiting = service.placeOrder(ada, wish(held, recipient), key());
    const behind = service.placeOrder(ada, wish(held, recipient), key());
    const others = range(5).map(() => service.placeOrder(ada, wish(free, recipient), key()));
    expect((await Promise.all(others)).map(({ resource }) => resource.status)).toEqual(range(5).map(() => 'completed'));
    expect(await balanceOf(held)).toBe(1_000);

    await outsider.query('rollback');
    await Promise.all([waiting, behind]);
    expect(await balanceOf(held)).toBe(800);
  });
});

const range = (length: number) => Array.from({ length }, (_, index) => index);
