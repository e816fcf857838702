import { type Operation, OPERATIONS, type OperationName } from './operations.js';
import { isOperationScope, OPERATION_SCOPES, scopeOfOperation, SERVICE_ACCOUNT_SCOPES } from './operation-scopes.js';

describe('the scope of an operation', () => {
  it.each<[OperationName, string]>([
    ['listApps', 'apps:read'],
    ['listAppUsers', 'apps:read'],
    ['listProducts', 'products:read'],
    ['listCorridors', 'recipients:read'],
    ['addInternationalRecipient', 'recipients:create'],
    ['changeRecipient', 'recipients:update'],
    ['deleteRecipient', 'recipients:delete'],
    ['openAccount', 'accounts:create'],
    ['getStatement', 'accounts:read'],
    ['createQuote', 'quotes:create'],
    ['placeOrder', 'orders:create'],
    ['listOrders', 'orders:read'],
    ['cancelOrder', 'orders:update'],
    ['listTransfers', 'transfers:read'],
    ['getPaymentAdvice', 'transfers:read'],
    ['fundAccount', 'sandbox:create'],
    ['listAuditEvents', 'audit-events:read'],
    ['retryWebhookDelivery', 'deliveries:update'],
    ['createServiceAccountKey', 'keys:create'],
  ])('of %s is %s', (name, scope) => expect(scopeOfOperation(name)).toBe(scope));

  it('never joins reading, creating, deleting and other changes', () => {
    const kindOf = ({ method, result }: Operation) =>
      method === 'GET' || method === 'DELETE' ? method : result === 'created' ? result : 'changed';
    for (const scope of OPERATION_SCOPES) {
      const of = Object.entries(OPERATIONS).filter(([name]) => scopeOfOperation(name as OperationName) === scope);
      expect([scope, new Set(of.map(([, operation]) => kindOf(operation))).size]).toEqual([scope, 1]);
    }
  });

  it('is a token of OAuth 2.0, and known', () => {
    for (const scope of OPERATION_SCOPES) {
      expect(scope).toMatch(/^[a-z-]+:(read|create|update|delete)$/);
      expect(isOperationScope(scope)).toBe(true);
    }
    for (const other of ['openid', 'orders', 'orders:approve', 'constructor'])
      expect(isOperationScope(other)).toBe(false);
  });
});

it('the scopes of service accounts are those of reading and paying', () => {
  expect(SERVICE_ACCOUNT_SCOPES).toEqual(
    expect.arrayContaining(['orders:create', 'transfers:read', 'recipients:delete']),
  );
  for (const scope of ['keys:create', 'service-accounts:read', 'audit-events:read', 'webhook-endpoints:create']) {
    expect(SERVICE_ACCOUNT_SCOPES).not.toContain(scope);
  }
});
