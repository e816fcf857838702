import { ADA, openTestApp, type TestApp } from '../testing/test-app.js';
import { RecipientsModule } from './recipients.module.js';

const RECIPIENT = { id: 4, name: 'Ravi Menon', accountCode: '50100123456789', edges: {} };
const CREATED = { resource: RECIPIENT, isReplay: false };
const CORRIDOR = { countryCode: 'IN', currencyCode: 'INR', payoutMethod: 'LOCAL' };

describe('RecipientsController', () => {
  const banking = {
    listRecipients: jest.fn(),
    addInternationalRecipient: jest.fn(),
    addInternalRecipient: jest.fn(),
    getRecipient: jest.fn(),
    changeRecipient: jest.fn(),
    deleteRecipient: jest.fn(),
  };
  let app: TestApp;
  beforeAll(async () => {
    app = await openTestApp(RecipientsModule, banking);
  });
  afterAll(() => app.close());
  afterEach(() => jest.resetAllMocks());

  it('lists a page of saved recipients', async () => {
    banking.listRecipients.mockResolvedValue({ items: [RECIPIENT], next: 'n2' });

    const { status, headers, body } = await app.send('GET /recipients?saved=true');

    expect({ status, body }).toEqual({ status: 200, body: [RECIPIENT] });
    expect(headers.link).toBe('</payments/recipients?saved=true&cursor=n2>; rel="next"');
    expect(banking.listRecipients).toHaveBeenCalledWith(ADA, { saved: true });
  });

  it('adds a recipient abroad from query and body, with data as it was sent', async () => {
    banking.addInternationalRecipient.mockResolvedValue(CREATED);
    const input = { data: { beneficiaryName: 'Asha Rao', other: 'x' }, alias: 'Asha, Pune' };
    const query = new URLSearchParams(CORRIDOR).toString();

    const { status, headers, body } = await app.send(`POST /recipients/international?${query}`, input);

    expect({ status, body }).toEqual({ status: 201, body: RECIPIENT });
    expect(headers.location).toBe('/payments/recipients/4');
    expect(banking.addInternationalRecipient).toHaveBeenCalledWith(ADA, { ...CORRIDOR, ...input }, {});
  });

  it('adds an account of this service as a recipient', async () => {
    banking.addInternalRecipient.mockResolvedValue(CREATED);
    const input = { accountCode: 'NW0000000008', saved: false };

    const response = await app.send('POST /recipients/internal', input, { 'idempotency-key': 'one' });

    expect(response).toMatchObject({ status: 201, body: RECIPIENT, headers: { location: '/payments/recipients/4' } });
    expect(banking.addInternalRecipient).toHaveBeenCalledWith(ADA, input, { idempotencyKey: 'one' });
  });

  it.each([
    ['/recipients/internal', {}],
    ['/recipients/internal', { accountCode: 'NW0000000008', saved: 'no' }],
    ['/recipients/international?countryCode=IN&currencyCode=INR&payoutMethod=LOCAL', { data: 'x' }],
  ])('refuses POST %s with %j', async (path, input) => {
    expect(await app.send(`POST ${path}`, input)).toMatchObject({ status: 400, body: { reason: 'body_malformed' } });
  });

  it('returns one recipient', async () => {
    banking.getRecipient.mockResolvedValue(RECIPIENT);

    expect(await app.send('GET /recipients/4')).toMatchObject({ status: 200, body: RECIPIENT });
    expect(banking.getRecipient).toHaveBeenCalledWith(ADA, { recipientId: 4 });
  });

  it('changes a recipient', async () => {
    banking.changeRecipient.mockResolvedValue(RECIPIENT);

    expect(await app.send('PATCH /recipients/4', { saved: false })).toMatchObject({ status: 200, body: RECIPIENT });
    expect(banking.changeRecipient).toHaveBeenCalledWith(ADA, { recipientId: 4, saved: false });
  });

  it('deletes a recipient and sends no body', async () => {
    banking.deleteRecipient.mockResolvedValue(undefined);

    expect(await app.send('DELETE /recipients/4')).toMatchObject({ status: 204, body: '' });
    expect(banking.deleteRecipient).toHaveBeenCalledWith(ADA, { recipientId: 4 });
  });
});
