import { ADA, openTestApp, type TestApp } from '../testing/test-app.js';
import { OrdersModule } from './orders.module.js';

describe('PurposesController', () => {
  const banking = { listPurposes: jest.fn(async () => ({ IR001: 'Family maintenance' })) };
  let app: TestApp;
  beforeAll(async () => {
    app = await openTestApp(OrdersModule, banking);
  });
  afterAll(() => app.close());

  it('lists the purpose codes with an ETag', async () => {
    const { status, headers, body } = await app.send('GET /orders/purposes');

    expect({ status, body }).toEqual({ status: 200, body: { IR001: 'Family maintenance' } });
    expect(headers.etag).toMatch(/^".+"$/);
    expect(banking.listPurposes).toHaveBeenCalledWith(ADA);
  });
});
