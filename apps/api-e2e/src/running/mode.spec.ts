import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { until } from '@banking/postgres/testing';
import { BankingClient } from '@banking/client';
import type { AccountId, TransferAmount, WorkspaceId } from '@banking/domain';
import { OwnIssuer } from '../identity/own-issuer.js';
import { bankingWith, launch, newDataDir, refusedStart, RunningService } from '../running-service.js';

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

/** A live deployment with one user, one workspace and one account in USD, and the identity provider of the user. */
interface LiveData {
  readonly dataDir: string;
  readonly accountId: number;
  /** The first service, which runs without a worker until the end. */
  readonly service: RunningService;
  /** A new token of the user. */
  token(): string;
  /** Starts a further service on the data. */
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
      environment: { SANDBOX: 'off', OIDC_ISSUER: provider.issuer, WORKER: 'off', ...environment },
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
  const stop = () => service.stop().then(() => provider.stop());
  return { dataDir, accountId: resource.id, service, token, start, remove: () => stop().then(remove) };
}

/** For all processes of a live deployment. */
let data: LiveData;
beforeAll(async () => {
  data = await makeLiveData();
});
afterAll(() => data?.remove());

/** Asks for a quote of 100.00 USD. */
async function quote({ url }: RunningService, targetCurrency: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${url}/quotes`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${data.token()}`,
      'workspace-id': '1',
      'content-type': 'application/json',
      ...headers,
    },
    body: JSON.stringify({ accountID: data.accountId, targetCurrency, amount: '10000' }),
  });
  return { status: response.status, body: await response.json() };
}

describe('live deployment', () => {
  let service: RunningService;
  beforeAll(() => {
    service = data.service;
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

  it('warns at its start without a source of rates, and converts nothing', async () => {
    expect(await quote(service, 'USD')).toMatchObject({ status: 201, body: { rate: '1', targetAmount: '10000' } });
    expect(await quote(service, 'INR')).toMatchObject({
      status: 422,
      body: {
        reason: 'rate_unavailable',
        message: expect.stringContaining('this deployment has no source of rates') as string,
      },
    });
    expect(await service.logged(/"msg":"(There is no RATES_URL[^"]*)"/)).toContain('docs/books.md');
  });

  it('ends a worker of a sandbox before it claims work', async () => {
    const { ended, output } = launch('worker', { dataDir: data.dataDir });

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

  it('ends a sandbox service started on it', async () => {
    const { code, stdout, stderr } = await refusedStart({ dataDir: data.dataDir });

    expect({ code, ready: stdout.includes('Ready on') }).toEqual({ code: 1, ready: false });
    expect(stderr).toMatch(LIVE);
  });

  // Every other command opens the database as it does, except `migrate`: deployment-mode.spec.ts shows that one.
  it('refuses the command fund of a sandbox', async () => {
    const work = bankingWith({ DATA_DIR: data.dataDir }, 'fund', '1', '1250.00');

    await expect(work).rejects.toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(LIVE) as string });
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

describe('live deployment with REFERENCE_FILE, RATES_URL and DOCS=off', () => {
  let service: RunningService;
  let file: string;
  let source: Server;
  let requests = 0;
  let isDown = false;

  beforeAll(async () => {
    source = createServer((_, response) => {
      requests += 1;
      const rates = { USD: 1.25, INR: '100' };
      const body = { base: 'EUR', asOf: new Date().toISOString(), rates, spreadBasisPoints: { 'INR/USD': 25 } };
      if (isDown) response.writeHead(503).end();
      else response.end(JSON.stringify(body));
    });
    await once(source.listen(0, '127.0.0.1'), 'listening');
    const url = `http://reader:hunter2@127.0.0.1:${(source.address() as AddressInfo).port}/rates`;
    file = join(data.dataDir, 'reference.yaml');
    await writeFile(file, TERMS);
    service = await data.start({ REFERENCE_FILE: file, RATES_URL: url, QUOTE_VALID_S: '60', DOCS: 'off' });
  });
  afterAll(async () => {
    await service?.stop();
    source.closeAllConnections();
    await once(source.close(), 'close');
  });

  it('uses only the configured source of rates', async () => {
    const key = { 'idempotency-key': 'rates' };

    const first = await quote(service, 'INR', key);
    isDown = true;
    const again = await quote(service, 'INR', key);

    expect(first).toMatchObject({ status: 201, body: { rate: '79.8', targetAmount: '798000' } });
    const { createdAt, expiresAt } = first.body as { readonly createdAt: string; readonly expiresAt: string };
    expect(Date.parse(expiresAt) - Date.parse(createdAt)).toBe(60_000);
    expect(again).toEqual(first);
    expect(await quote(service, 'GEL')).toMatchObject({ status: 422, body: { reason: 'rate_unavailable' } });
    expect(requests).toBe(1);
  });

  it('has its corridors, and refuses a payment abroad, because it has no payment network', async () => {
    const client = new BankingClient({ baseUrl: service.url, token: data.token() });
    const workspace = client.workspace(1 as WorkspaceId);
    const { resource: recipient } = await workspace.recipients.addInternational({ ...TO_INDIA, data: RAVI });
    const payment = { accountID: data.accountId as AccountId, recipientID: recipient.id };

    await expect(workspace.quotes.create({ ...payment, amount: '25000' as TransferAmount })).rejects.toMatchObject({
      status: 422,
      reason: 'payouts_unavailable',
    });
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

  it('serves neither the docs page nor the document', async () => {
    const statuses = await Promise.all(
      ['/docs', '/docs/', '/docs/page.js', '/openapi.json', '/health/ready'].map(
        async (path) => (await fetch(`${service.url}${path}`)).status,
      ),
    );

    expect(statuses).toEqual([404, 404, 404, 404, 200]);
  });

  it('logs no password of the source', async () => {
    await service.stop();

    expect(service.log).not.toMatch(/hunter2|RATES_URL/);
  });
});
