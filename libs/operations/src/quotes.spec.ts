import { EventEmitter, once } from 'node:events';
import { convert, parseTransferAmount, rateOf, type AccountId, type QuoteId, type QuoteWish, type RecipientId, type Scope, type UserId, type WorkspaceId } from '@banking/domain'; // prettier-ignore
import { LedgerBankingService } from './ledger-banking-service.js';
import { DEMO_RATES } from './rates/demo-rate-source.js';
import { NO_RATES, type RateSource } from './rates/rate-source.js';
import { expectWellFormed } from './testing/resources.js';
import { demoWorld, wordOf } from './testing/worlds.js';

let world: Awaited<ReturnType<typeof demoWorld>>;
let service: LedgerBankingService;
let ada: Scope & { workspaceId: WorkspaceId };
let eve: Scope & { workspaceId: WorkspaceId };
let usd: AccountId;
let ravi: RecipientId;

beforeAll(async () => {
  world = await demoWorld();
  service = quoting(DEMO_RATES);
  const workspace = (name: string) => world.demo.workspaces[name] as WorkspaceId;
  ada = { actor: world.demo.users['ada@northwind.example'] as UserId, workspaceId: workspace('Northwind Trading') };
  eve = { actor: world.demo.users['eve@southwind.example'] as UserId, workspaceId: workspace('Southwind Imports') };
  usd = account('Northwind Trading USD');
  ravi = world.demo.recipients['international'] as RecipientId;
});
afterAll(() => world.close());

const quoting = (rates?: RateSource) =>
  new LedgerBankingService(world.database, world.books, { ...(rates && { rates }) });
const account = (name: string) => world.demo.accounts[name] as AccountId;
const wish = (part: Partial<Record<keyof QuoteWish, unknown>> = {}) =>
  ({ accountID: usd, recipientID: ravi, amount: '250000', ...part }) as QuoteWish;
const quote = async (part: Partial<Record<keyof QuoteWish, unknown>> = {}) =>
  (await service.createQuote(ada, wish(part))).resource;
const toNobody = (targetCurrency: string, part: object = {}) => ({ recipientID: undefined, targetCurrency, ...part });

/** A source that answers as it is told, and counts how often it is asked. */
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

describe('Given a payment abroad', () => {
  it('When it is quoted, Then rate, fee and what arrives are said, and it is kept as it was said', async () => {
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

  it('When the exact rate has no end, Then what is kept is the rate shown, and what rounding left over', async () => {
    const given = await quote(toNobody('JPY', { accountID: account('Northwind Trading EUR'), amount: '12345' }));

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

  it('When it stays in the currency of the account, Then the rate is one, also where there is no source', async () => {
    const berlin = (await service.listRecipients(ada)).items.find(({ alias }) => alias === 'Berlin office')!;
    const within = { accountID: account('Northwind Trading EUR'), recipientID: berlin.id, amount: '18750' };

    const { resource } = await quoting().createQuote(ada, wish(within));

    expect(resource).toMatchObject({ rate: '1', feeAmount: '0', targetAmount: '18750' });
    expect(await wordOf(quoting().createQuote(ada, wish()))).toBe('rate_unavailable');
  });

  it.each<[string, object, string]>([
    ['both a recipient and a currency', { targetCurrency: 'INR' }, 'body_malformed'],
    ['neither', { recipientID: undefined }, 'body_malformed'],
    ['an amount of nothing', { amount: '0' }, 'amount_malformed'],
    ['an amount with a point', { amount: '1.5' }, 'amount_malformed'],
    ['more than is stored', { amount: '9223372036854775808' }, 'amount_out_of_range'],
    ['a currency that is none', toNobody('inr'), 'currency_unknown'],
    ['a metal', toNobody('XAU'), 'currency_unknown'],
    ['a currency without a rate', toNobody('GEL'), 'rate_unavailable'],
    ['too little for the corridor', { amount: '999' }, 'amount_below_minimum'],
    ['too much for the corridor', { amount: '5000001' }, 'amount_above_maximum'],
    ['an account that is none', { accountID: 999_999 }, 'account_not_found'],
    ['a recipient that is none', { recipientID: 999_999 }, 'recipient_invalid'],
  ])('When it is quoted for %s, Then it is refused, and nothing is kept', async (_, part, word) => {
    const count = async () => (await world.owner.query('select from quote')).rowCount;
    const before = await count();

    expect(await wordOf(quote(part))).toBe(word);

    expect(await count()).toBe(before);
  });

  it('When it names neither or both, Then both fields are named', async () => {
    await expect(service.createQuote(ada, wish({ targetCurrency: 'INR' }))).rejects.toMatchObject({
      details: [{ path: '/recipientID' }, { path: '/targetCurrency' }],
    });
  });

  it('When the account is disabled, the corridor closed or the recipient forgotten, Then it is refused', async () => {
    await service.changeAccount(ada, { accountId: usd, status: 'disabled' });
    expect(await wordOf(quote())).toBe('account_disabled');
    await service.changeAccount(ada, { accountId: usd, status: 'enabled' });

    await world.owner.query(`update corridor set enabled = false where destination_country = 'IN'`);
    expect(await wordOf(quote())).toBe('corridor_disabled');
    expect(await quote(toNobody('INR'))).not.toHaveProperty('feeAmount');
    await world.owner.query(`update corridor set enabled = true where destination_country = 'IN'`);

    const { resource } = await service.addInternalRecipient(ada, { accountCode: 'NW0000000001' });
    await service.forgetRecipient(ada, { recipientId: resource.id });
    expect(await wordOf(quote({ recipientID: resource.id }))).toBe('recipient_invalid');
  });

  it('When the recipient is the account itself, Then there is nothing to quote, as there is nothing to order', async () => {
    const { accountID } = wish();
    const { code = '' } = await service.getAccount(ada, { accountId: accountID });
    const { resource } = await service.addInternalRecipient(ada, { accountCode: code });

    expect(await wordOf(quote({ recipientID: resource.id }))).toBe('recipient_invalid');
  });

  it('When the account holds less, Then it is quoted all the same', async () => {
    expect(await quote(toNobody('INR', { amount: '999999999999' }))).toMatchObject({ targetAmount: '82999999999917' });
  });
});

describe('Given an account of another workspace as the recipient', () => {
  it('When a payment is quoted, Then its currency is told, for that is what arrives, and nothing else', async () => {
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

  it('When somebody else asks with it or for it, Then it is not there', async () => {
    const given = await quote();

    expect(await wordOf(service.getQuote(eve, { quoteId: given.id }))).toBe('quote_unknown');
    expect(await wordOf(service.getQuote(ada, { quoteId: 999_999 as QuoteId }))).toBe('quote_unknown');
    expect(await wordOf(service.createQuote(eve, wish()))).toBe('account_not_found');
    const own = { accountID: account('Southwind Imports USD') };
    expect(await wordOf(service.createQuote(eve, wish(own)))).toBe('recipient_invalid');
  });
});

describe('Given a key', () => {
  it('When the request comes again and the source is down, Then the answer is the first one, and nobody is asked', async () => {
    const { told, rates } = toldSource();
    const asking = quoting(rates);
    const first = await asking.createQuote(ada, wish(), { idempotencyKey: 'quote' });
    told.isDown = true;

    const again = await asking.createQuote(ada, wish(), { idempotencyKey: 'quote' });

    expect(again).toEqual({ resource: first.resource, isReplay: true });
    expect(told.asked).toBe(1);
    expect(await wordOf(asking.createQuote(ada, wish({ amount: '250001' }), { idempotencyKey: 'quote' }))).toBe(
      'idempotency_key_reused',
    );
  });

  it('When it was refused, Then the key is free', async () => {
    const { told, rates } = toldSource();
    told.isDown = true;
    const intent = { idempotencyKey: 'down' };
    expect(await wordOf(quoting(rates).createQuote(ada, wish(), intent))).toBe('rate_unavailable');
    told.isDown = false;

    expect(await quoting(rates).createQuote(ada, wish(), intent)).toMatchObject({ isReplay: false });
  });

  it('When twenty come at once, Then one quote is given', async () => {
    const given = await Promise.all(
      Array.from({ length: 20 }, () =>
        service.createQuote(ada, wish(), { idempotencyKey: 'race' }).catch((error: { reason: string }) => error.reason),
      ),
    );

    const ids = given.flatMap((made) => (typeof made === 'string' ? [] : [made.resource.id]));
    expect(new Set(ids).size).toBe(1);
    expect(given.filter((made) => typeof made === 'string' && made !== 'idempotency_in_progress')).toEqual([]);
  });

  it('When the source takes its time, Then no connection waits for it', async () => {
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
    const waiting = quoting(slow).createQuote(ada, wish(), { idempotencyKey: 'slow' });
    await question;

    const { rows } = await world.owner.query(
      `select from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`,
    );
    expect(rows).toEqual([]);
    answered.emit('answer');
    expect(await waiting).toMatchObject({ isReplay: false });
  });
});
