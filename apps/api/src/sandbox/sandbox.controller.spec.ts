import { ADA, openTestApp, type TestApp } from '../testing/test-app.js';
import { SandboxModule } from './sandbox.module.js';

const TRANSFER = { id: 30, amount: '1000000', edges: {} };
const TRANSACTION = { id: 10, status: 'failed', edges: { transfers: [TRANSFER] } };

describe('SandboxController', () => {
  const banking = { fundAccount: jest.fn(), addTransactionEvent: jest.fn(), moveClock: jest.fn() };
  let app: TestApp;
  beforeAll(async () => {
    app = await openTestApp(SandboxModule, banking);
  });
  afterAll(() => app.close());
  afterEach(() => jest.resetAllMocks());

  it('funds an account and says where the transfer is', async () => {
    banking.fundAccount.mockResolvedValue({ resource: TRANSFER, isReplay: false });

    const response = await app.send('POST /sandbox/accounts/4/fundings', { amount: '1000000' });

    expect(response).toMatchObject({ status: 201, body: TRANSFER, headers: { location: '/payments/transfers/30' } });
    expect(banking.fundAccount).toHaveBeenCalledWith(ADA, { accountId: 4, amount: '1000000' }, {});
  });

  it('adds an event to a transaction and says where the transaction is', async () => {
    banking.addTransactionEvent.mockResolvedValue({ resource: TRANSACTION, isReplay: false });
    const input = { status: 'RJCT', reasonCode: 'AC04' };

    const path = '/sandbox/transactions/10/events';
    const response = await app.send(`POST ${path}`, input, { 'idempotency-key': 'one' });

    const location = '/payments/transactions/10';
    expect(response).toMatchObject({ status: 201, body: TRANSACTION, headers: { location } });
    const expected = [ADA, { ...input, transactionId: 10 }, { idempotencyKey: 'one' }];
    expect(banking.addTransactionEvent).toHaveBeenCalledWith(...expected);
  });

  it('refuses an event with an unknown status', async () => {
    const response = await app.send('POST /sandbox/transactions/10/events', { status: 'DONE' });

    expect(response).toMatchObject({ status: 400, body: { reason: 'body_malformed' } });
    expect(banking.addTransactionEvent).not.toHaveBeenCalled();
  });

  it('moves the clock', async () => {
    const clock = { now: '2060-01-31T09:00:00Z' };
    banking.moveClock.mockResolvedValue(clock);

    expect(await app.send('POST /sandbox/clock', clock)).toMatchObject({ status: 200, body: clock });
    expect(banking.moveClock).toHaveBeenCalledWith(ADA, clock);
  });
});
