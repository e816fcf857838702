import { Refusal } from '@banking/domain';
import { ADA, openTestApp, type TestApp } from '../testing/test-app.js';
import { AccountsModule } from './accounts.controller.js';

const banking = {
  getStatement: jest.fn(),
};
let app: TestApp;

beforeAll(async () => {
  app = await openTestApp(AccountsModule, banking);
});
afterAll(() => app.close());
afterEach(() => jest.resetAllMocks());

describe('StatementsController', () => {
  const STATEMENT = {
    from: '2026-11-01',
    to: '2026-12-01',
    basis: 'valueDate',
    openingBalance: 0,
    closingBalance: 0,
    movements: [],
    edges: {
      account: { id: 2, name: 'Northwind Trading', code: 'NW0000000002', edges: { currency: { code: 'EUR' } } },
    },
  };
  const PATH = '/accounts/2/statement?from=2026-11-01&to=2026-12-01';
  const QUERY = { from: '2026-11-01', to: '2026-12-01' };

  it('returns a page of a statement and links to the next page', async () => {
    banking.getStatement.mockResolvedValue({ ...STATEMENT, next: 'n2' });

    const { status, headers, body } = await app.send('GET /accounts/2/statement?from=2026-11-01&to=2026-12-01&limit=5');

    expect({ status, body }).toEqual({ status: 200, body: STATEMENT });
    expect(headers.link).toMatch(/^<\/payments\/accounts\/2\/statement\?from=2026-11-01&.*cursor=n2>; rel="next"$/);
    expect(banking.getStatement).toHaveBeenCalledWith(ADA, { accountId: 2, ...QUERY, limit: 5 });
  });

  it('returns a table to a caller that accepts CSV', async () => {
    banking.getStatement.mockResolvedValue(STATEMENT);
    const headers = { accept: 'text/csv' };

    const table = await app.send('GET /accounts/2/statement?from=2026-11-01&to=2026-12-01', undefined, headers);

    expect(table).toMatchObject({
      status: 200,
      body: expect.stringMatching(/^\ufeffline,.*\r\nopening,.*\r\nclosing,/),
    });
    expect(table.headers).toMatchObject({
      'content-type': 'text/csv; charset=utf-8; header=present',
      'content-disposition': 'attachment; filename="statement-NW0000000002-2026-11-01-2026-12-01.csv"',
    });
  });

  const CSV = { accept: 'text/csv' };

  it('reads a table in pages, and writes one table', async () => {
    for (const next of ['n2', 'n3', undefined]) banking.getStatement.mockResolvedValueOnce({ ...STATEMENT, next });

    const { status, headers, body } = await app.send(`GET ${PATH}`, undefined, CSV);

    expect(status).toBe(200);
    expect(headers).not.toHaveProperty('link');
    expect(body).toMatch(/^\ufeffline,.*\r\nopening,.*\r\nclosing,.*\r\n$/);
    expect(banking.getStatement.mock.calls).toEqual(
      [undefined, 'n2', 'n3'].map((cursor) => [ADA, { accountId: 2, ...QUERY, limit: 500, cursor }]),
    );
  });

  it('reads one page for the head of a table', async () => {
    banking.getStatement.mockResolvedValue({ ...STATEMENT, next: 'n2' });

    const { status, headers, body } = await app.send(`HEAD ${PATH}`, undefined, CSV);

    expect({ status, body }).toEqual({ status: 200, body: '' });
    expect(headers['content-disposition']).toMatch(/\.csv"$/);
    expect(banking.getStatement).toHaveBeenCalledTimes(1);
  });

  it('responds with an error if the first page of a table cannot be read or written', async () => {
    banking.getStatement.mockRejectedValueOnce(new Refusal('account_not_found'));
    expect(await app.send(`GET ${PATH}`, undefined, CSV)).toMatchObject({
      status: 404,
      body: { reason: 'account_not_found' },
    });

    const account = { ...STATEMENT.edges.account, edges: { currency: { code: 'XQX' } } };
    banking.getStatement.mockResolvedValueOnce({ ...STATEMENT, edges: { account } });
    expect(await app.send(`GET ${PATH}`, undefined, CSV)).toMatchObject({ status: 500 });
  });

  it.each(['n2', 'n3'])('ends the connection if the pages lead back to %s', async (back) => {
    for (const next of ['n2', 'n3']) banking.getStatement.mockResolvedValueOnce({ ...STATEMENT, next });
    banking.getStatement.mockResolvedValue({ ...STATEMENT, next: back });

    await expect(app.send(`GET ${PATH}`, undefined, CSV)).rejects.toThrow();
  });

  it.each([
    ['limit=5', 'limit_invalid', ['limit']],
    ['cursor=n2', 'cursor_invalid', ['cursor']],
    ['limit=5&cursor=n2', 'cursor_invalid', ['limit', 'cursor']],
  ])('refuses %s for a table', async (query, reason, paths) => {
    const response = await app.send(`GET ${PATH}&${query}`, undefined, CSV);

    expect(response).toMatchObject({ status: 400, body: { reason, details: paths.map((path) => ({ path })) } });
    expect(banking.getStatement).not.toHaveBeenCalled();
  });

  it.each(['', 'from=2026-11-01', 'from=yesterday&to=2026-12-01'])('refuses a period given by "%s"', async (query) => {
    const response = await app.send(`GET /accounts/2/statement?${query}`);

    expect(response).toMatchObject({ status: 400, body: { reason: 'timestamp_invalid' } });
    expect(banking.getStatement).not.toHaveBeenCalled();
  });
});
