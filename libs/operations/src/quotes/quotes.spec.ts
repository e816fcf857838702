import { EventEmitter, once } from 'node:events';
import {
  convert,
  parseTransferAmount,
  rateOf,
  type AccountId,
  type QuoteId,
  type CreateQuoteInput,
  type RecipientId,
} from '@banking/domain';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { DEMO_RATES } from '@banking/rates';
import { NO_RATES, type RateSource } from '@banking/rates';
import { reasonOf } from '@banking/postgres/testing';
import { expectWellFormed } from '../testing/order-world.js';
import { orderWorld, type OrderWorld } from '../testing/order-world.js';
let { world, ada, eve } = {} as OrderWorld;
let service: LedgerBankingService;
let usd: AccountId;
let ravi: RecipientId;

beforeAll(async () => {
  ({ world, ada, eve } = await orderWorld());
  service = quoting(DEMO_RATES);
  usd = account('Northwind Trading USD');
  ravi = world.demo.recipients['international'] as RecipientId;
});
afterAll(() => world.close());

const quoting = (rates?: RateSource) =>
  new LedgerBankingService(world.database, world.books, { ...(rates && { rates }), hasPayoutNetwork: true });
const account = (name: string) => world.demo.accounts[name] as AccountId;
const quoteInput = (part: Partial<Record<keyof CreateQuoteInput, unknown>> = {}) =>
  ({ accountID: usd, recipientID: ravi, amount: '250000', ...part }) as CreateQuoteInput;
const quote = async (part: Partial<Record<keyof CreateQuoteInput, unknown>> = {}) =>
  (await service.createQuote(ada, quoteInput(part))).resource;
const withoutRecipient = (targetCurrency: string, part: object = {}) => ({
  recipientID: undefined,
  targetCurrency,
  ...part,
});

/** A source with scripted responses that counts its calls. */
function toldSource() {
  const told = { asked: 0, isDown: false };
  const rates: RateSource = {
    rateOf: async (from, to) => {
      told.asked += 1;
      return (told.isDown ? NO_RATES : DEMO_RATES).rateOf(from, to);
    },
  };
  return { told, rates };
}

describe('a quote of a payment abroad', () => {
  it('shows rate, fee and arriving amount, and is stored as shown', async () => {
    const given = await quote();

    expectWellFormed(given);
    expect(given).toMatchObject({
      amount: '250000',
      rate: '83',
      feeAmount: '600',
      targetAmount: '20750000',
      edges: { account: { id: usd }, recipient: { id: ravi }, targetCurrency: { code: 'INR' } },
    });
    expect(Date.parse(given.expiresAt) - Date.parse(given.createdAt!)).toBe(300_000);
    expect(await service.getQuote(ada, { quoteId: given.id })).toEqual(given);
  });

  it('stores the shown rate and the remainder if the exact rate has no end', async () => {
    const given = await quote(
      withoutRecipient('JPY', { accountID: account('Northwind Trading EUR'), amount: '12345' }),
    );

    const exact = convert(parseTransferAmount('12345'), rateOf('EUR', 'JPY', given.rate), 'down');
    expect(given).toMatchObject({ rate: '179.06976744186', targetAmount: exact.amount.toString() });
    expect(exact.remainder.numerator).not.toBe(0n);
    const { rows } = await world.owner.query(
      `select rounding, remainder_numerator, remainder_denominator, rate_source, rate_as_of::text from quote where id = $1`,
      [given.id],
    );
    expect(rows).toEqual([
      {
        rounding: 'down',
        remainder_numerator: exact.remainder.numerator.toString(),
        remainder_denominator: exact.remainder.denominator.toString(),
        rate_source: 'Demo rates of this project',
        rate_as_of: expect.stringMatching(/^2026-11-21 00:00:00/) as string,
      },
    ]);
  });

  it('has the rate 1 within a currency, also without a source', async () => {
    const berlin = (await service.listRecipients(ada)).items.find(({ alias }) => alias === 'Berlin office')!;
    const within = { accountID: account('Northwind Trading EUR'), recipientID: berlin.id, amount: '18750' };

    const { resource } = await quoting().createQuote(ada, quoteInput(within));

    expect(resource).toMatchObject({ rate: '1', feeAmount: '0', targetAmount: '18750' });
    expect(await reasonOf(quoting().createQuote(ada, quoteInput()))).toBe('rate_unavailable');
  });

  it.each<[string, object, string]>([
    ['both a recipient and a currency', { targetCurrency: 'INR' }, 'body_malformed'],
    ['neither', { recipientID: undefined }, 'body_malformed'],
    ['an amount of nothing', { amount: '0' }, 'amount_malformed'],
    ['an amount with a point', { amount: '1.5' }, 'amount_malformed'],
    ['more than is stored', { amount: '9223372036854775808' }, 'amount_out_of_range'],
    ['a currency that is none', withoutRecipient('inr'), 'currency_unknown'],
    ['a metal', withoutRecipient('XAU'), 'currency_unknown'],
    ['a currency without a rate', withoutRecipient('GEL'), 'rate_unavailable'],
    ['too little for the corridor', { amount: '999' }, 'amount_below_minimum'],
    ['too much for the corridor', { amount: '5000001' }, 'amount_above_maximum'],
    ['an account that is none', { accountID: 999_999 }, 'account_not_found'],
    ['a recipient that is none', { recipientID: 999_999 }, 'recipient_invalid'],
  ])('is refused for %s, and nothing is stored', async (_, part, word) => {
    const count = async () => (await world.owner.query('select from quote')).rowCount;
    const before = await count();

    expect(await reasonOf(quote(part))).toBe(word);

    expect(await count()).toBe(before);
  });

  it('names both fields if it has neither or both', async () => {
    await expect(service.createQuote(ada, quoteInput({ targetCurrency: 'INR' }))).rejects.toMatchObject({
      details: [{ path: '/recipientID' }, { path: '/targetCurrency' }],
    });
  });

  it('is refused if the account is disabled, the corridor closed or the recipient deleted', async () => {
    await service.changeAccount(ada, { accountId: usd, status: 'disabled' });
    expect(await reasonOf(quote())).toBe('account_disabled');
    await service.changeAccount(ada, { accountId: usd, status: 'enabled' });

    await world.owner.query(`update corridor set enabled = false where destination_country = 'IN'`);
    expect(await reasonOf(quote())).toBe('corridor_disabled');
    expect(await quote(withoutRecipient('INR'))).not.toHaveProperty('feeAmount');
    await world.owner.query(`update corridor set enabled = true where destination_country = 'IN'`);

    const { resource } = await service.addInternalRecipient(ada, { accountCode: 'NW0000000001' });
    await service.deleteRecipient(ada, { recipientId: resource.id });
    expect(await reasonOf(quote({ recipientID: resource.id }))).toBe('recipient_invalid');
  });

  it('is refused if the recipient is the account itself, as an order is', async () => {
    const { accountID } = quoteInput();
    const { code = '' } = await service.getAccount(ada, { accountId: accountID as AccountId });
    const { resource } = await service.addInternalRecipient(ada, { accountCode: code });

    expect(await reasonOf(quote({ recipientID: resource.id }))).toBe('recipient_invalid');
  });

  it('is given if the account holds less', async () => {
    expect(await quote(withoutRecipient('INR', { amount: '999999999999' }))).toMatchObject({
      targetAmount: '82999999999917',
    });
  });
});

describe('a quote of a payment to another workspace', () => {
  it('discloses the arriving currency and nothing else', async () => {
    const { code: accountCode = '' } = await service.getAccount(eve, { accountId: account('Southwind Imports USD') });
    const { resource } = await service.addInternalRecipient(ada, { accountCode });

    const given = await quote({
      accountID: account('Northwind Trading GBP'),
      recipientID: resource.id,
      amount: '75500',
    });

    expect(given).toMatchObject({ feeAmount: '0', targetAmount: '99999', edges: { targetCurrency: { code: 'USD' } } });
    expect(given.edges.recipient).toEqual(resource);
    expect(JSON.stringify(given)).not.toContain('Southwind');
  });

  it('is not found by another workspace', async () => {
    const given = await quote();

    expect(await reasonOf(service.getQuote(eve, { quoteId: given.id }))).toBe('quote_not_found');
    expect(await reasonOf(service.getQuote(ada, { quoteId: 999_999 as QuoteId }))).toBe('quote_not_found');
    expect(await reasonOf(service.createQuote(eve, quoteInput()))).toBe('account_not_found');
    const own = { accountID: account('Southwind Imports USD') };
    expect(await reasonOf(service.createQuote(eve, quoteInput(own)))).toBe('recipient_invalid');
  });
});

describe('a quote with a key', () => {
  it('is returned again without a call of the source', async () => {
    const { told, rates } = toldSource();
    const asking = quoting(rates);
    const first = await asking.createQuote(ada, quoteInput(), { idempotencyKey: 'quote' });
    told.isDown = true;

    const again = await asking.createQuote(ada, quoteInput(), { idempotencyKey: 'quote' });

    expect(again).toEqual({ resource: first.resource, isReplay: true });
    expect(told.asked).toBe(1);
    expect(await reasonOf(asking.createQuote(ada, quoteInput({ amount: '250001' }), { idempotencyKey: 'quote' }))).toBe(
      'idempotency_key_reused',
    );
  });

  it('leaves the key free if it is refused', async () => {
    const { told, rates } = toldSource();
    told.isDown = true;
    const options = { idempotencyKey: 'down' };
    expect(await reasonOf(quoting(rates).createQuote(ada, quoteInput(), options))).toBe('rate_unavailable');
    told.isDown = false;

    expect(await quoting(rates).createQuote(ada, quoteInput(), options)).toMatchObject({ isReplay: false });
  });

  it('is given once for twenty concurrent requests', async () => {
    const given = await Promise.all(
      Array.from({ length: 20 }, () =>
        service
          .createQuote(ada, quoteInput(), { idempotencyKey: 'race' })
          .catch((error: { reason: string }) => error.reason),
      ),
    );

    const ids = given.flatMap((made) => (typeof made === 'string' ? [] : [made.resource.id]));
    expect(new Set(ids).size).toBe(1);
    expect(given.filter((made) => typeof made === 'string' && made !== 'idempotency_in_progress')).toEqual([]);
  });

  it('holds no connection while the source is slow', async () => {
    const [asked, answered] = [new EventEmitter(), new EventEmitter()];
    const slow: RateSource = {
      rateOf: async (from, to) => {
        const answer = once(answered, 'answer');
        asked.emit('asked');
        await answer;
        return DEMO_RATES.rateOf(from, to);
      },
    };
    const question = once(asked, 'asked');
    const waiting = quoting(slow).createQuote(ada, quoteInput(), { idempotencyKey: 'slow' });
    await question;

    const { rows } = await world.owner.query(
      `select from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`,
    );
    expect(rows).toEqual([]);
    answered.emit('answer');
    expect(await waiting).toMatchObject({ isReplay: false });
  });
});
