import { BankingClient } from '@banking/client';
import type { AccountId, TransferAmount, WorkspaceId } from '@banking/domain';
import { bankingWith } from '../banking.js';
import { launch } from '../launch.js';
import { newDataDir, refusedStart, type RunningService } from '../running-service.js';
import { type LiveData, makeLiveData } from './live-service.js';

const RAVI = {
  beneficiaryName: 'Ravi Kumar',
  beneficiaryAccountType: 'Individual',
  beneficiaryAccountNumber: '50100123456789',
  beneficiaryCountryCode: 'IN',
  destinationCountry: 'IN',
  routingCodeType1: 'IFSC',
  routingCodeValue1: 'HDFC0000001',
};
const TO_INDIA = { countryCode: 'IN', currencyCode: 'INR', payoutMethod: 'LOCAL' };
const LIVE = /^The database is live, but SANDBOX=on\. Set SANDBOX=off, .+\n$/;

describe('live deployment', () => {
  let data: LiveData;
  let service: RunningService;

  beforeAll(async () => {
    data = await makeLiveData();
    service = await data.start({ WORKER: 'off' });
  });
  afterAll(async () => {
    await service.stop();
    await data.remove();
  });

  it('has no sandbox operations, and nothing of a sandbox in the document and on its page', async () => {
    const headers = {
      authorization: `Bearer ${data.token()}`,
      'workspace-id': '1',
      'content-type': 'application/json',
    };
    for (const [path, body] of [
      [`/sandbox/accounts/${data.accountId}/fundings`, '{"amount":"1"}'],
      ['/sandbox/transactions/10/events', '{"status":"RJCT"}'],
      ['/sandbox/clock', '{"now":"2060-01-31T09:00:00Z"}'],
    ] as const) {
      const response = await fetch(`${service.url}${path}`, { method: 'POST', headers, body });

      expect(response.status).toBe(404);
      expect(await response.json()).toMatchObject({ reason: 'route_not_found' });
    }
    const document = await (await fetch(`${service.url}/openapi.json`)).text();
    const page = await (await fetch(`${service.url}/docs`)).text();
    expect(document).not.toMatch(/sandbox|demo|northwind|npm run/i);
    expect(document).toContain('"name":"Accounts"');
    expect(page).toContain('data-sandbox="off"');
    expect(page).not.toMatch(/demo|sign-in|northwind/i);
  });

  it('has products, and neither corridors nor purposes of the demo', async () => {
    const client = new BankingClient({ baseUrl: service.url, token: data.token() });
    const workspace = client.workspace(1 as WorkspaceId);
    const products = await client.products.list();

    expect(products).not.toEqual([]);
    expect(products.filter(({ edges }) => edges.currency.swiftMinimumWithdrawalAmount !== undefined)).toEqual([]);
    expect(await client.corridors.list('IN')).toEqual([]);
    expect(await client.purposes.list()).toEqual({});
    await expect(workspace.recipients.addInternational({ ...TO_INDIA, data: RAVI })).rejects.toMatchObject({
      status: 404,
      reason: 'corridor_not_found',
    });
  });

  it.each([{}, { SANDBOX: 'on' }])('ends a worker started with %j before it claims work', async (environment) => {
    const { ended, output } = launch('worker', { dataDir: data.dataDir, environment });

    expect(await ended).toMatchObject({ code: 1 });
    expect(output.stderr).toMatch(LIVE);
    expect(output.stdout).not.toContain('working');
  });

  it('runs a worker with SANDBOX=off without the sandbox network', async () => {
    const worker = launch('worker', { dataDir: data.dataDir, environment: { SANDBOX: 'off' } });

    await worker.output.matched(/"sandbox":false,"msg":"working"/);
    worker.child.kill('SIGTERM');
    expect(await worker.ended).toMatchObject({ code: 0 });
  });

  it('refuses to start without an identity provider, and says what to set', async () => {
    const { code, stderr } = await refusedStart({ dataDir: data.dataDir, environment: { SANDBOX: 'off' } });

    expect(code).toBe(2);
    expect(stderr).toMatch(
      /^The configuration has a mistake:\n {2}- SANDBOX is off and OIDC_ISSUER is not set\. .+ Set OIDC_ISSUER, .+\n$/,
    );
  });

  it('ends a sandbox service started on it', async () => {
    const { code, stdout, stderr } = await refusedStart({ dataDir: data.dataDir });

    expect({ code, ready: stdout.includes('Ready on') }).toEqual({ code: 1, ready: false });
    expect(stderr).toMatch(LIVE);
  });

  it.each([
    ['migrate'],
    ['verify'],
    ['app', 'list'],
    ['app', 'add', 'Made by mistake'],
    ['fund', '1', '1250.00'],
    ['order', 'resume', '1', '--workspace', '1'],
    ['work', 'list'],
    ['export', '--workspace', '1'],
    ['token', 'mia@harbour.example'],
    ['demo'],
  ])('refuses the sandbox command %s %s', async (...args) => {
    const work = bankingWith({ DATA_DIR: data.dataDir }, ...args.filter((arg) => arg !== undefined));

    await expect(work).rejects.toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(LIVE) as string });
  });
});

describe('live deployment with DEMO_REFERENCE=on', () => {
  let data: LiveData;
  let service: RunningService;

  beforeAll(async () => {
    data = await makeLiveData({ DEMO_REFERENCE: 'on' });
    service = await data.start({ DEMO_REFERENCE: 'on', WORKER: 'off' });
  });
  afterAll(async () => {
    await service.stop();
    await data.remove();
  });

  it('refuses a payment abroad before it debits, because it has no payment network', async () => {
    const client = new BankingClient({ baseUrl: service.url, token: data.token() });
    const workspace = client.workspace(1 as WorkspaceId);
    const accountId = data.accountId as AccountId;
    const settings = { DATA_DIR: data.dataDir, SANDBOX: 'off' };
    await bankingWith(settings, 'fund', String(accountId), '1250.00');
    const { resource: recipient } = await workspace.recipients.addInternational({ ...TO_INDIA, data: RAVI });
    const amount = '25000' as TransferAmount;
    const order = { accountId, recipientID: recipient.id, amount, purposeCode: 'IR001' };

    for (const input of [
      { ...order, type: 'instant' },
      { ...order, type: 'scheduled', startAt: '2099-01-01T00:00:00Z' },
    ] as const) {
      await expect(workspace.orders.place(input)).rejects.toMatchObject({ status: 422, reason: 'payouts_unavailable' });
    }
    await expect(
      workspace.quotes.create({ accountID: accountId, recipientID: recipient.id, amount }),
    ).rejects.toMatchObject({ status: 422, reason: 'payouts_unavailable' });

    const { edges } = await workspace.accounts.get(accountId);
    expect(edges.balances[0]?.amount).toBe(125_000);
    const corridors = await client.corridors.list('IN');
    expect(corridors.length).toBeGreaterThan(0);
    expect(corridors.filter(({ enabled }) => enabled)).toEqual([]);
  });

  it.each(['api', 'worker'] as const)('ends the %s without the setting, which says what to do', async (program) => {
    const environment = { SANDBOX: 'off', OIDC_ISSUER: 'https://login.example' };
    const { ended, output } = launch(program, { dataDir: data.dataDir, environment });

    expect(await ended).toMatchObject({ code: 1 });
    expect(output.stderr).toMatch(
      /^The reference data has .+ marked as demo.+ or set DEMO_REFERENCE=on to serve them\.\n$/,
    );
  });
});

describe('external database', () => {
  it('refuses to start service, worker and commands without SANDBOX, and says what to set', async () => {
    const folder = await newDataDir();
    const settings = { dataDir: folder.path, environment: { DATABASE_URL: 'postgres://banking@127.0.0.1:1/banking' } };
    const worker = launch('worker', settings);

    const [service, { code }] = await Promise.all([refusedStart(settings), worker.ended]);
    const command = bankingWith({ DATA_DIR: folder.path, ...settings.environment }, 'verify');

    const message =
      /^The configuration has a mistake:\n {2}- SANDBOX is not set\. With DATABASE_URL, set SANDBOX=on .+\n$/;
    expect([service.code, code]).toEqual([2, 2]);
    expect(service.stderr).toMatch(message);
    expect(worker.output.stderr).toMatch(message);
    await expect(command).rejects.toMatchObject({ code: 2, stderr: expect.stringMatching(message) as string });
    await folder.remove();
  });
});
