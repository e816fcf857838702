import { ADA, openTestApp, type TestApp } from '../testing/test-app.js';
import { AccountsModule } from './accounts.module.js';

const STATEMENT = {
  from: '2026-11-01',
  to: '2026-12-01',
  basis: 'valueDate',
  openingBalance: 0,
  closingBalance: 0,
  movements: [],
  edges: { account: { id: 2, name: 'Northwind Trading', code: 'NW0000000002', edges: { currency: { code: 'EUR' } } } },
};
const QUERY = { from: '2026-11-01', to: '2026-12-01' };

describe('StatementsController', () => {
  const banking = { getStatement: jest.fn() };
  let app: TestApp;
  beforeAll(async () => {
    app = await openTestApp(AccountsModule, banking);
  });
  afterAll(() => app.close());
  afterEach(() => jest.resetAllMocks());

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

  it('writes no opening row on a later page, and no closing row before the last one', async () => {
    banking.getStatement.mockResolvedValue({ ...STATEMENT, next: 'n3' });
    const headers = { accept: 'text/csv' };

    const { body } = await app.send(
      'GET /accounts/2/statement?from=2026-11-01&to=2026-12-01&cursor=n2',
      undefined,
      headers,
    );

    expect(body).not.toMatch(/^(opening|closing),/m);
  });

  it.each(['', 'from=2026-11-01', 'from=yesterday&to=2026-12-01'])('refuses a period given by "%s"', async (query) => {
    const response = await app.send(`GET /accounts/2/statement?${query}`);

    expect(response).toMatchObject({ status: 400, body: { reason: 'timestamp_invalid' } });
    expect(banking.getStatement).not.toHaveBeenCalled();
  });
});
