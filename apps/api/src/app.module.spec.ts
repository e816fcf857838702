import { eachOperation, type OperationName, Refusal } from '@banking/domain';
import { AccountsModule } from './accounts/accounts.controller.js';
import { AppsModule } from './apps/apps.controller.js';
import { CorridorsModule } from './corridors/corridors.controller.js';
import { LimitsModule } from './limits/limits.controller.js';
import { MembersModule } from './members/members.controller.js';
import { OrdersModule } from './orders/orders.controller.js';
import { ProductsModule } from './products/products.controller.js';
import { QuotesModule } from './quotes/quotes.controller.js';
import { RecipientsModule } from './recipients/recipients.controller.js';
import { SandboxModule } from './sandbox/sandbox.controller.js';
import { ADA, openTestApp, type TestApp } from './testing/test-app.js';
import { ReconciliationsModule } from './reconciliations/reconciliations.controller.js';
import { DepositsModule } from './deposits/deposits.controller.js';
import { TransactionsModule } from './transactions/transactions.controller.js';
import { TransfersModule } from './transfers/transfers.controller.js';
import { ServiceAccountsModule } from './service-accounts/service-accounts.controller.js';
import { WebhookEndpointsModule } from './webhook-endpoints/webhook-endpoints.controller.js';

const MODULES = [
  ...[AccountsModule, AppsModule, CorridorsModule, OrdersModule, ProductsModule, QuotesModule, RecipientsModule],
  ...[
    DepositsModule,
    LimitsModule,
    MembersModule,
    ReconciliationsModule,
    SandboxModule,
    TransactionsModule,
    TransfersModule,
    ServiceAccountsModule,
    WebhookEndpointsModule,
  ],
];

const banking: Readonly<Record<OperationName, jest.Mock>> = eachOperation(() => jest.fn());
const ONE = { id: 9 };
const KEY = { 'idempotency-key': 'one' };
const CORRIDOR = { countryCode: 'IN', currencyCode: 'INR', payoutMethod: 'LOCAL' };
const OF_CORRIDOR = 'countryCode=IN&currencyCode=INR&payoutMethod=LOCAL';
const ENDPOINT = { webhookEndpointId: 3 };
const MEMBER = { memberId: 3 };
const PROGRAM = { serviceAccountId: 7 };
const OF_PROGRAM = { ...PROGRAM, keyId: 4 };
const PERIOD = { createdFrom: '2026-11-21T09:00:00Z', createdTo: '2026-11-21T10:00:00Z' };
const ORDER = { amount: '250000', recipientID: 2, type: 'instant' };
const LIMITS = {
  version: 3,
  limits: [{ scope: 'account', accountID: 22, metric: 'amount', per: 'day', value: '100000', currency: 'EUR' }],
};
const CLOCK = { now: '2060-01-31T09:00:00Z' };

let app: TestApp;

beforeAll(async () => {
  app = await openTestApp(MODULES, banking);
});
afterAll(() => app.close());
afterEach(() => jest.resetAllMocks());

describe('a call of one resource', () => {
  it.each<[call: string, name: keyof typeof banking, passed: object | undefined, body?: object]>([
    ['GET /accounts/22', 'getAccount', { accountId: 22 }],
    ['PATCH /accounts/22', 'changeAccount', { accountId: 22, status: 'disabled' }, { status: 'disabled' }],
    ['GET /recipients/4', 'getRecipient', { recipientId: 4 }],
    ['PATCH /recipients/4', 'changeRecipient', { recipientId: 4, saved: false }, { saved: false }],
    ['GET /quotes/9', 'getQuote', { quoteId: 9 }],
    ['GET /transfers/26', 'getTransfer', { transferId: 26 }],
    ['GET /transfers/26/advice', 'getPaymentAdvice', { transferId: 26 }],
    ['GET /deposits/3', 'getDeposit', { depositId: 3 }],
    ['GET /accounts/1/receiving-details', 'listReceivingDetails', { accountId: 1 }],
    ['GET /transactions/9', 'getTransaction', { transactionId: 9 }],
    ['POST /accounts/1/orders/5/cancellation', 'cancelOrder', { accountId: 1, orderId: 5 }],
    ['POST /accounts/1/orders/5/resumption', 'resumeOrder', { accountId: 1, orderId: 5 }],
    ['GET /limits', 'getLimits', undefined],
    ['PUT /limits', 'replaceLimits', LIMITS, LIMITS],
    ['POST /sandbox/clock', 'moveClock', CLOCK, CLOCK],
    ['GET /members/3', 'getMember', MEMBER],
    ['PATCH /members/3', 'changeMember', { ...MEMBER, roles: ['viewer'] }, { roles: ['viewer'] }],
    ['DELETE /members/3', 'removeMember', MEMBER],
    ['POST /invitations/acceptance', 'acceptInvitation', { code: 'inv_1' }, { code: 'inv_1' }],
    ['GET /webhook-endpoints/3', 'getWebhookEndpoint', ENDPOINT],
    ['PATCH /webhook-endpoints/3', 'changeWebhookEndpoint', { ...ENDPOINT, types: [] }, { types: [] }],
    ['POST /webhook-endpoints/3/secret-rotation', 'rotateWebhookSecret', ENDPOINT],
    ['GET /service-accounts/7', 'getServiceAccount', PROGRAM],
    ['PATCH /service-accounts/7', 'changeServiceAccount', { ...PROGRAM, roles: [] }, { roles: [] }],
    ['GET /service-accounts/7/keys/4', 'getServiceAccountKey', OF_PROGRAM],
  ])('%s returns what %s returns', async (call, name, passed, ...[body]) => {
    banking[name].mockResolvedValue(ONE);

    expect(await app.send(call, body)).toMatchObject({ status: 200, body: ONE });
    expect(banking[name]).toHaveBeenCalledWith(...(passed ? [ADA, passed] : [ADA]));
  });

  it.each<[call: string, name: keyof typeof banking, passed: object, body?: object]>([
    ['POST /webhook-endpoints/3/test', 'testWebhookEndpoint', ENDPOINT],
    ['POST /webhook-endpoints/3/replay', 'replayWebhookEvents', { ...ENDPOINT, ...PERIOD }, PERIOD],
    ['POST /webhook-endpoints/3/deliveries/9/retry', 'retryWebhookDelivery', { ...ENDPOINT, webhookDeliveryId: 9 }],
  ])('%s returns what %s accepts', async (call, name, passed, ...[body]) => {
    banking[name].mockResolvedValue(ONE);

    expect(await app.send(call, body)).toMatchObject({ status: 202, body: ONE });
    expect(banking[name]).toHaveBeenCalledWith(ADA, passed);
  });

  it.each<[call: string, name: keyof typeof banking, passed: object]>([
    ['DELETE /recipients/4', 'deleteRecipient', { recipientId: 4 }],
    ['DELETE /webhook-endpoints/3', 'deleteWebhookEndpoint', ENDPOINT],
    ['DELETE /service-accounts/7', 'deleteServiceAccount', PROGRAM],
    ['DELETE /service-accounts/7/keys/4', 'revokeServiceAccountKey', OF_PROGRAM],
  ])('%s sends no body', async (call, name, passed) => {
    expect(await app.send(call)).toMatchObject({ status: 204, body: '' });
    expect(banking[name]).toHaveBeenCalledWith(ADA, passed);
  });

  it.each([
    ['/accounts/1/orders/5', 'getOrder', { accountId: 1, orderId: 5 }],
    ['/orders/5', 'getOrderById', { orderId: 5 }],
  ] as const)('GET %s returns an order and links to its earlier executions', async (path, name, passed) => {
    banking[name].mockResolvedValue({ ...ONE, next: 'n2' });

    const { status, headers, body } = await app.send(`GET ${path}?limit=2`);

    expect({ status, body }).toEqual({ status: 200, body: ONE });
    expect(headers.link).toBe(`</payments${path}?limit=2&cursor=n2>; rel="next"`);
    expect(banking[name]).toHaveBeenCalledWith(ADA, { ...passed, limit: 2 });
  });

  it('that the workspace does not have is refused with 404', async () => {
    banking.getTransaction.mockRejectedValue(new Refusal('transaction_not_found'));

    expect(await app.send('GET /transactions/9')).toMatchObject({
      status: 404,
      body: { errorCode: 'invalid_request', reason: 'transaction_not_found' },
    });
  });
});

describe('a creation', () => {
  const EVENT = { status: 'RJCT', reasonCode: 'AC04' };
  const ABROAD = { data: { beneficiaryName: 'Asha Rao', other: 'x' }, alias: 'Asha, Pune' };
  const ACCOUNT = { productID: 2, alias: 'Trade fairs' };
  const INTERNAL = { accountCode: 'NW0000000008', saved: false };
  const QUOTE = { accountID: 1, recipientID: 2, amount: '250000' };
  const HOOK = { url: 'https://hooks.example', types: ['order.placed'] };
  const INVITED = { email: 'dana@northwind.example', roles: ['approver', 'viewer'] };
  const PAYROLL = { name: 'Payroll', roles: ['member'], scopes: ['orders:create'] };
  const NEAR = { networks: ['10.0.0.0/8'], expiresAt: '2099-01-31T09:00:00Z' };
  const FUNDING = { amount: '1000000' };

  it.each<[path: string, name: keyof typeof banking, body: object | undefined, passed: object, location: string]>([
    ['/accounts', 'openAccount', ACCOUNT, ACCOUNT, '/accounts/9'],
    [
      `/recipients/international?${OF_CORRIDOR}`,
      'addInternationalRecipient',
      ABROAD,
      { ...CORRIDOR, ...ABROAD },
      '/recipients/9',
    ],
    ['/recipients/internal', 'addInternalRecipient', INTERNAL, INTERNAL, '/recipients/9'],
    ['/recipients/4/verification', 'verifyRecipient', undefined, { recipientId: 4 }, '/recipients/9'],
    ['/quotes', 'createQuote', QUOTE, QUOTE, '/quotes/9'],
    ['/members', 'inviteMember', INVITED, INVITED, '/members/9'],
    ['/webhook-endpoints', 'createWebhookEndpoint', HOOK, HOOK, '/webhook-endpoints/9'],
    ['/service-accounts', 'createServiceAccount', PAYROLL, PAYROLL, '/service-accounts/9'],
    [
      '/service-accounts/7/keys',
      'createServiceAccountKey',
      NEAR,
      { ...NEAR, ...PROGRAM },
      '/service-accounts/7/keys/9',
    ],
    [
      '/service-accounts/7/keys/4/rotation',
      'rotateServiceAccountKey',
      { overlapSeconds: 0 },
      { overlapSeconds: 0, ...OF_PROGRAM },
      '/service-accounts/7/keys/9',
    ],
    ['/sandbox/accounts/4/fundings', 'fundAccount', FUNDING, { ...FUNDING, accountId: 4 }, '/transfers/9'],
    [
      '/sandbox/transactions/10/events',
      'addTransactionEvent',
      EVENT,
      { ...EVENT, transactionId: 10 },
      '/transactions/9',
    ],
    ['/accounts/1/orders', 'placeOrder', ORDER, { ...ORDER, accountId: 1 }, '/accounts/1/orders/9'],
  ])('POST %s returns what %s creates, and says where it is', async (path, name, body, passed, location) => {
    banking[name].mockResolvedValue({ resource: ONE, isReplay: false });

    const response = await app.send(`POST ${path}`, body, KEY);

    const status = name === 'placeOrder' ? 200 : 201;
    expect(response).toMatchObject({ status, body: ONE, headers: { location: `/payments${location}` } });
    expect(response.headers).not.toHaveProperty('idempotent-replayed');
    expect(banking[name]).toHaveBeenCalledWith(ADA, passed, { idempotencyKey: 'one' });
  });

  it('marks the replay of an earlier request', async () => {
    banking.openAccount.mockResolvedValue({ resource: ONE, isReplay: true });

    const { status, headers } = await app.send('POST /accounts', { productID: 2 });

    expect([status, headers['idempotent-replayed']]).toEqual([201, 'true']);
    expect(banking.openAccount).toHaveBeenCalledWith(ADA, { productID: 2 }, {});
  });
});

describe('a list', () => {
  it.each<[path: string, name: keyof typeof banking, passed: object | undefined]>([
    ['/apps', 'listApps', undefined],
    ['/apps/3/users', 'listAppUsers', { appId: 3 }],
    ['/reconciliations', 'listReconciliations', undefined],
  ])('GET %s is what %s returns', async (path, name, ...[passed]) => {
    banking[name].mockResolvedValue([ONE]);

    expect(await app.send(`GET ${path}`)).toMatchObject({ status: 200, body: [ONE] });
    expect(banking[name]).toHaveBeenCalledWith(...(passed ? [ADA, passed] : [ADA]));
  });

  const TRANSFERS = { direction: 'debit', type: 'payout', transactionStatus: 'pending', createdTo: PERIOD.createdTo };

  it.each<[path: string, name: keyof typeof banking, passed: object]>([
    ['/accounts?limit=1', 'listAccounts', { limit: 1 }],
    ['/recipients?saved=true', 'listRecipients', { saved: true }],
    [`/transfers?${new URLSearchParams(TRANSFERS).toString()}`, 'listTransfers', TRANSFERS],
    ['/orders?status=active&accountId=1&limit=1', 'listOrders', { status: 'active', accountId: 1, limit: 1 }],
    ['/members?limit=1', 'listMembers', { limit: 1 }],
    ['/webhook-endpoints?limit=1', 'listWebhookEndpoints', { limit: 1 }],
    ['/webhook-endpoints/3/deliveries?status=pending', 'listWebhookDeliveries', { ...ENDPOINT, status: 'pending' }],
    ['/service-accounts?limit=1', 'listServiceAccounts', { limit: 1 }],
    ['/service-accounts/7/keys?limit=1', 'listServiceAccountKeys', { ...PROGRAM, limit: 1 }],
  ])('GET %s is a page with a link to the next one', async (path, name, ...[passed]) => {
    banking[name].mockResolvedValue({ items: [ONE], next: 'n2' });

    const { status, headers, body } = await app.send(`GET ${path}`);

    expect({ status, body }).toEqual({ status: 200, body: [ONE] });
    expect(headers.link).toBe(`</payments${path}&cursor=n2>; rel="next"`);
    expect(banking[name]).toHaveBeenCalledWith(ADA, passed);
  });

  it('has no link on its last page', async () => {
    banking.listAccounts.mockResolvedValue({ items: [] });

    const { headers, body } = await app.send('GET /accounts?cursor=n1');

    expect(body).toEqual([]);
    expect(headers).not.toHaveProperty('link');
    expect(banking.listAccounts).toHaveBeenCalledWith(ADA, { cursor: 'n1' });
  });
});

describe('reference data', () => {
  const OF_PERSONS = `${OF_CORRIDOR}&beneficiaryAccountType=Individual`;

  it.each<[path: string, name: keyof typeof banking, passed?: object]>([
    ['/products', 'listProducts'],
    ['/orders/purposes?countryCode=IN', 'listPurposes', { countryCode: 'IN' }],
    ['/recipients/countries/IN/corridors', 'listCorridors', { country: 'IN' }],
    [
      `/recipients/validation-schema?${OF_PERSONS}`,
      'listRecipientSchemas',
      { ...CORRIDOR, beneficiaryAccountType: 'Individual' },
    ],
  ])('of GET %s has an ETag, and is not sent again to a caller that has it', async (path, name, ...[passed]) => {
    banking[name].mockResolvedValue([ONE]);

    const { status, headers, body } = await app.send(`GET ${path}`);
    const again = await app.send(`GET ${path}`, undefined, { 'if-none-match': String(headers.etag) });

    expect({ status, body }).toEqual({ status: 200, body: [ONE] });
    expect(headers).toMatchObject({ etag: expect.stringMatching(/^".+"$/), 'cache-control': 'private, no-cache' });
    expect(again).toMatchObject({ status: 304, body: '' });
    expect(banking[name]).toHaveBeenCalledWith(...(passed ? [ADA, passed] : [ADA]));
  });

  it.each<[path: string, name: keyof typeof banking]>([
    ['/countries/DE/corridors', 'listCorridors'],
    [`/validation-schema?${OF_CORRIDOR}`, 'listRecipientSchemas'],
  ])('of GET %s links to the canonical path, and names no date of removal', async (path, name) => {
    banking[name].mockResolvedValue([ONE]);

    const { status, headers, body } = await app.send(`GET ${path}`);

    expect({ status, body }).toEqual({ status: 200, body: [ONE] });
    expect(headers.link).toBe(`</payments/recipients${path}>; rel="canonical"`);
    expect(Object.keys(headers)).not.toEqual(expect.arrayContaining([expect.stringMatching(/deprecation|sunset/)]));
  });

  it('of different corridors is cached apart', async () => {
    banking.listRecipientSchemas.mockResolvedValue([ONE]);
    for (const payoutMethod of ['LOCAL', 'SWIFT']) {
      await app.send(`GET /recipients/validation-schema?countryCode=DE&currencyCode=EUR&payoutMethod=${payoutMethod}`);
    }

    expect(banking.listRecipientSchemas).toHaveBeenCalledTimes(2);
  });

  it('of an unknown country is refused', async () => {
    banking.listCorridors.mockRejectedValue(new Refusal('country_unknown'));

    const response = await app.send('GET /recipients/countries/ZZ/corridors');

    expect(response).toMatchObject({ status: 404, body: { reason: 'country_unknown' } });
  });
});

describe('a refused call', () => {
  const HOOK = 'https://a.example';

  it.each<[call: string, reason: string, body?: object]>([
    ['GET /apps/x/users', 'id_malformed'],
    ['GET /accounts/022', 'id_malformed'],
    ...['0', '09', 'x', '9007199254740992'].map((id): [string, string] => [`GET /transactions/${id}`, 'id_malformed']),
    ['PATCH /webhook-endpoints/0', 'id_malformed', {}],
    ['GET /service-accounts/7/keys/x', 'id_malformed'],
    ['POST /webhook-endpoints/3/deliveries/x/retry', 'id_malformed'],
    ['GET /accounts?limit=0', 'limit_invalid'],
    ['GET /accounts?colour=red', 'parameter_unknown'],
    ['GET /orders?status=unknown', 'parameter_invalid'],
    ['GET /orders?accountId=0', 'id_malformed'],
    ['GET /orders?createdFrom=today', 'timestamp_invalid'],
    ['GET /transfers?direction=up', 'parameter_invalid'],
    ['GET /transfers?recipientId=x', 'id_malformed'],
    ['GET /transfers?direction=debit&direction=credit', 'parameter_repeated'],
    ['GET /webhook-endpoints/3/deliveries?status=late', 'parameter_invalid'],
    ['GET /recipients/validation-schema?countryCode=IN&currencyCode=INR', 'parameter_invalid'],
    [`GET /recipients/validation-schema?${OF_CORRIDOR}&beneficiaryAccountType=Other`, 'parameter_invalid'],
    ['GET /recipients/validation-schema?countryCode=I', 'parameter_invalid'],
    ['POST /accounts', 'body_malformed', { alias: 'Trade fairs' }],
    ['POST /accounts', 'body_malformed', { productID: '2' }],
    ['POST /accounts', 'field_unknown', { productID: 2, colour: 'red' }],
    ['POST /recipients/internal', 'body_malformed', {}],
    ['POST /recipients/internal', 'body_malformed', { accountCode: 'NW0000000008', saved: 'no' }],
    [`POST /recipients/international?${OF_CORRIDOR}`, 'body_malformed', { data: 'x' }],
    ['POST /quotes', 'amount_malformed', { accountID: 1, amount: '2.50' }],
    ['POST /quotes', 'amount_out_of_range', { accountID: 1, amount: '9223372036854775808' }],
    ['POST /quotes', 'currency_unknown', { accountID: 1, targetCurrency: 'inr', amount: '1' }],
    ['POST /quotes', 'body_malformed', { amount: '1' }],
    ['POST /accounts/1/orders', 'amount_malformed', { ...ORDER, amount: 250000 }],
    ['POST /accounts/1/orders', 'timestamp_invalid', { ...ORDER, startAt: 'tomorrow' }],
    ['POST /accounts/1/orders', 'body_malformed', { ...ORDER, type: 'later' }],
    ['POST /sandbox/transactions/10/events', 'body_malformed', { status: 'DONE' }],
    ['POST /webhook-endpoints', 'body_malformed', { url: HOOK, types: ['order.placed', 'order.placed'] }],
    ['POST /webhook-endpoints', 'body_malformed', { url: HOOK, types: ['order.unknown'] }],
    ['POST /webhook-endpoints', 'body_malformed', { url: HOOK, types: { 0: 'order.placed' } }],
    ['POST /webhook-endpoints', 'field_unknown', { url: HOOK, status: 'enabled' }],
    ['PATCH /webhook-endpoints/3', 'field_unknown', { secret: 'whsec_' }],
    ['PATCH /webhook-endpoints/3', 'body_malformed', { status: 'failing' }],
    ['PATCH /webhook-endpoints/3', 'body_malformed', { url: null }],
    ['POST /service-accounts', 'body_malformed', { name: 'X', roles: [] }],
    ['POST /service-accounts', 'body_malformed', { name: 'X', roles: ['approver'] }],
    ['POST /service-accounts/7/keys', 'body_malformed', { networks: Array(21).fill('10.0.0.0/8') }],
    ['POST /service-accounts/7/keys/4/rotation', 'body_malformed', { overlapSeconds: 2_592_001 }],
    ['POST /webhook-endpoints/3/replay', 'timestamp_invalid', { ...PERIOD, createdTo: '2026-11-21' }],
  ])('%s has the reason %s and reaches no method of the port: %j', async (call, reason, ...[body]) => {
    expect(await app.send(call, body)).toMatchObject({ status: 400, body: { reason } });
    for (const mock of Object.values(banking)) expect(mock).not.toHaveBeenCalled();
  });
});
