import { ADA, BOB, CY, EVE, idOf, type Service } from '../service.js';
import { statusAt } from '../documented/changed-calls.js';
import { openApiOf, sendRequest } from '../responses.js';

/** Not a user of the service: the key is trusted, the e-mail unknown. */
const STRANGER = 'mallory@elsewhere.example';

const PEOPLE = { ada: ADA, bob: BOB, cy: CY, eve: EVE, stranger: STRANGER, 'no token': undefined } as const;

type Person = keyof typeof PEOPLE;
/** The status for each person, in the order of PEOPLE: admin, member, without a role, of another app, unknown, no token. */
type Row = readonly [number, number, number, number, number, number];

interface Case {
  readonly operation: string;
  readonly path: (service: Service) => string;
  readonly workspace?: string;
  readonly method?: string;
  /** Sent as JSON, by POST without a `method`. */
  readonly body?: object;
  readonly expected: Row;
}

type CaseRow = readonly [
  operation: string,
  path: string | Case['path'],
  expected: Row,
  more?: Pick<Case, 'method' | 'body'>,
];

const casesIn = (workspace: string | undefined, rows: readonly CaseRow[]): Case[] =>
  rows.map(([operation, path, expected, more]) => ({
    operation,
    path: typeof path === 'string' ? () => path : path,
    expected,
    ...(workspace !== undefined && { workspace }),
    ...more,
  }));

const transfer = ({ world }: Service) => `/transfers/${idOf(world, 'transfers', 'internal')}`;
const advice = (service: Service) => `${transfer(service)}/advice`;
const receivingDetails = (service: Service) => `${account(service)}/receiving-details`;
const account = ({ world }: Service) => `/accounts/${idOf(world, 'accounts', 'Northwind Trading EUR')}`;
const statement = (service: Service) => `${account(service)}/statement?from=2026-01-01&to=2026-01-02`;
const fundings = (service: Service) => `/sandbox${account(service)}/fundings`;
const recipient = ({ world }: Service) => `/recipients/${idOf(world, 'recipients', 'international')}`;
const verification = (service: Service) => `${recipient(service)}/verification`;
const usersOf = (app: string) => (service: Service) => `/apps/${idOf(service.world, 'apps', app)}/users`;
const orders = ({ world }: Service) => `/accounts/${idOf(world, 'accounts', 'Northwind Trading USD')}/orders`;
/** The completed order of the demo data, which cannot be cancelled. */
const paid = (service: Service) => `${orders(service)}/${service.firstId ?? 1}`;
const cancellation = (service: Service) => `${paid(service)}/cancellation`;
const resumption = (service: Service) => `${paid(service)}/resumption`;
/** The first quote, order or transaction of the demo data, which is one of Northwind Trading. */
const first =
  (resources: string) =>
  ({ firstId = 1 }: Service) =>
    `/${resources}/${firstId}`;

const TO_INDIA = 'countryCode=IN&currencyCode=INR&payoutMethod=LOCAL';
/** Of an unknown transaction, so that a permitted caller changes nothing. */
const EVENT = '/sandbox/transactions/999999999/events';
const ACCC = { body: { status: 'ACCC' } };
const BEFORE = { body: { now: '2020-01-01T00:00:00Z' } };
const POST = { method: 'POST' };
const CHANGE = { method: 'PATCH', body: {} };
const NOTHING = { body: {} };

const UNKNOWN = '/webhook-endpoints/999999';
const PERIOD = { createdFrom: '2026-11-21T09:00:00Z', createdTo: '2026-11-21T10:00:00Z' };
/** Operations that only administrators may call, of an endpoint that does not exist. */
const ofEndpoints = (expected: Row): readonly CaseRow[] => [
  ['getWebhookEndpoint', UNKNOWN, expected],
  ['changeWebhookEndpoint', UNKNOWN, expected, { method: 'PATCH', body: { status: 'disabled' } }],
  ['deleteWebhookEndpoint', UNKNOWN, expected, { method: 'DELETE' }],
  ['rotateWebhookSecret', `${UNKNOWN}/secret-rotation`, expected, POST],
  ['testWebhookEndpoint', `${UNKNOWN}/test`, expected, POST],
  ['replayWebhookEvents', `${UNKNOWN}/replay`, expected, { body: PERIOD }],
  ['listWebhookDeliveries', `${UNKNOWN}/deliveries`, expected],
  ['retryWebhookDelivery', `${UNKNOWN}/deliveries/1/retry`, expected, POST],
];

const NO_ACCOUNT = '/service-accounts/999999';
/** The same, of a service account that does not exist. */
const ofServiceAccounts = (expected: Row): readonly CaseRow[] => [
  ['getServiceAccount', NO_ACCOUNT, expected],
  ['changeServiceAccount', NO_ACCOUNT, expected, CHANGE],
  ['deleteServiceAccount', NO_ACCOUNT, expected, { method: 'DELETE' }],
  ['listServiceAccountKeys', `${NO_ACCOUNT}/keys`, expected],
  ['createServiceAccountKey', `${NO_ACCOUNT}/keys`, expected, NOTHING],
  ['getServiceAccountKey', `${NO_ACCOUNT}/keys/1`, expected],
  ['revokeServiceAccountKey', `${NO_ACCOUNT}/keys/1`, expected, { method: 'DELETE' }],
  ['rotateServiceAccountKey', `${NO_ACCOUNT}/keys/1/rotation`, expected, NOTHING],
];

const UNKNOWN_MEMBER = '/members/999999';
const ofMembers = (expected: Row): readonly CaseRow[] => [
  ['getMember', UNKNOWN_MEMBER, expected],
  ['changeMember', UNKNOWN_MEMBER, expected, { method: 'PATCH', body: { roles: ['viewer'] } }],
  ['removeMember', UNKNOWN_MEMBER, expected, { method: 'DELETE' }],
];

/** The expected status per person, operation and workspace. */
const MATRIX: readonly Case[] = [
  ...casesIn(undefined, [
    ['listApps', '/apps', [200, 200, 200, 200, 401, 401]],
    ['listProducts', '/products', [200, 200, 200, 200, 401, 401]],
    ['listCorridors', '/recipients/countries/IN/corridors', [200, 200, 200, 200, 401, 401]],
    ['listCorridorsFormerly', '/countries/IN/corridors', [200, 200, 200, 200, 401, 401]],
    ['listRecipientSchemas', `/recipients/validation-schema?${TO_INDIA}`, [200, 200, 200, 200, 401, 401]],
    ['listRecipientSchemasFormerly', `/validation-schema?${TO_INDIA}`, [200, 200, 200, 200, 401, 401]],
    ['listPurposes', '/orders/purposes', [200, 200, 200, 200, 401, 401]],
    ['listAppUsers', usersOf('Northwind Treasury'), [200, 200, 200, 404, 401, 401]],
    ['listAppUsers', usersOf('Southwind'), [404, 404, 404, 200, 401, 401]],
    ['getTransfer', transfer, [400, 400, 400, 400, 401, 401]],
    ['listTransfers', '/transfers', [400, 400, 400, 400, 401, 401]],
    ['listWebhookEndpoints', '/webhook-endpoints', [400, 400, 400, 400, 401, 401]],
    ['acceptInvitation', '/invitations/acceptance', [404, 404, 404, 404, 404, 401], { body: { code: 'inv_unknown' } }],
    ['getLiveness', '/health/live', [200, 200, 200, 200, 200, 200]],
    ['getReadiness', '/health/ready', [200, 200, 200, 200, 200, 200]],
  ]),
  ...casesIn('Ada personal', [['getTransfer', transfer, [404, 403, 403, 403, 401, 401]]]),
  ...casesIn('Northwind Trading', [
    ['getTransfer', transfer, [200, 200, 403, 403, 401, 401]],
    ['listTransfers', '/transfers', [200, 200, 403, 403, 401, 401]],
    ['listAccounts', '/accounts', [200, 200, 403, 403, 401, 401]],
    ['getAccount', account, [200, 200, 403, 403, 401, 401]],
    ['openAccount', '/accounts', [400, 403, 403, 403, 401, 401], NOTHING],
    ['changeAccount', account, [200, 403, 403, 403, 401, 401], CHANGE],
    ['fundAccount', fundings, [400, 400, 403, 403, 401, 401], NOTHING],
    ['getStatement', statement, [200, 200, 403, 403, 401, 401]],
    ['listRecipients', '/recipients', [200, 200, 403, 403, 401, 401]],
    ['getRecipient', recipient, [200, 200, 403, 403, 401, 401]],
    [
      'addInternationalRecipient',
      `/recipients/international?${TO_INDIA}`,
      [422, 422, 403, 403, 401, 401],
      { body: { data: {} } },
    ],
    ['addInternalRecipient', '/recipients/internal', [400, 400, 403, 403, 401, 401], NOTHING],
    ['changeRecipient', recipient, [200, 200, 403, 403, 401, 401], CHANGE],
    ['verifyRecipient', verification, [201, 201, 403, 403, 401, 401], POST],
    ['deleteRecipient', '/recipients/999999', [404, 404, 403, 403, 401, 401], { method: 'DELETE' }],
    ['createQuote', '/quotes', [400, 400, 403, 403, 401, 401], NOTHING],
    ['getApprovalRules', '/approval-rules', [200, 200, 403, 403, 401, 401]],
    ['replaceApprovalRules', '/approval-rules', [400, 403, 403, 403, 401, 401], { method: 'PUT', body: {} }],
    ['listApprovals', '/approvals', [200, 200, 403, 403, 401, 401]],
    ['getApproval', '/approvals/999999', [404, 404, 403, 403, 401, 401]],
    ['decideApproval', '/approvals/999999/decision', [400, 403, 403, 403, 401, 401], NOTHING],
    ['withdrawApproval', '/approvals/999999/withdrawal', [404, 404, 403, 403, 401, 401], POST],
    ['getQuote', first('quotes'), [200, 200, 403, 403, 401, 401]],
    ['listOrders', '/orders', [200, 200, 403, 403, 401, 401]],
    ['getOrder', paid, [200, 200, 403, 403, 401, 401]],
    ['getOrderById', first('orders'), [200, 200, 403, 403, 401, 401]],
    ['getTransaction', first('transactions'), [200, 200, 403, 403, 401, 401]],
    ['getPaymentAdvice', advice, [200, 200, 403, 403, 401, 401]],
    ['listReceivingDetails', receivingDetails, [200, 200, 403, 403, 401, 401]],
    ['listDeposits', '/deposits', [200, 200, 403, 403, 401, 401]],
    ['getDeposit', '/deposits/999999', [404, 404, 403, 403, 401, 401]],
    ['listReconciliations', '/reconciliations', [200, 403, 403, 403, 401, 401]],
    ['getLimits', '/limits', [200, 200, 403, 403, 401, 401]],
    ['replaceLimits', '/limits', [400, 403, 403, 403, 401, 401], { method: 'PUT', body: {} }],
    ['placeOrder', orders, [400, 400, 403, 403, 401, 401], NOTHING],
    ['cancelOrder', cancellation, [409, 409, 403, 403, 401, 401], POST],
    ['resumeOrder', resumption, [409, 403, 403, 403, 401, 401], POST],
    ['addTransactionEvent', EVENT, [404, 404, 403, 403, 401, 401], ACCC],
    ['moveClock', '/sandbox/clock', [422, 403, 403, 403, 401, 401], BEFORE],
    ['listEvents', '/events?limit=1', [200, 200, 403, 403, 401, 401]],
    ['getEvent', `/events/${Number.MAX_SAFE_INTEGER}`, [404, 404, 403, 403, 401, 401]],
    ['listAuditEvents', '/audit-events', [200, 403, 403, 403, 401, 401]],
    ['listMembers', '/members', [200, 403, 403, 403, 401, 401]],
    ['inviteMember', '/members', [400, 403, 403, 403, 401, 401], NOTHING],
    ...ofMembers([404, 403, 403, 403, 401, 401]),
    ['listWebhookEndpoints', '/webhook-endpoints', [200, 403, 403, 403, 401, 401]],
    ['createWebhookEndpoint', '/webhook-endpoints', [400, 403, 403, 403, 401, 401], NOTHING],
    ...ofEndpoints([404, 403, 403, 403, 401, 401]),
    ['listServiceAccounts', '/service-accounts', [200, 403, 403, 403, 401, 401]],
    ['createServiceAccount', '/service-accounts', [400, 403, 403, 403, 401, 401], NOTHING],
    ...ofServiceAccounts([404, 403, 403, 403, 401, 401]),
  ]),
  ...casesIn('Southwind Imports', [
    ['getTransfer', transfer, [403, 403, 403, 404, 401, 401]],
    ['listTransfers', '/transfers', [403, 403, 403, 200, 401, 401]],
    ['getAccount', account, [403, 403, 403, 404, 401, 401]],
    ['fundAccount', fundings, [403, 403, 403, 404, 401, 401], { body: { amount: '1' } }],
    ['getStatement', statement, [403, 403, 403, 404, 401, 401]],
    ['getRecipient', recipient, [403, 403, 403, 404, 401, 401]],
    ['changeRecipient', recipient, [403, 403, 403, 404, 401, 401], CHANGE],
    ['verifyRecipient', verification, [403, 403, 403, 404, 401, 401], POST],
    ['deleteRecipient', recipient, [403, 403, 403, 404, 401, 401], { method: 'DELETE' }],
    [
      'createQuote',
      '/quotes',
      [403, 403, 403, 404, 401, 401],
      { body: { accountID: 1, targetCurrency: 'EUR', amount: '100' } },
    ],
    ['getQuote', first('quotes'), [403, 403, 403, 404, 401, 401]],
    ['listOrders', '/orders', [403, 403, 403, 200, 401, 401]],
    ['getOrder', paid, [403, 403, 403, 404, 401, 401]],
    ['getOrderById', first('orders'), [403, 403, 403, 404, 401, 401]],
    ['getTransaction', first('transactions'), [403, 403, 403, 404, 401, 401]],
    ['getPaymentAdvice', advice, [403, 403, 403, 404, 401, 401]],
    ['listReceivingDetails', receivingDetails, [403, 403, 403, 404, 401, 401]],
    ['listDeposits', '/deposits', [403, 403, 403, 200, 401, 401]],
    ['listReconciliations', '/reconciliations', [403, 403, 403, 200, 401, 401]],
    ['getLimits', '/limits', [403, 403, 403, 200, 401, 401]],
    ['replaceLimits', '/limits', [403, 403, 403, 400, 401, 401], { method: 'PUT', body: {} }],
    ['placeOrder', orders, [403, 403, 403, 404, 401, 401], { body: { amount: '1', recipientID: 1, type: 'instant' } }],
    ['cancelOrder', cancellation, [403, 403, 403, 404, 401, 401], POST],
    ['resumeOrder', resumption, [403, 403, 403, 404, 401, 401], POST],
    ['addTransactionEvent', EVENT, [403, 403, 403, 404, 401, 401], ACCC],
    ['moveClock', '/sandbox/clock', [403, 403, 403, 422, 401, 401], BEFORE],
    ['listEvents', '/events?limit=1', [403, 403, 403, 200, 401, 401]],
    ['listAuditEvents', '/audit-events', [403, 403, 403, 200, 401, 401]],
    [
      'createWebhookEndpoint',
      '/webhook-endpoints',
      [403, 403, 403, 422, 401, 401],
      { body: { url: 'http://hooks.example' } },
    ],
    ...ofEndpoints([403, 403, 403, 404, 401, 401]),
    ['listServiceAccounts', '/service-accounts', [403, 403, 403, 200, 401, 401]],
    ...ofServiceAccounts([403, 403, 403, 404, 401, 401]),
  ]),
];

const CASES = MATRIX.flatMap((row) =>
  (Object.keys(PEOPLE) as Person[]).map((person, index) => ({
    ...row,
    person,
    status: row.expected[index]!,
    where: row.workspace ?? 'no workspace',
    row,
  })),
);

export function accessContract(provide: () => Service): void {
  const service = provide();

  describe('access', () => {
    it.each(CASES)('responds with $status to $person calling $operation in $where', async ({ person, row, status }) => {
      const workspace = row.workspace === undefined ? undefined : idOf(service.world, 'workspaces', row.workspace);

      const response = await sendRequest(service, row.path(service), {
        as: PEOPLE[person],
        workspace,
        ...(row.method && { method: row.method }),
        ...(row.body && { body: row.body }),
      });

      expect(response.status).toBe(statusAt(service, row.operation, status));
      if (status === 401) expect(response.headers.get('www-authenticate')).toBe('Bearer');
    });

    it('covers every operation of the OpenAPI document', async () => {
      const { paths } = await openApiOf(service);

      const documented = Object.values(paths).flatMap((path) =>
        Object.values(path).map(({ operationId }) => operationId),
      );

      expect(new Set(MATRIX.map(({ operation }) => operation))).toEqual(new Set(documented));
    });

    it('gives one response without a token and with a token of an unknown user', async () => {
      const strip = (text: string) => text.replace(/"requestId":"[^"]*"/, '"requestId":""');

      const responses = [await sendRequest(service, '/apps'), await sendRequest(service, '/apps', { as: STRANGER })];

      expect(strip(responses[0]!.text)).toBe(strip(responses[1]!.text));
    });
  });
}
