import type { Service } from '../service.js';
import { idOf } from '../world.js';
import type { Case } from './access-case.js';

const orders = ({ world }: Service) => `/accounts/${idOf(world, 'accounts', 'Northwind Trading USD')}/orders`;
/** The completed order of the demo data, which cannot be cancelled. */
const paid = (service: Service) => `${orders(service)}/${service.firstId ?? 1}`;

/** The first order or transaction of the demo data, which is one of Northwind Trading. */
const first =
  (resources: string) =>
  ({ firstId = 1 }: Service) =>
    `/${resources}/${firstId}`;

const cases = (workspace: string, rows: readonly Omit<Case, 'workspace'>[]): Case[] =>
  rows.map((row) => ({ ...row, workspace }));

/** Access to orders and transactions. */
export const ORDER_ACCESS: readonly Case[] = [
  ...cases('Northwind Trading', [
    { operation: 'listOrders', path: () => '/orders', expected: [200, 200, 403, 403, 401, 401] },
    { operation: 'getOrder', path: paid, expected: [200, 200, 403, 403, 401, 401] },
    { operation: 'getOrderById', path: first('orders'), expected: [200, 200, 403, 403, 401, 401] },
    { operation: 'getTransaction', path: first('transactions'), expected: [200, 200, 403, 403, 401, 401] },
    { operation: 'placeOrder', path: orders, body: {}, expected: [400, 400, 403, 403, 401, 401] },
    {
      operation: 'cancelOrder',
      method: 'POST',
      path: (service) => `${paid(service)}/cancellation`,
      expected: [409, 409, 403, 403, 401, 401],
    },
    {
      operation: 'resumeOrder',
      method: 'POST',
      path: (service) => `${paid(service)}/resumption`,
      expected: [409, 403, 403, 403, 401, 401],
    },
  ]),
  ...cases('Southwind Imports', [
    { operation: 'listOrders', path: () => '/orders', expected: [403, 403, 403, 200, 401, 401] },
    { operation: 'getOrder', path: paid, expected: [403, 403, 403, 404, 401, 401] },
    { operation: 'getOrderById', path: first('orders'), expected: [403, 403, 403, 404, 401, 401] },
    { operation: 'getTransaction', path: first('transactions'), expected: [403, 403, 403, 404, 401, 401] },
    {
      operation: 'placeOrder',
      path: orders,
      body: { amount: '1', recipientID: 1, type: 'instant' },
      expected: [403, 403, 403, 404, 401, 401],
    },
    {
      operation: 'cancelOrder',
      method: 'POST',
      path: (service) => `${paid(service)}/cancellation`,
      expected: [403, 403, 403, 404, 401, 401],
    },
    {
      operation: 'resumeOrder',
      method: 'POST',
      path: (service) => `${paid(service)}/resumption`,
      expected: [403, 403, 403, 404, 401, 401],
    },
  ]),
];
