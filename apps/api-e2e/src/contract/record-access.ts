import type { Case } from './access-case.js';

/** The operations that tell what happened. */
export const RECORD_ACCESS: readonly Case[] = [
  {
    operation: 'listEvents',
    path: () => '/events?limit=1',
    workspace: 'Northwind Trading',
    expected: [200, 200, 403, 403, 401, 401],
  },
  {
    operation: 'listEvents',
    path: () => '/events?limit=1',
    workspace: 'Southwind Imports',
    expected: [403, 403, 403, 200, 401, 401],
  },
  {
    operation: 'getEvent',
    path: () => `/events/${Number.MAX_SAFE_INTEGER}`,
    workspace: 'Northwind Trading',
    expected: [404, 404, 403, 403, 401, 401],
  },
  {
    operation: 'listAuditEvents',
    path: () => '/audit-events',
    workspace: 'Northwind Trading',
    expected: [200, 403, 403, 403, 401, 401],
  },
  {
    operation: 'listAuditEvents',
    path: () => '/audit-events',
    workspace: 'Southwind Imports',
    expected: [403, 403, 403, 200, 401, 401],
  },
];
