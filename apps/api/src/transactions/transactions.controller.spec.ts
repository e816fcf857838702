import { Refusal } from '@banking/domain';
import { ADA, openTestApp, type TestApp } from '../testing/test-app.js';
import { TransactionsModule } from './transactions.module.js';

const TRANSACTION = { id: 9, status: 'completed', edges: { transfers: [] } };

describe('TransactionsController', () => {
  const banking = { getTransaction: jest.fn() };
  let app: TestApp;
  beforeAll(async () => {
    app = await openTestApp(TransactionsModule, banking);
  });
  afterAll(() => app.close());
  afterEach(() => jest.resetAllMocks());

  it('returns one transaction', async () => {
    banking.getTransaction.mockResolvedValue(TRANSACTION);

    expect(await app.send('GET /transactions/9')).toMatchObject({ status: 200, body: TRANSACTION });
    expect(banking.getTransaction).toHaveBeenCalledWith(ADA, { transactionId: 9 });
  });

  it('responds 404 for a transaction that the workspace does not have', async () => {
    banking.getTransaction.mockRejectedValue(new Refusal('transaction_not_found'));

    expect(await app.send('GET /transactions/9')).toMatchObject({
      status: 404,
      body: { errorCode: 'invalid_request', reason: 'transaction_not_found' },
    });
  });

  it.each(['0', '09', 'x', '9007199254740992'])('refuses the id %s', async (id) => {
    expect(await app.send(`GET /transactions/${id}`)).toMatchObject({ status: 400, body: { reason: 'id_malformed' } });
    expect(banking.getTransaction).not.toHaveBeenCalled();
  });
});
