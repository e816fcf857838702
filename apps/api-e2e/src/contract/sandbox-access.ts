import type { Case } from './access-case.js';

/** Of an unknown transaction, so that a permitted caller changes nothing. */
const event = () => '/sandbox/transactions/999999999/events';
const clock = () => '/sandbox/clock';
const ACCC = { status: 'ACCC' };
const BEFORE = { now: '2020-01-01T00:00:00Z' };

/** Access to the operations of a sandbox. */
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
