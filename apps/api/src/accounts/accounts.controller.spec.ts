import { ADA, openTestApp, type TestApp } from '../testing/test-app.js';
import { AccountsModule } from './accounts.module.js';

const ACCOUNT = { id: 22, name: 'Northwind Trading' };

describe('AccountsController', () => {
  const banking = { listAccounts: jest.fn(), getAccount: jest.fn(), openAccount: jest.fn(), changeAccount: jest.fn() };
  let app: TestApp;
  beforeAll(async () => {
    app = await openTestApp(AccountsModule, banking);
  });
  afterAll(() => app.close());
  afterEach(() => jest.resetAllMocks());

  it('lists a page of accounts and links to the next page', async () => {
    banking.listAccounts.mockResolvedValue({ items: [ACCOUNT], next: 'n2' });

    const { status, headers, body } = await app.send('GET /accounts?limit=1&cursor=n1');

    expect({ status, body }).toEqual({ status: 200, body: [ACCOUNT] });
    expect(headers.link).toBe('</payments/accounts?limit=1&cursor=n2>; rel="next"');
    expect(banking.listAccounts).toHaveBeenCalledWith(ADA, { limit: 1, cursor: 'n1' });
  });

  it('sends no link with the last page', async () => {
    banking.listAccounts.mockResolvedValue({ items: [] });

    const { headers, body } = await app.send('GET /accounts');

    expect(body).toEqual([]);
    expect(headers).not.toHaveProperty('link');
    expect(banking.listAccounts).toHaveBeenCalledWith(ADA, {});
  });

  it.each([
    ['limit=0', 'limit_invalid'],
    ['colour=red', 'parameter_unknown'],
  ])('refuses a list with %s', async (query, reason) => {
    expect(await app.send(`GET /accounts?${query}`)).toMatchObject({ status: 400, body: { reason } });
    expect(banking.listAccounts).not.toHaveBeenCalled();
  });

  it('returns one account', async () => {
    banking.getAccount.mockResolvedValue(ACCOUNT);

    expect(await app.send('GET /accounts/22')).toMatchObject({ status: 200, body: ACCOUNT });
    expect(banking.getAccount).toHaveBeenCalledWith(ADA, { accountId: 22 });
  });

  it('refuses an id that is not a whole number', async () => {
    expect(await app.send('GET /accounts/022')).toMatchObject({ status: 400, body: { reason: 'id_malformed' } });
    expect(banking.getAccount).not.toHaveBeenCalled();
  });

  it('opens an account and says where it is', async () => {
    banking.openAccount.mockResolvedValue({ resource: ACCOUNT, isReplay: false });

    const input = { productID: 2, alias: 'Trade fairs' };
    const { status, headers, body } = await app.send('POST /accounts', input, { 'idempotency-key': 'one' });

    expect({ status, body }).toEqual({ status: 201, body: ACCOUNT });
    expect(headers.location).toBe('/payments/accounts/22');
    expect(headers).not.toHaveProperty('idempotent-replayed');
    expect(banking.openAccount).toHaveBeenCalledWith(ADA, input, { idempotencyKey: 'one' });
  });

  it('marks the replay of an earlier request', async () => {
    banking.openAccount.mockResolvedValue({ resource: ACCOUNT, isReplay: true });

    const { status, headers } = await app.send('POST /accounts', { productID: 2 });

    expect([status, headers['idempotent-replayed']]).toEqual([201, 'true']);
    expect(banking.openAccount).toHaveBeenCalledWith(ADA, { productID: 2 }, {});
  });

  it.each([
    [{ alias: 'Trade fairs' }, 'body_malformed'],
    [{ productID: '2' }, 'body_malformed'],
    [{ productID: 2, colour: 'red' }, 'field_unknown'],
  ])('refuses to open an account from %j', async (input, reason) => {
    expect(await app.send('POST /accounts', input)).toMatchObject({ status: 400, body: { reason } });
    expect(banking.openAccount).not.toHaveBeenCalled();
  });

  it('changes an account', async () => {
    banking.changeAccount.mockResolvedValue(ACCOUNT);

    expect(await app.send('PATCH /accounts/22', { status: 'disabled' })).toMatchObject({ status: 200, body: ACCOUNT });
    expect(banking.changeAccount).toHaveBeenCalledWith(ADA, { accountId: 22, status: 'disabled' });
  });
});
