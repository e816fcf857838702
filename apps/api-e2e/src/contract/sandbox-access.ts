import type { Case } from './access.js';

/** Nobody's, so that whoever may ask moves nothing. */
const event = () => '/sandbox/transactions/999999999/events';
const clock = () => '/sandbox/clock';
const ACCC = { status: 'ACCC' };
const BEFORE = { now: '2020-01-01T00:00:00Z' };

/** Who may make a sandbox do something. */
export const SANDBOX_ACCESS: readonly Case[] = [
  {
    operation: 'addTransactionEvent',
    path: event,
    workspace: 'Northwind Trading',
    body: ACCC,
    expected: [404, 404, 403, 403, 401, 401],
  },
  {
    operation: 'addTransactionEvent',
    path: event,
    workspace: 'Southwind Imports',
    body: ACCC,
    expected: [403, 403, 403, 404, 401, 401],
  },
  {
    operation: 'moveClock',
    path: clock,
    workspace: 'Northwind Trading',
    body: BEFORE,
    expected: [422, 403, 403, 403, 401, 401],
  },
  {
    operation: 'moveClock',
    path: clock,
    workspace: 'Southwind Imports',
    body: BEFORE,
    expected: [403, 403, 403, 422, 401, 401],
  },
];
