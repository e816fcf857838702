import { ADA, openTestApp, type TestApp } from '../testing/test-app.js';
import { TransfersModule } from './transfers.module.js';

const TRANSFER = { id: 26, amount: '1875000', edges: {} };

describe('TransfersController', () => {
  const banking = { listTransfers: jest.fn(), getTransfer: jest.fn() };
  let app: TestApp;
  beforeAll(async () => {
    app = await openTestApp(TransfersModule, banking);
  });
  afterAll(() => app.close());
  afterEach(() => jest.resetAllMocks());

  it('lists a page of transfers that match all filters', async () => {
    banking.listTransfers.mockResolvedValue({ items: [TRANSFER], next: 'n2' });
    const query = 'direction=debit&type=payout&transactionStatus=pending&createdTo=2026-11-21T09:30:00Z';

    const { status, headers, body } = await app.send(`GET /transfers?${query}`);

    expect({ status, body }).toEqual({ status: 200, body: [TRANSFER] });
    expect(headers.link).toMatch(/^<\/payments\/transfers\?direction=debit&.*&cursor=n2>; rel="next"$/);
    expect(banking.listTransfers).toHaveBeenCalledWith(ADA, {
      direction: 'debit',
      type: 'payout',
      transactionStatus: 'pending',
      createdTo: '2026-11-21T09:30:00Z',
    });
  });

  it.each([
    ['direction=up', 'parameter_invalid'],
    ['recipientId=x', 'id_malformed'],
    ['direction=debit&direction=credit', 'parameter_repeated'],
  ])('refuses a list with %s', async (query, reason) => {
    expect(await app.send(`GET /transfers?${query}`)).toMatchObject({ status: 400, body: { reason } });
    expect(banking.listTransfers).not.toHaveBeenCalled();
  });

  it('returns one transfer', async () => {
    banking.getTransfer.mockResolvedValue(TRANSFER);

    expect(await app.send('GET /transfers/26')).toMatchObject({ status: 200, body: TRANSFER });
    expect(banking.getTransfer).toHaveBeenCalledWith(ADA, { transferId: 26 });
  });
});
