import { once } from 'node:events';
import { type IncomingMessage, type RequestListener, type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import { type AccountId, type AppId, BankingService, type OrderWish, Refusal, type TransferId, type UserId, type WorkspaceId } from '@banking/domain'; // prettier-ignore
import { BankingClient, type BankingClientOptions, type Sending } from './index.js';

const TOKEN = 'eyJhbGciOiJFUzI1NiJ9.e30.c2lnbmF0dXJl';
const SCOPE = { workspaceId: 7 as WorkspaceId };
const TRANSFER = { transferId: 42 as TransferId };

let server: Server;
let origin: string;
let seen: IncomingMessage[];
let body: string;

beforeEach(async () => {
  seen = [];
  body = '[]';
  const answer: RequestListener = (request, response) => {
    seen.push(request);
    response.setHeader('Content-Type', 'application/json; charset=utf-8').end(body);
  };
  server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

const clientWith = (options: Partial<BankingClientOptions> = {}) =>
  new BankingClient({ baseUrl: origin, token: TOKEN, ...options });

describe('Given a service that answers', () => {
  it.each([
    ['/apps', (client: BankingClient) => client.listApps()],
    ['/apps/3/users', (client: BankingClient) => client.listAppUsers({}, { appId: 3 as AppId })],
    ['/products', (client: BankingClient) => client.listProducts()],
    ['/recipients/countries/DE/corridors', (client: BankingClient) => client.listCorridors({}, { country: 'DE' })],
  ])('When %s is listed, Then one GET with the token and no workspace is sent', async (path, list) => {
    body = '[{"id":1,"name":"Euro","tomorrow":{"new":["field",null]},"edges":{}}]';

    expect(await list(clientWith())).toEqual(JSON.parse(body));
    expect(seen.map(({ method, url }) => `${method} ${url}`)).toEqual([`GET ${path}`]);
    expect(seen[0]?.headers).toMatchObject({ accept: 'application/json', authorization: `Bearer ${TOKEN}` });
    expect(seen[0]?.headers).not.toHaveProperty('workspace-id');
  });

  it('When a transfer is read, Then the workspace goes along and the answer comes as it was written', async () => {
    body = '{"id":42,"amount":"9223372036854775807","createdAt":"2026-11-21T09:30:00.123456789Z","edges":{},"x":1.5}';

    expect(await clientWith().getTransfer(SCOPE, TRANSFER)).toEqual(JSON.parse(body));
    expect(await clientWith().workspace(7).transfers.get(42)).toEqual(JSON.parse(body));
    expect(seen.map(({ url }) => url)).toEqual(['/transfers/42', '/transfers/42']);
    expect(seen.map(({ headers }) => headers['workspace-id'])).toEqual(['7', '7']);
  });

  it('When a country needs encoding, Then it stays one segment of the path', async () => {
    for (const country of ['d/../../apps', 'D E?x=1#y', '%2e%2e', 'Å', '...']) {
      await clientWith().listCorridors({}, { country });
      expect(decodeURIComponent(seen.at(-1)?.url?.split('/')[3] ?? '')).toBe(country);
      expect(seen.at(-1)?.url).toMatch(/^\/recipients\/countries\/[^/?#]+\/corridors$/);
    }
  });

  it.each(['/banking', '/banking/', '/a%20b/c'])('When the base is below %s, Then so are the paths', async (prefix) => {
    await clientWith({ baseUrl: new URL(prefix, origin) }).listApps();

    expect(seen[0]?.url).toBe(`${prefix.replace(/\/$/, '')}/apps`);
  });

  it('When the token comes from a function, Then every request asks for it anew', async () => {
    let asked = 0;
    const client = clientWith({ token: () => Promise.resolve(`token-${++asked}`) });
    await client.listApps();
    await client.listApps();

    expect(seen.map(({ headers }) => headers.authorization)).toEqual(['Bearer token-1', 'Bearer token-2']);
  });

  it('When no token can be had, Then the error is the one of the function, and nothing is sent', async () => {
    const client = clientWith({ token: () => Promise.reject(new Error('the issuer is closed')) });

    await expect(client.listApps()).rejects.toThrow('the issuer is closed');
    expect(seen).toEqual([]);
  });

  it('When a fetch is given, Then it sends', async () => {
    const sent: string[] = [];
    const client = clientWith({
      fetch: (input, init) => {
        sent.push(String(input));
        return fetch(input, init);
      },
    });

    await client.listProducts({});
    expect(sent).toEqual([`${origin}/products`]);
  });

  it('When a fetch is given, Then it learns for whom each call is, and the service does not', async () => {
    const calls: Sending['call'][] = [];
    const client = clientWith({ fetch: (input, init) => (calls.push(init.call), fetch(input, init)) });
    const actor = 3 as UserId;
    await client.listProducts({ actor });
    await client.listOrders({ ...SCOPE, actor });
    body = '{}';
    await client.placeOrder({ ...SCOPE, actor }, { accountId: 1 as AccountId } as OrderWish);

    expect(calls).toMatchObject([
      { operation: 'listProducts', method: 'GET', actor },
      { operation: 'listOrders', method: 'GET', actor, workspaceId: 7 },
      { operation: 'placeOrder', method: 'POST', actor, workspaceId: 7 },
    ]);
    expect(seen.flatMap(({ headers }) => Object.keys(headers))).not.toContain('actor');
  });
});

describe('Given an argument that cannot be sent', () => {
  const unsent = async (call: (client: BankingClient) => Promise<unknown>) => {
    const error = await call(clientWith()).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Refusal);
    expect(seen).toEqual([]);
    return (error as Refusal).reason;
  };

  it('When the workspace is missing, Then it is refused before sending', async () => {
    expect(await unsent((client) => client.getTransfer({}, TRANSFER))).toBe('workspace_id_required');
  });

  it.each([0, -1, 1.5, NaN, 2 ** 53, '1\r\nX: y', '7', [7], null])(
    'When an id is %p, Then it is refused before sending',
    async (id) => {
      expect(await unsent((client) => client.workspace(id as number).transfers.get(42))).toBe('workspace_id_invalid');
      expect(await unsent((client) => client.workspace(7).transfers.get(id as number))).toBe('id_malformed');
      expect(await unsent((client) => client.listAppUsers({}, { appId: id as AppId }))).toBe('id_malformed');
    },
  );

  it.each(['', '.', '..', '\ud800'])('When a country is %j, Then it is refused before sending', async (country) => {
    expect(await unsent((client) => client.listCorridors({}, { country }))).toBe('country_unknown');
  });
});

describe('Given options that cannot work', () => {
  it.each([
    { baseUrl: 'banking.example' },
    { baseUrl: 'ftp://banking.example' },
    { baseUrl: 'https://ada:secret@banking.example' },
    { baseUrl: 'https://banking.example/?version=2' },
    { baseUrl: 'https://banking.example/#top' },
    { token: '' },
    { token: `${TOKEN}\n` },
    { token: undefined as unknown as string },
    { timeoutMs: 0 },
    { timeoutMs: 1.5 },
    { timeoutMs: 2 ** 31 },
    { timeoutMs: Infinity },
  ])('When %o are given, Then the constructor says so', (options) => {
    expect(() => clientWith(options)).toThrow(TypeError);
  });

  it('When a function gives a token with a line break, Then it is not quoted', async () => {
    const error = await clientWith({ token: () => `${TOKEN}\n` })
      .listApps()
      .catch((thrown: unknown) => thrown);

    expect(error).toBeInstanceOf(TypeError);
    expect(inspect(error)).not.toContain(TOKEN);
    expect(seen).toEqual([]);
  });
});

describe('Given a client', () => {
  it('When it is injected, Then it is the port', () => {
    expect(clientWith()).toBeInstanceOf(BankingService);
  });

  it('When it is logged, Then the token is not', () => {
    expect(inspect(clientWith(), { depth: null, showHidden: true }) + JSON.stringify(clientWith())).not.toContain(
      TOKEN,
    );
  });
});
