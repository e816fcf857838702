import { ADA, openTestApp, type TestApp } from '../testing/test-app.js';
import { RecipientsModule } from './recipients.module.js';

const SCHEMA = { $id: 'urn:banking:recipient-schema:IN:INR:LOCAL:Individual:IFSC', type: 'object' };
const CORRIDOR = 'countryCode=IN&currencyCode=INR&payoutMethod=LOCAL';

describe('RecipientSchemasController', () => {
  const banking = { listRecipientSchemas: jest.fn(async () => [SCHEMA]) };
  let app: TestApp;
  beforeAll(async () => {
    app = await openTestApp(RecipientsModule, banking);
  });
  afterAll(() => app.close());
  beforeEach(() => banking.listRecipientSchemas.mockClear());

  it('lists the schemas of a corridor with an ETag', async () => {
    const path = `/recipients/validation-schema?${CORRIDOR}&beneficiaryAccountType=Individual`;
    const { status, headers, body } = await app.send(`GET ${path}`);

    expect({ status, body, etag: headers.etag }).toEqual({ status: 200, body: [SCHEMA], etag: expect.any(String) });
    expect(banking.listRecipientSchemas).toHaveBeenCalledWith(ADA, {
      countryCode: 'IN',
      currencyCode: 'INR',
      payoutMethod: 'LOCAL',
      beneficiaryAccountType: 'Individual',
    });
  });

  it('lists them at the other path, with a link to the canonical one', async () => {
    const { status, headers, body } = await app.send(`GET /validation-schema?${CORRIDOR}`);

    expect({ status, body }).toEqual({ status: 200, body: [SCHEMA] });
    expect(headers.link).toBe(`</payments/recipients/validation-schema?${CORRIDOR}>; rel="canonical"`);
  });

  it('caches the schemas of different corridors apart', async () => {
    await app.send('GET /recipients/validation-schema?countryCode=DE&currencyCode=EUR&payoutMethod=LOCAL');
    await app.send('GET /recipients/validation-schema?countryCode=DE&currencyCode=EUR&payoutMethod=SWIFT');

    expect(banking.listRecipientSchemas).toHaveBeenCalledTimes(2);
  });

  it.each(['countryCode=IN&currencyCode=INR', `${CORRIDOR}&beneficiaryAccountType=Other`, 'countryCode=I'])(
    'refuses the query %s',
    async (query) => {
      const response = await app.send(`GET /recipients/validation-schema?${query}`);

      expect(response).toMatchObject({ status: 400, body: { reason: 'parameter_invalid' } });
      expect(banking.listRecipientSchemas).not.toHaveBeenCalled();
    },
  );
});
