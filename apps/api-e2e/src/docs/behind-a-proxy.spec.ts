import { BankingClient } from '@banking/client';
import { type FreshService, freshService } from '../documented/fresh-service.js';
import { blocksOf } from '../documented/shell.js';
import { demoDataDir } from '../running-service.js';
import { ADA } from '../service.js';
import { PrefixProxy } from './prefix-proxy.js';

describe('service behind a proxy that strips a prefix, with PUBLIC_URL', () => {
  let proxy: PrefixProxy;
  let service: FreshService;
  let headers: Record<string, string>;

  beforeAll(async () => {
    proxy = await PrefixProxy.start('/bank/payments');
    service = await freshService({ PUBLIC_URL: `${proxy.url}/`, WORKER: 'off' }, demoDataDir);
    proxy.target = service.url;
    headers = { authorization: `Bearer ${await service.tokenOf(ADA)}`, 'workspace-id': '1' };
  });
  afterAll(async () => {
    await service?.stop();
    await proxy?.stop();
  });

  /** Follows a reference as a client does: resolved against the address that was asked (RFC 3986, section 5). */
  const follow = (reference: string | null | undefined, asked: string) =>
    fetch(new URL(reference ?? 'nowhere', asked), { headers });

  const linkOf = (response: Response) => /<([^>]*)>/.exec(response.headers.get('link') ?? '')?.[1];

  it.each([
    ['/accounts', { productID: 2 }, 201],
    ['/quotes', { accountID: 1, targetCurrency: 'JPY', amount: '10000' }, 201],
    ['/accounts/1/orders', { amount: '5000', recipientID: 1, type: 'instant' }, 200],
    ['/recipients/internal', { accountCode: 'NW0000000008' }, 201],
    ['/sandbox/accounts/1/fundings', { amount: '1' }, 201],
  ])('returns a Location that resolves for POST %s', async (path, body, status) => {
    const asked = `${proxy.url}${path}`;
    const json = { ...headers, 'content-type': 'application/json' };

    const created = await fetch(asked, { method: 'POST', headers: json, body: JSON.stringify(body) });
    const { id } = (await created.json()) as { id: number };
    const read = await follow(created.headers.get('location'), asked);

    expect(created.status).toBe(status);
    expect([read.status, await read.json()]).toEqual([200, expect.objectContaining({ id })]);
  });

  it.each(['/transfers?limit=2', '/accounts/2/statement?from=2026-01-01&to=2036-01-01&limit=2'])(
    'returns a next link that resolves for %s',
    async (path) => {
      const asked = `${proxy.url}${path}`;

      const first = await fetch(asked, { headers });
      const next = await follow(linkOf(first), asked);

      expect([first.status, next.status]).toEqual([200, 200]);
      expect(await next.text()).not.toBe(await first.text());
    },
  );

  it.each(['/countries/IN/corridors', '/validation-schema?countryCode=IN&currencyCode=INR&payoutMethod=LOCAL'])(
    'returns a canonical link that resolves for the other path %s',
    async (path) => {
      const asked = `${proxy.url}${path}`;

      const former = await fetch(asked, { headers });
      const canonical = await follow(linkOf(former), asked);

      expect([former.status, canonical.status]).toEqual([200, 200]);
      expect(await canonical.text()).toBe(await former.text());
    },
  );

  it('lets the client read every page with the public URL as its base URL', async () => {
    const { transfers } = new BankingClient({ baseUrl: proxy.url, token: await service.tokenOf(ADA) }).workspace(1);
    const all = (await transfers.listPage({ type: 'payout', limit: 100 })).items;

    const paged = [];
    for await (const transfer of transfers.list({ type: 'payout', limit: 2 })) paged.push(transfer.id);

    expect(paged).toEqual(all.map(({ id }) => id));
    expect(paged.length).toBeGreaterThan(2);
  });

  it('names the public URL as the server and in the commands of the document', async () => {
    const { servers, info } = (await (await fetch(`${proxy.url}/openapi.json`)).json()) as {
      servers: { url: string }[];
      info: { description: string };
    };

    expect(servers.map(({ url }) => url)).toEqual([proxy.url]);
    expect(blocksOf('sh', info.description)[0]).toContain(`export BASE_URL=${proxy.url}\n`);
  });

  it('redirects the docs page with a trailing slash below the prefix', async () => {
    const { url, status } = await fetch(`${proxy.url}/docs/`);

    expect([url, status]).toEqual([`${proxy.url}/docs`, 200]);
  });
});
