import { sendRequest, openApiOf } from '../responses.js';
import type { Service } from '../service.js';
import { idOf } from '../world.js';
import { type Case, PEOPLE, type Person, STRANGER } from './access-case.js';
import { ORDER_ACCESS } from './order-access.js';
import { QUOTE_ACCESS } from './quote-access.js';
import { RECORD_ACCESS } from './record-access.js';
import { SANDBOX_ACCESS } from './sandbox-access.js';
import { WEBHOOK_ACCESS } from './webhook-access.js';

const transfer = ({ world }: Service) => `/transfers/${idOf(world, 'transfers', 'internal')}`;
const account = ({ world }: Service) => `/accounts/${idOf(world, 'accounts', 'Northwind Trading EUR')}`;
const recipient = ({ world }: Service) => `/recipients/${idOf(world, 'recipients', 'international')}`;
const usersOf = (app: string) => (service: Service) => `/apps/${idOf(service.world, 'apps', app)}/users`;

/** The expected status per person, operation and workspace. */
const MATRIX: readonly Case[] = [
  { operation: 'listApps', path: () => '/apps', expected: [200, 200, 200, 200, 401, 401] },
  { operation: 'listProducts', path: () => '/products', expected: [200, 200, 200, 200, 401, 401] },
  {
    operation: 'listCorridors',
    path: () => '/recipients/countries/IN/corridors',
    expected: [200, 200, 200, 200, 401, 401],
  },
  {
    operation: 'listCorridorsFormerly',
    path: () => '/countries/IN/corridors',
    expected: [200, 200, 200, 200, 401, 401],
  },
  {
    operation: 'listRecipientSchemas',
    path: () => '/recipients/validation-schema?countryCode=IN&currencyCode=INR&payoutMethod=LOCAL',
    expected: [200, 200, 200, 200, 401, 401],
  },
  {
    operation: 'listRecipientSchemasFormerly',
    path: () => '/validation-schema?countryCode=IN&currencyCode=INR&payoutMethod=LOCAL',
    expected: [200, 200, 200, 200, 401, 401],
  },
  { operation: 'listPurposes', path: () => '/orders/purposes', expected: [200, 200, 200, 200, 401, 401] },
  { operation: 'listAppUsers', path: usersOf('Northwind Treasury'), expected: [200, 200, 200, 404, 401, 401] },
  { operation: 'listAppUsers', path: usersOf('Southwind'), expected: [404, 404, 404, 200, 401, 401] },
  {
    operation: 'getTransfer',
    path: transfer,
    workspace: 'Northwind Trading',
    expected: [200, 200, 403, 403, 401, 401],
  },
  { operation: 'getTransfer', path: transfer, workspace: 'Ada personal', expected: [404, 403, 403, 403, 401, 401] },
  {
    operation: 'getTransfer',
    path: transfer,
    workspace: 'Southwind Imports',
    expected: [403, 403, 403, 404, 401, 401],
  },
  { operation: 'getTransfer', path: transfer, expected: [400, 400, 400, 400, 401, 401] },
  {
    operation: 'listTransfers',
    path: () => '/transfers',
    workspace: 'Northwind Trading',
    expected: [200, 200, 403, 403, 401, 401],
  },
  {
    operation: 'listTransfers',
    path: () => '/transfers',
    workspace: 'Southwind Imports',
    expected: [403, 403, 403, 200, 401, 401],
  },
  {
    operation: 'listAccounts',
    path: () => '/accounts',
    workspace: 'Northwind Trading',
    expected: [200, 200, 403, 403, 401, 401],
  },
  {
    operation: 'getAccount',
    path: account,
    workspace: 'Northwind Trading',
    expected: [200, 200, 403, 403, 401, 401],
  },
  { operation: 'getAccount', path: account, workspace: 'Southwind Imports', expected: [403, 403, 403, 404, 401, 401] },
  {
    operation: 'openAccount',
    path: () => '/accounts',
    workspace: 'Northwind Trading',
    body: {},
    expected: [400, 403, 403, 403, 401, 401],
  },
  {
    operation: 'changeAccount',
    method: 'PATCH',
    path: account,
    workspace: 'Northwind Trading',
    body: {},
    expected: [200, 403, 403, 403, 401, 401],
  },
  {
    operation: 'fundAccount',
    path: (service) => `/sandbox${account(service)}/fundings`,
    workspace: 'Northwind Trading',
    body: {},
    expected: [400, 400, 403, 403, 401, 401],
  },
  {
    operation: 'fundAccount',
    path: (service) => `/sandbox${account(service)}/fundings`,
    workspace: 'Southwind Imports',
    body: { amount: '1' },
    expected: [403, 403, 403, 404, 401, 401],
  },
  {
    operation: 'getStatement',
    path: (service) => `${account(service)}/statement?from=2026-01-01&to=2026-01-02`,
    workspace: 'Northwind Trading',
    expected: [200, 200, 403, 403, 401, 401],
  },
  {
    operation: 'getStatement',
    path: (service) => `${account(service)}/statement?from=2026-01-01&to=2026-01-02`,
    workspace: 'Southwind Imports',
    expected: [403, 403, 403, 404, 401, 401],
  },
  {
    operation: 'listRecipients',
    path: () => '/recipients',
    workspace: 'Northwind Trading',
    expected: [200, 200, 403, 403, 401, 401],
  },
  {
    operation: 'getRecipient',
    path: recipient,
    workspace: 'Northwind Trading',
    expected: [200, 200, 403, 403, 401, 401],
  },
  {
    operation: 'getRecipient',
    path: recipient,
    workspace: 'Southwind Imports',
    expected: [403, 403, 403, 404, 401, 401],
  },
  {
    operation: 'addInternationalRecipient',
    path: () => '/recipients/international?countryCode=IN&currencyCode=INR&payoutMethod=LOCAL',
    workspace: 'Northwind Trading',
    body: { data: {} },
    expected: [422, 422, 403, 403, 401, 401],
  },
  {
    operation: 'addInternalRecipient',
    path: () => '/recipients/internal',
    workspace: 'Northwind Trading',
    body: {},
    expected: [400, 400, 403, 403, 401, 401],
  },
  {
    operation: 'changeRecipient',
    method: 'PATCH',
    path: recipient,
    workspace: 'Northwind Trading',
    body: {},
    expected: [200, 200, 403, 403, 401, 401],
  },
  {
    operation: 'changeRecipient',
    method: 'PATCH',
    path: recipient,
    workspace: 'Southwind Imports',
    body: {},
    expected: [403, 403, 403, 404, 401, 401],
  },
  {
    operation: 'deleteRecipient',
    method: 'DELETE',
    path: () => '/recipients/999999',
    workspace: 'Northwind Trading',
    expected: [404, 404, 403, 403, 401, 401],
  },
  {
    operation: 'deleteRecipient',
    method: 'DELETE',
    path: recipient,
    workspace: 'Southwind Imports',
    expected: [403, 403, 403, 404, 401, 401],
  },
  ...QUOTE_ACCESS,
  ...ORDER_ACCESS,
  ...SANDBOX_ACCESS,
  ...RECORD_ACCESS,
  ...WEBHOOK_ACCESS,
  { operation: 'listTransfers', path: () => '/transfers', expected: [400, 400, 400, 400, 401, 401] },
  { operation: 'getLiveness', path: () => '/health/live', expected: [200, 200, 200, 200, 200, 200] },
  { operation: 'getReadiness', path: () => '/health/ready', expected: [200, 200, 200, 200, 200, 200] },
];

const CASES = MATRIX.flatMap((row) =>
  (Object.keys(PEOPLE) as Person[]).map((person, index) => ({
    ...row,
    person,
    status: row.expected[index],
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

      expect(response.status).toBe(status);
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
