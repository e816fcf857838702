import { ADA, openTestApp, type TestApp } from '../testing/test-app.js';
import { AppsModule } from './apps.module.js';

const APP = { id: 3, name: 'Northwind Treasury' };
const USER = { id: 1, email: 'ada@northwind.example', edges: {} };

describe('AppsController', () => {
  const banking = { listApps: jest.fn(), listAppUsers: jest.fn() };
  let app: TestApp;
  beforeAll(async () => {
    app = await openTestApp(AppsModule, banking);
  });
  afterAll(() => app.close());
  afterEach(() => jest.resetAllMocks());

  it('lists the apps of the caller', async () => {
    banking.listApps.mockResolvedValue([APP]);

    expect(await app.send('GET /apps')).toMatchObject({ status: 200, body: [APP] });
    expect(banking.listApps).toHaveBeenCalledWith(ADA);
  });

  it('lists the users of an app', async () => {
    banking.listAppUsers.mockResolvedValue([USER]);

    expect(await app.send('GET /apps/3/users')).toMatchObject({ status: 200, body: [USER] });
    expect(banking.listAppUsers).toHaveBeenCalledWith(ADA, { appId: 3 });
  });

  it('refuses an app id that is not a whole number', async () => {
    expect(await app.send('GET /apps/x/users')).toMatchObject({ status: 400, body: { reason: 'id_malformed' } });
    expect(banking.listAppUsers).not.toHaveBeenCalled();
  });
});
