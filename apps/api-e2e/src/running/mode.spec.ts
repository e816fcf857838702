import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { until } from '@banking/postgres/testing';
import { BankingClient } from '@banking/client';
import type { AccountId, TransferAmount, WorkspaceId } from '@banking/domain';
import { OwnIssuer } from '../identity/own-issuer.js';
import {
  bankingWith,
  DemoDatabase,
  launch,
  newDataDir,
  refusedStart,
  RunningService,
  twoOperators,
} from '../running-service.js';
import { ADA, localToken } from '../service.js';

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
const MIA = 'mia@harbour.example';
const SUBJECT = 'mia-1';

/** The data of a live deployment with one user, one workspace and one account in USD, and the identity provider of the user. */
interface LiveData {
  readonly dataDir: string;
  readonly accountId: number;
  /** A new token of the user. */
  token(): string;
  /** Starts the service on the data. */
  start(environment?: Readonly<Record<string, string>>): Promise<RunningService>;
  remove(): Promise<void>;
}

/** Provisions the data, because a live deployment has no demo data. */
async function makeLiveData(): Promise<LiveData> {
  const { path: dataDir, remove } = await newDataDir();
  const provider = await OwnIssuer.start();
  const token = () => provider.token(SUBJECT);
  const start = (environment: Readonly<Record<string, string>> = {}) =>
    RunningService.start({
      dataDir,
      environment: { SANDBOX: 'off', OIDC_ISSUER: provider.issuer, ...environment },
    });
  const command = { DATA_DIR: dataDir, SANDBOX: 'off' };
  const service = await start();
  await bankingWith(command, 'app', 'add', 'Harbour');
  const identity = ['--issuer', provider.issuer, '--subject', SUBJECT];
  await bankingWith(command, 'user', 'add', MIA, '--app', 'Harbour', ...identity);
  await bankingWith(command, 'workspace', 'add', 'Shipping', '--app', 'Harbour');
  await bankingWith(command, 'grant', 'add', MIA, '--workspace', '1', '--role', 'admin', 'member');
  const client = new BankingClient({ baseUrl: service.url, token: token() });
  const dollar = (await client.products.list()).find(({ edges }) => edges.currency.code === 'USD');
  const { resource } = await client.workspace(1 as never).accounts.open({ productID: dollar!.id });
  await service.stop();
  return { dataDir, accountId: resource.id, token, start, remove: () => provider.stop().then(remove) };
}

/** For all services of a live deployment, one after the other. */
let data: LiveData;
beforeAll(async () => {
  data = await makeLiveData();
});
afterAll(() => data?.remove());

describe('live deployment', () => {
  let service: RunningService;
  beforeAll(async () => {
    service = await data.start({ WORKER: 'off' });
  });
  afterAll(() => service?.stop());

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

  const COMMANDS = [
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
  ];
  it('refuses the commands of a sandbox', async () => {
    for (const command of COMMANDS) {
      const work = bankingWith({ DATA_DIR: data.dataDir }, ...command);

      await expect(work).rejects.toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(LIVE) as string });
    }
  });
});

describe('source of rates', () => {
  let demo: DemoDatabase;
  let source: Server;
  let url: string;
  let requests: number;
  let isDown: boolean;

  beforeAll(async () => {
    demo = await DemoDatabase.open();
    source = createServer((_, response) => {
      requests += 1;
      const rates = { USD: 1.25, INR: '100' };
      const body = { base: 'EUR', asOf: new Date().toISOString(), rates, spreadBasisPoints: { 'INR/USD': 25 } };
      if (isDown) response.writeHead(503).end();
      else response.end(JSON.stringify(body));
    });
    await once(source.listen(0, '127.0.0.1'), 'listening');
    url = `http://reader:hunter2@127.0.0.1:${(source.address() as AddressInfo).port}/rates`;
  });
  afterAll(async () => {
    await once(source.close(), 'close');
    await demo?.close();
  });

  /** The service with the demo data or of a live deployment, and an account in USD. */
  const placeOf = (sandbox: string) =>
    sandbox === 'on'
      ? {
          start: async (environment: Readonly<Record<string, string>>) =>
            (await demo.start({ SANDBOX: 'on', ...environment })).running,
          token: () => localToken(demo.dataDir, ADA),
          accountID: 1,
        }
      : { start: data.start, token: data.token, accountID: data.accountId };
  type Place = ReturnType<typeof placeOf>;
  const quote = async (
    service: RunningService,
    { token, accountID }: Place,
    targetCurrency: string,
    headers: Record<string, string> = {},
  ) => {
    const response = await fetch(`${service.url}/quotes`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${await token()}`,
        'workspace-id': '1',
        'content-type': 'application/json',
        ...headers,
      },
      body: JSON.stringify({ accountID, targetCurrency, amount: '10000' }),
    });
    return { status: response.status, body: await response.json() };
  };

  it('warns at the start and converts nothing in a live deployment without a source', async () => {
    const place = placeOf('off');
    const service = await place.start({});

    expect(await quote(service, place, 'USD')).toMatchObject({
      status: 201,
      body: { rate: '1', targetAmount: '10000' },
    });
    expect(await quote(service, place, 'INR')).toMatchObject({
      status: 422,
      body: {
        reason: 'rate_unavailable',
        message: expect.stringContaining('this deployment has no source of rates') as string,
      },
    });
    expect(await service.logged(/"msg":"(There is no RATES_URL[^"]*)"/)).toContain('docs/books.md');
    await service.stop();
  });

  it.each(['on', 'off'])('uses only the configured source with SANDBOX %s', async (sandbox) => {
    [requests, isDown] = [0, false];
    const place = placeOf(sandbox);
    const service = await place.start({ RATES_URL: url, QUOTE_VALID_S: '60' });
    const key = { 'idempotency-key': `rates-${sandbox}` };

    const first = await quote(service, place, 'INR', key);
    isDown = true;
    const again = await quote(service, place, 'INR', key);

    expect(first).toMatchObject({ status: 201, body: { rate: '79.8', targetAmount: '798000' } });
    const { createdAt, expiresAt } = first.body as { readonly createdAt: string; readonly expiresAt: string };
    expect(Date.parse(expiresAt) - Date.parse(createdAt)).toBe(60_000);
    expect(again).toEqual(first);
    expect(await quote(service, place, 'GEL')).toMatchObject({ status: 422, body: { reason: 'rate_unavailable' } });
    expect(requests).toBe(1);
    await service.stop();
    expect(service.log).not.toMatch(/hunter2|RATES_URL/);
  });
});

// The last, because the data keeps the demo reference.
/** A free corridor to India, and purposes of the operator. */
const TERMS = `
terms: { india: { limitCurrency: USD, minimumAmount: '1', maximumAmount: '900000', deliveryTAT: T+1 } }
corridors:
  - { id: 1, destinationCountry: IN, destinationCurrency: INR, payoutMethod: LOCAL, beneficiaryAccountType: Individual,
      routingCodeType: IFSC, terms: india }
purposes: [{ code: IR001, text: Own account }]
`;

describe('live deployment with REFERENCE_FILE', () => {
  let service: RunningService;
  let file: string;
  beforeAll(async () => {
    file = join(data.dataDir, 'reference.yaml');
    await writeFile(file, TERMS);
    service = await data.start({ REFERENCE_FILE: file, WORKER: 'off' });
  });
  afterAll(() => service?.stop());

  it('has its corridors, and refuses a payment abroad before it debits, because it has no payment network', async () => {
    const client = new BankingClient({ baseUrl: service.url, token: data.token() });
    const workspace = client.workspace(1 as WorkspaceId);
    const accountId = data.accountId as AccountId;
    const settings = { DATA_DIR: data.dataDir, SANDBOX: 'off' };
    const byTwo = await twoOperators(settings);
    await byTwo('fund', String(accountId), '1250.00');
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
    expect(corridors).toMatchObject([{ id: 1, deliveryTAT: 'T+1', maximumAmount: '900000', enabled: false }]);
    expect(await client.purposes.list()).toEqual({ IR001: 'Own account' });
  });

  it('follows a document of an operator while it runs', async () => {
    const client = new BankingClient({ baseUrl: service.url, token: data.token() });
    await writeFile(`${file}.next`, TERMS.replace('T+1', 'T+2'));

    await bankingWith({ DATA_DIR: data.dataDir, SANDBOX: 'off' }, 'reference', 'apply', `${file}.next`);

    await until(async () => (await client.corridors.list('IN'))[0]?.deliveryTAT === 'T+2');
  });

  it('ends the service if its document has a mistake, with the line', async () => {
    await writeFile(`${file}.wrong`, TERMS.replace('IFSC', 'SORT CODE'));
    const environment = { SANDBOX: 'off', OIDC_ISSUER: 'https://login.example', REFERENCE_FILE: `${file}.wrong` };
    const { ended, output } = launch('api', { dataDir: data.dataDir, environment });

    expect(await ended).toMatchObject({ code: 2 });
    expect(output.stderr).toMatch(/^REFERENCE_FILE has a mistake:\n {2}- line 4, corridors\[0\]: There is no format/);
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
