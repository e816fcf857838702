import type { Case } from './access-case.js';

/** Access to quotes. The demo data has one quote, in its first workspace. */
export const QUOTE_ACCESS: readonly Case[] = [
  {
    operation: 'createQuote',
    path: () => '/quotes',
    workspace: 'Northwind Trading',
    body: {},
    expected: [400, 400, 403, 403, 401, 401],
  },
  {
    operation: 'createQuote',
    path: () => '/quotes',
    workspace: 'Southwind Imports',
    body: { accountID: 1, targetCurrency: 'EUR', amount: '100' },
    expected: [403, 403, 403, 404, 401, 401],
  },
  {
    operation: 'getQuote',
    path: ({ firstId = 1 }) => `/quotes/${firstId}`,
    workspace: 'Northwind Trading',
    expected: [200, 200, 403, 403, 401, 401],
  },
  {
    operation: 'getQuote',
    path: ({ firstId = 1 }) => `/quotes/${firstId}`,
    workspace: 'Southwind Imports',
    expected: [403, 403, 403, 404, 401, 401],
  },
];
