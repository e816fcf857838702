import { Refusal } from '@banking/domain';
import { AppsModule } from './apps/apps.controller.js';
import { CorridorsModule } from './corridors/corridors.controller.js';
import { OrdersModule } from './orders/orders.controller.js';
import { ProductsModule } from './products/products.controller.js';
import { QuotesModule } from './quotes/quotes.controller.js';
import { RecipientsModule } from './recipients/recipients.controller.js';
import { SandboxModule } from './sandbox/sandbox.controller.js';
import { ADA, openTestApp, type TestApp } from './testing/test-app.js';
import { TransactionsModule } from './transactions/transactions.controller.js';
import { TransfersModule } from './transfers/transfers.controller.js';

const banking = {
  addInternalRecipient: jest.fn(),
  addInternationalRecipient: jest.fn(),
  addTransactionEvent: jest.fn(),
  changeRecipient: jest.fn(),
  createQuote: jest.fn(),
  deleteRecipient: jest.fn(),
  fundAccount: jest.fn(),
  getQuote: jest.fn(),
  getRecipient: jest.fn(),
  getTransaction: jest.fn(),
  getTransfer: jest.fn(),
  listAppUsers: jest.fn(),
  listApps: jest.fn(),
  listCorridors: jest.fn(),
  listProducts: jest.fn(),
  listPurposes: jest.fn(),
  listRecipientSchemas: jest.fn(),
  listRecipients: jest.fn(),
  listTransfers: jest.fn(),
  moveClock: jest.fn(),
};
let app: TestApp;

beforeAll(async () => {
  const modules = [
    AppsModule,
    CorridorsModule,
    OrdersModule,
    ProductsModule,
    QuotesModule,
    RecipientsModule,
    SandboxModule,
    TransactionsModule,
    TransfersModule,
  ];
  app = await openTestApp(modules, banking);
});
afterAll(() => app.close());
afterEach(() => jest.resetAllMocks());

describe('AppsController', () => {
  const APP = { id: 3, name: 'Northwind Treasury' };
  const USER = { id: 1, email: 'ada@northwind.example', edges: {} };

  it('lists the apps of the caller', async () => {
    banking.listApps.mockResolvedValue([APP]);

    expect(await app.send('GET /apps')).toMatchObject({ status: 200, body: [APP] });
    expect(banking.listApps).toHaveBeenCalledWith(ADA);
  });

  it('lists the users of an app', async () => {
    banking.listAppUsers.mockResolvedValue([USER]);

    expect(await app.send('GET /apps/3/users')).toMatchObject({ status: 200, body: [USER] });
    expect(banking.listAppUsers).toHaveBeenCalledWith(ADA, { appId: 3 });
  });

  it('refuses an app id that is not a whole number', async () => {
    expect(await app.send('GET /apps/x/users')).toMatchObject({ status: 400, body: { reason: 'id_malformed' } });
    expect(banking.listAppUsers).not.toHaveBeenCalled();
  });
});

describe('ProductsController', () => {
  const PRODUCT = { id: 2, name: 'EUR current account', edges: { currency: { id: 978, code: 'EUR', name: 'Euro' } } };

  beforeEach(() => banking.listProducts.mockResolvedValue([PRODUCT]));

  it('lists the products with an ETag', async () => {
    const { status, headers, body } = await app.send('GET /products');

    expect({ status, body }).toEqual({ status: 200, body: [PRODUCT] });
    expect(headers).toMatchObject({ etag: expect.stringMatching(/^".+"$/), 'cache-control': 'private, no-cache' });
    expect(banking.listProducts).toHaveBeenCalledWith(ADA);
  });

  it('responds with 304 and no body to a caller that has the products', async () => {
    const { headers } = await app.send('GET /products');

    const again = await app.send('GET /products', undefined, { 'if-none-match': String(headers.etag) });

    expect(again).toMatchObject({ status: 304, body: '' });
  });
});

describe('CorridorsController', () => {
  const CORRIDOR = { id: 1, destinationCountry: 'IN', edges: {} };

  beforeEach(() => {
    banking.listCorridors.mockImplementation(async (_: object, { country }: { country: string }) => {
      if (country === 'ZZ') throw new Refusal('country_unknown');
      return [CORRIDOR];
    });
  });

  it('lists the corridors to a country with an ETag', async () => {
    const { status, headers, body } = await app.send('GET /recipients/countries/IN/corridors');

    expect({ status, body, etag: headers.etag }).toEqual({ status: 200, body: [CORRIDOR], etag: expect.any(String) });
    expect(headers).not.toHaveProperty('deprecation');
    expect(banking.listCorridors).toHaveBeenCalledWith(ADA, { country: 'IN' });
  });

  it('lists them at the other path, with a link to the canonical one and without a date of removal', async () => {
    const { status, headers, body } = await app.send('GET /countries/IN/corridors');

    expect({ status, body }).toEqual({ status: 200, body: [CORRIDOR] });
    expect(headers.link).toBe('</payments/recipients/countries/IN/corridors>; rel="canonical"');
    expect(Object.keys(headers)).not.toEqual(expect.arrayContaining([expect.stringMatching(/deprecation|sunset/)]));
  });

  it('refuses a country that does not exist', async () => {
    const response = await app.send('GET /recipients/countries/ZZ/corridors');

    expect(response).toMatchObject({ status: 404, body: { reason: 'country_unknown' } });
  });
});

describe('RecipientsController', () => {
  const RECIPIENT = { id: 4, name: 'Ravi Menon', accountCode: '50100123456789', edges: {} };
  const CREATED = { resource: RECIPIENT, isReplay: false };
  const CORRIDOR = { countryCode: 'IN', currencyCode: 'INR', payoutMethod: 'LOCAL' };

  it('lists a page of saved recipients', async () => {
    banking.listRecipients.mockResolvedValue({ items: [RECIPIENT], next: 'n2' });

    const { status, headers, body } = await app.send('GET /recipients?saved=true');

    expect({ status, body }).toEqual({ status: 200, body: [RECIPIENT] });
    expect(headers.link).toBe('</payments/recipients?saved=true&cursor=n2>; rel="next"');
    expect(banking.listRecipients).toHaveBeenCalledWith(ADA, { saved: true });
  });

  it('adds a recipient abroad from query and body, with data as it was sent', async () => {
    banking.addInternationalRecipient.mockResolvedValue(CREATED);
    const input = { data: { beneficiaryName: 'Asha Rao', other: 'x' }, alias: 'Asha, Pune' };
    const query = new URLSearchParams(CORRIDOR).toString();

    const { status, headers, body } = await app.send(`POST /recipients/international?${query}`, input);

    expect({ status, body }).toEqual({ status: 201, body: RECIPIENT });
    expect(headers.location).toBe('/payments/recipients/4');
    expect(banking.addInternationalRecipient).toHaveBeenCalledWith(ADA, { ...CORRIDOR, ...input }, {});
  });

  it('adds an account of this service as a recipient', async () => {
    banking.addInternalRecipient.mockResolvedValue(CREATED);
    const input = { accountCode: 'NW0000000008', saved: false };

    const response = await app.send('POST /recipients/internal', input, { 'idempotency-key': 'one' });

    expect(response).toMatchObject({ status: 201, body: RECIPIENT, headers: { location: '/payments/recipients/4' } });
    expect(banking.addInternalRecipient).toHaveBeenCalledWith(ADA, input, { idempotencyKey: 'one' });
  });

  it.each([
    ['/recipients/internal', {}],
    ['/recipients/internal', { accountCode: 'NW0000000008', saved: 'no' }],
    ['/recipients/international?countryCode=IN&currencyCode=INR&payoutMethod=LOCAL', { data: 'x' }],
  ])('refuses POST %s with %j', async (path, input) => {
    expect(await app.send(`POST ${path}`, input)).toMatchObject({ status: 400, body: { reason: 'body_malformed' } });
  });

  it('returns one recipient', async () => {
    banking.getRecipient.mockResolvedValue(RECIPIENT);

    expect(await app.send('GET /recipients/4')).toMatchObject({ status: 200, body: RECIPIENT });
    expect(banking.getRecipient).toHaveBeenCalledWith(ADA, { recipientId: 4 });
  });

  it('changes a recipient', async () => {
    banking.changeRecipient.mockResolvedValue(RECIPIENT);

    expect(await app.send('PATCH /recipients/4', { saved: false })).toMatchObject({ status: 200, body: RECIPIENT });
    expect(banking.changeRecipient).toHaveBeenCalledWith(ADA, { recipientId: 4, saved: false });
  });

  it('deletes a recipient and sends no body', async () => {
    banking.deleteRecipient.mockResolvedValue(undefined);

    expect(await app.send('DELETE /recipients/4')).toMatchObject({ status: 204, body: '' });
    expect(banking.deleteRecipient).toHaveBeenCalledWith(ADA, { recipientId: 4 });
  });
});

describe('RecipientSchemasController', () => {
  const SCHEMA = { $id: 'urn:banking:recipient-schema:IN:INR:LOCAL:Individual:IFSC', type: 'object' };
  const CORRIDOR = 'countryCode=IN&currencyCode=INR&payoutMethod=LOCAL';

  beforeEach(() => banking.listRecipientSchemas.mockResolvedValue([SCHEMA]));

  it('lists the schemas of a corridor with an ETag', async () => {
    const path = `/recipients/validation-schema?${CORRIDOR}&beneficiaryAccountType=Individual`;
    const { status, headers, body } = await app.send(`GET ${path}`);

    expect({ status, body, etag: headers.etag }).toEqual({ status: 200, body: [SCHEMA], etag: expect.any(String) });
    expect(banking.listRecipientSchemas).toHaveBeenCalledWith(ADA, {
      countryCode: 'IN',
      currencyCode: 'INR',
      payoutMethod: 'LOCAL',
      beneficiaryAccountType: 'Individual',
    });
  });

  it('lists them at the other path, with a link to the canonical one', async () => {
    const { status, headers, body } = await app.send(`GET /validation-schema?${CORRIDOR}`);

    expect({ status, body }).toEqual({ status: 200, body: [SCHEMA] });
    expect(headers.link).toBe(`</payments/recipients/validation-schema?${CORRIDOR}>; rel="canonical"`);
  });

  it('caches the schemas of different corridors apart', async () => {
    await app.send('GET /recipients/validation-schema?countryCode=DE&currencyCode=EUR&payoutMethod=LOCAL');
    await app.send('GET /recipients/validation-schema?countryCode=DE&currencyCode=EUR&payoutMethod=SWIFT');

    expect(banking.listRecipientSchemas).toHaveBeenCalledTimes(2);
  });

  it.each(['countryCode=IN&currencyCode=INR', `${CORRIDOR}&beneficiaryAccountType=Other`, 'countryCode=I'])(
    'refuses the query %s',
    async (query) => {
      const response = await app.send(`GET /recipients/validation-schema?${query}`);

      expect(response).toMatchObject({ status: 400, body: { reason: 'parameter_invalid' } });
      expect(banking.listRecipientSchemas).not.toHaveBeenCalled();
    },
  );
});

describe('QuotesController', () => {
  const QUOTE = { id: 9, amount: '250000', rate: '83', targetAmount: '20750000' };

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

describe('PurposesController', () => {
  beforeEach(() => banking.listPurposes.mockResolvedValue({ IR001: 'Family maintenance' }));

  it('lists the purpose codes with an ETag', async () => {
    const { status, headers, body } = await app.send('GET /orders/purposes');

    expect({ status, body }).toEqual({ status: 200, body: { IR001: 'Family maintenance' } });
    expect(headers.etag).toMatch(/^".+"$/);
    expect(banking.listPurposes).toHaveBeenCalledWith(ADA);
  });
});

describe('TransfersController', () => {
  const TRANSFER = { id: 26, amount: '1875000', edges: {} };

  it('lists a page of transfers that match all filters', async () => {
    banking.listTransfers.mockResolvedValue({ items: [TRANSFER], next: 'n2' });
    const query = 'direction=debit&type=payout&transactionStatus=pending&createdTo=2026-11-21T09:30:00Z';

    const { status, headers, body } = await app.send(`GET /transfers?${query}`);

    expect({ status, body }).toEqual({ status: 200, body: [TRANSFER] });
    expect(headers.link).toMatch(/^<\/payments\/transfers\?direction=debit&.*&cursor=n2>; rel="next"$/);
    expect(banking.listTransfers).toHaveBeenCalledWith(ADA, {
      direction: 'debit',
      type: 'payout',
      transactionStatus: 'pending',
      createdTo: '2026-11-21T09:30:00Z',
    });
  });

  it.each([
    ['direction=up', 'parameter_invalid'],
    ['recipientId=x', 'id_malformed'],
    ['direction=debit&direction=credit', 'parameter_repeated'],
  ])('refuses a list with %s', async (query, reason) => {
    expect(await app.send(`GET /transfers?${query}`)).toMatchObject({ status: 400, body: { reason } });
    expect(banking.listTransfers).not.toHaveBeenCalled();
  });

  it('returns one transfer', async () => {
    banking.getTransfer.mockResolvedValue(TRANSFER);

    expect(await app.send('GET /transfers/26')).toMatchObject({ status: 200, body: TRANSFER });
    expect(banking.getTransfer).toHaveBeenCalledWith(ADA, { transferId: 26 });
  });
});

describe('TransactionsController', () => {
  const TRANSACTION = { id: 9, status: 'completed', edges: { transfers: [] } };

  it('returns one transaction', async () => {
    banking.getTransaction.mockResolvedValue(TRANSACTION);

    expect(await app.send('GET /transactions/9')).toMatchObject({ status: 200, body: TRANSACTION });
    expect(banking.getTransaction).toHaveBeenCalledWith(ADA, { transactionId: 9 });
  });

  it('responds 404 for a transaction that the workspace does not have', async () => {
    banking.getTransaction.mockRejectedValue(new Refusal('transaction_not_found'));

    expect(await app.send('GET /transactions/9')).toMatchObject({
      status: 404,
      body: { errorCode: 'invalid_request', reason: 'transaction_not_found' },
    });
  });

  it.each(['0', '09', 'x', '9007199254740992'])('refuses the id %s', async (id) => {
    expect(await app.send(`GET /transactions/${id}`)).toMatchObject({ status: 400, body: { reason: 'id_malformed' } });
    expect(banking.getTransaction).not.toHaveBeenCalled();
  });
});

describe('SandboxController', () => {
  const TRANSFER = { id: 30, amount: '1000000', edges: {} };
  const TRANSACTION = { id: 10, status: 'failed', edges: { transfers: [TRANSFER] } };

  it('funds an account and says where the transfer is', async () => {
    banking.fundAccount.mockResolvedValue({ resource: TRANSFER, isReplay: false });

    const response = await app.send('POST /sandbox/accounts/4/fundings', { amount: '1000000' });

    expect(response).toMatchObject({ status: 201, body: TRANSFER, headers: { location: '/payments/transfers/30' } });
    expect(banking.fundAccount).toHaveBeenCalledWith(ADA, { accountId: 4, amount: '1000000' }, {});
  });

  it('adds an event to a transaction and says where the transaction is', async () => {
    banking.addTransactionEvent.mockResolvedValue({ resource: TRANSACTION, isReplay: false });
    const input = { status: 'RJCT', reasonCode: 'AC04' };

    const path = '/sandbox/transactions/10/events';
    const response = await app.send(`POST ${path}`, input, { 'idempotency-key': 'one' });

    const location = '/payments/transactions/10';
    expect(response).toMatchObject({ status: 201, body: TRANSACTION, headers: { location } });
    const expected = [ADA, { ...input, transactionId: 10 }, { idempotencyKey: 'one' }];
    expect(banking.addTransactionEvent).toHaveBeenCalledWith(...expected);
  });

  it('refuses an event with an unknown status', async () => {
    const response = await app.send('POST /sandbox/transactions/10/events', { status: 'DONE' });

    expect(response).toMatchObject({ status: 400, body: { reason: 'body_malformed' } });
    expect(banking.addTransactionEvent).not.toHaveBeenCalled();
  });

  it('moves the clock', async () => {
    const clock = { now: '2060-01-31T09:00:00Z' };
    banking.moveClock.mockResolvedValue(clock);

    expect(await app.send('POST /sandbox/clock', clock)).toMatchObject({ status: 200, body: clock });
    expect(banking.moveClock).toHaveBeenCalledWith(ADA, clock);
  });
});
