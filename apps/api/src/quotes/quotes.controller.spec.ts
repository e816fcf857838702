import { ADA, openTestApp, type TestApp } from '../testing/test-app.js';
import { QuotesModule } from './quotes.module.js';

const QUOTE = { id: 9, amount: '250000', rate: '83', targetAmount: '20750000' };

describe('QuotesController', () => {
  const banking = { createQuote: jest.fn(), getQuote: jest.fn() };
  let app: TestApp;
  beforeAll(async () => {
    app = await openTestApp(QuotesModule, banking);
  });
  afterAll(() => app.close());
  afterEach(() => jest.resetAllMocks());

  it('quotes a payment', async () => {
    banking.createQuote.mockResolvedValue({ resource: QUOTE, isReplay: false });
    const input = { accountID: 1, recipientID: 2, amount: '250000' };

    const response = await app.send('POST /quotes', input, { 'idempotency-key': 'one' });

    expect(response).toMatchObject({ status: 201, body: QUOTE, headers: { location: '/payments/quotes/9' } });
    expect(banking.createQuote).toHaveBeenCalledWith(ADA, input, { idempotencyKey: 'one' });
  });

  it.each([
    [{ accountID: 1, amount: '2.50' }, 'amount_malformed'],
    [{ accountID: 1, amount: '9223372036854775808' }, 'amount_out_of_range'],
    [{ accountID: 1, targetCurrency: 'inr', amount: '1' }, 'currency_unknown'],
    [{ amount: '1' }, 'body_malformed'],
  ])('refuses %j', async (input, reason) => {
    expect(await app.send('POST /quotes', input)).toMatchObject({ status: 400, body: { reason } });
    expect(banking.createQuote).not.toHaveBeenCalled();
  });

  it('returns one quote', async () => {
    banking.getQuote.mockResolvedValue(QUOTE);

    expect(await app.send('GET /quotes/9')).toMatchObject({ status: 200, body: QUOTE });
    expect(banking.getQuote).toHaveBeenCalledWith(ADA, { quoteId: 9 });
  });
});
