import { ADA, openTestApp, type TestApp } from '../testing/test-app.js';
import { ProductsModule } from './products.module.js';

const PRODUCT = { id: 2, name: 'EUR current account', edges: { currency: { id: 978, code: 'EUR', name: 'Euro' } } };

describe('ProductsController', () => {
  const banking = { listProducts: jest.fn(async () => [PRODUCT]) };
  let app: TestApp;
  beforeAll(async () => {
    app = await openTestApp(ProductsModule, banking);
  });
  afterAll(() => app.close());

  it('lists the products with an ETag', async () => {
    const { status, headers, body } = await app.send('GET /products');

    expect({ status, body }).toEqual({ status: 200, body: [PRODUCT] });
    expect(headers).toMatchObject({ etag: expect.stringMatching(/^".+"$/), 'cache-control': 'private, no-cache' });
    expect(banking.listProducts).toHaveBeenCalledWith(ADA);
  });

  it('responds with 304 and no body to a caller that has the products', async () => {
    const { headers } = await app.send('GET /products');

    const again = await app.send('GET /products', undefined, { 'if-none-match': String(headers.etag) });

    expect(again).toMatchObject({ status: 304, body: '' });
  });
});
