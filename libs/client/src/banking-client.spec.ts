import { once } from 'node:events';
import { type IncomingMessage, type RequestListener, type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import {
  type AccountId,
  BankingService,
  type OrderId,
  type PlaceOrderInput,
  Refusal,
  type TransferId,
  type UserId,
  type WorkspaceId,
} from '@banking/domain';
import { BankingClient, type BankingClientOptions, RemoteBankingService, type TransportRequest } from './index.js';

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

const serviceWith = (options: Partial<BankingClientOptions> = {}) =>
  new RemoteBankingService({ baseUrl: origin, token: TOKEN, ...options });

describe('BankingClient', () => {
  it.each([
    ['/apps', (client: BankingClient) => client.apps.list()],
    ['/apps/3/users', (client: BankingClient) => client.apps.users(3)],
    ['/products', (client: BankingClient) => client.products.list()],
    ['/recipients/countries/DE/corridors', (client: BankingClient) => client.corridors.list('DE')],
    [
      '/recipients/validation-schema?countryCode=IN&currencyCode=INR&payoutMethod=LOCAL',
      (client: BankingClient) =>
        client.recipientSchemas.list({ countryCode: 'IN', currencyCode: 'INR', payoutMethod: 'LOCAL' }),
    ],
  ])('sends one GET with the token and no workspace to list %s', async (path, list) => {
    body = '[{"id":1,"name":"Euro","tomorrow":{"new":["field",null]},"edges":{}}]';

    expect(await list(clientWith())).toEqual(JSON.parse(body));
    expect(seen.map(({ method, url }) => `${method} ${url}`)).toEqual([`GET ${path}`]);
    expect(seen[0]?.headers).toMatchObject({ accept: 'application/json', authorization: `Bearer ${TOKEN}` });
    expect(seen[0]?.headers).not.toHaveProperty('workspace-id');
  });

  it('reads the purposes as one object', async () => {
    body = '{"IR001":"Own account"}';

    expect(await clientWith().purposes.list()).toEqual({ IR001: 'Own account' });
    expect(seen[0]?.url).toBe('/orders/purposes');
  });

  it('sends the workspace of a transfer, and returns the body unchanged', async () => {
    body = '{"id":42,"amount":"9223372036854775807","createdAt":"2026-11-21T09:30:00.123456789Z","edges":{},"x":1.5}';

    expect(await serviceWith().getTransfer(SCOPE, TRANSFER)).toEqual(JSON.parse(body));
    expect(await clientWith().workspace(7).transfers.get(42)).toEqual(JSON.parse(body));
    expect(seen.map(({ url }) => url)).toEqual(['/transfers/42', '/transfers/42']);
    expect(seen.map(({ headers }) => headers['workspace-id'])).toEqual(['7', '7']);
  });

  it('sends the workspace of each view', async () => {
    body = '{"id":42,"edges":{}}';
    const client = clientWith();
    const [seven, eight] = [client.workspace(7), client.workspace(8)];
    for (const view of [seven, eight, client.workspace(7), seven]) await view.transfers.get(42);

    expect(seen.map(({ headers }) => headers['workspace-id'])).toEqual(['7', '8', '7', '7']);
  });

  it('encodes a country as one segment of the path', async () => {
    for (const country of ['d/../../apps', 'D E?x=1#y', '%2e%2e', 'Å', '...']) {
      await clientWith().corridors.list(country);
      expect(decodeURIComponent(seen.at(-1)?.url?.split('/')[3] ?? '')).toBe(country);
      expect(seen.at(-1)?.url).toMatch(/^\/recipients\/countries\/[^/?#]+\/corridors$/);
    }
  });

  it.each(['/banking', '/banking/', '/a%20b/c'])('appends paths to a base below %s', async (prefix) => {
    await clientWith({ baseUrl: new URL(prefix, origin) }).apps.list();

    expect(seen[0]?.url).toBe(`${prefix.replace(/\/$/, '')}/apps`);
  });

  it('calls the token function for each request', async () => {
    let calls = 0;
    const client = clientWith({ token: () => Promise.resolve(`token-${++calls}`) });
    await client.apps.list();
    await client.apps.list();

    expect(seen.map(({ headers }) => headers.authorization)).toEqual(['Bearer token-1', 'Bearer token-2']);
  });

  it('throws the error of the token function and sends nothing', async () => {
    const client = clientWith({ token: () => Promise.reject(new Error('the issuer is closed')) });

    await expect(client.apps.list()).rejects.toThrow('the issuer is closed');
    expect(seen).toEqual([]);
  });

  it('uses a custom fetch', async () => {
    const sent: string[] = [];
    const client = clientWith({
      fetch: (input, init) => {
        sent.push(String(input));
        return fetch(input, init);
      },
    });

    await client.products.list();
    expect(sent).toEqual([`${origin}/products`]);
  });

  it('sends no other members of the input with an operation that has no filters and no body', async () => {
    const named = { accountId: 1 as AccountId, orderId: 5 as OrderId, transactionId: 9 };
    body = '{"id":5,"edges":{}}';
    await serviceWith().cancelOrder(SCOPE, named);
    body = '{"id":1,"edges":{}}';
    await serviceWith().getAccount(SCOPE, named);

    expect(seen.map(({ url }) => url)).toEqual(['/accounts/1/orders/5/cancellation', '/accounts/1']);
  });

  it('takes no options of a call for the input of an operation without one', async () => {
    // @ts-expect-error the second argument is the input
    await serviceWith().listApps({}, { timeoutMs: 5_000 });
    await serviceWith().listApps({}, {}, { timeoutMs: 5_000 });

    expect(seen.map(({ url }) => url).at(-1)).toBe('/apps');
  });

  it('passes the actor to a custom fetch and not to the service', async () => {
    const calls: TransportRequest['call'][] = [];
    const service = serviceWith({ fetch: (input, init) => (calls.push(init.call), fetch(input, init)) });
    const actor = 3 as UserId;
    await service.listProducts({ actor });
    await service.listOrders({ ...SCOPE, actor });
    body = '{}';
    await service.placeOrder({ ...SCOPE, actor }, { accountId: 1 as AccountId } as PlaceOrderInput);

    expect(calls).toMatchObject([
      { operation: 'listProducts', method: 'GET', actor },
      { operation: 'listOrders', method: 'GET', actor, workspaceId: 7 },
      { operation: 'placeOrder', method: 'POST', actor, workspaceId: 7 },
    ]);
    expect(seen.flatMap(({ headers }) => Object.keys(headers))).not.toContain('actor');
  });
});

describe('invalid argument', () => {
  const unsent = async (call: (client: BankingClient) => Promise<unknown>) => {
    const error = await call(clientWith()).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Refusal);
    expect(seen).toEqual([]);
    return (error as Refusal).reason;
  };

  it('is refused before sending if the workspace is missing', async () => {
    expect(await unsent(() => serviceWith().getTransfer({}, TRANSFER))).toBe('workspace_id_required');
  });

  it.each([0, -1, 1.5, NaN, 2 ** 53, '1\r\nX: y', '7', [7], null])(
    'is refused before sending if an id is %p',
    async (id) => {
      expect(await unsent((client) => client.workspace(id as number).transfers.get(42))).toBe('workspace_id_invalid');
      expect(await unsent((client) => client.workspace(7).transfers.get(id as number))).toBe('id_malformed');
      expect(await unsent((client) => client.apps.users(id as number))).toBe('id_malformed');
    },
  );

  it('is named if it is no id', async () => {
    const order = { accountID: 1, recipientID: 2, amount: '10000', type: 'instant' };
    const refused = clientWith()
      .workspace(7)
      .orders.place(order as never);

    const message = `accountId must be a number, whole and from 1 to ${Number.MAX_SAFE_INTEGER}.`;
    await expect(refused).rejects.toMatchObject({
      message,
      details: [{ path: 'accountId', reason: 'id_malformed', message }],
    });
  });

  it('is named if it is a bigint, without its value', async () => {
    const order = { accountId: 1, recipientID: 2, amount: 98765n, type: 'instant' };
    const refused = clientWith()
      .workspace(7)
      .orders.place(order as never);

    await expect(refused).rejects.toThrow(
      new TypeError(
        'amount must not be a bigint. Write an amount as a text of digits, with toTransferAmount of @banking/domain.',
      ),
    );
    expect(seen).toEqual([]);
  });

  it.each(['', '.', '..', '\ud800'])('is refused before sending if a country is %j', async (country) => {
    expect(await unsent((client) => client.corridors.list(country))).toBe('country_unknown');
  });
});

describe('invalid options', () => {
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
  ])('throw a TypeError for %o', (options) => {
    expect(() => clientWith(options)).toThrow(TypeError);
  });

  it('do not quote a token with a line break', async () => {
    const error = await clientWith({ token: () => `${TOKEN}\n` })
      .apps.list()
      .catch((thrown: unknown) => thrown);

    expect(error).toBeInstanceOf(TypeError);
    expect(inspect(error)).not.toContain(TOKEN);
    expect(seen).toEqual([]);
  });
});

describe('RemoteBankingService', () => {
  it('is an implementation of the port', () => {
    expect(serviceWith()).toBeInstanceOf(BankingService);
  });
});

describe.each([
  ['client', clientWith],
  ['RemoteBankingService', serviceWith],
])('%s', (_, make) => {
  it('does not log its token', () => {
    expect(inspect(make(), { depth: null, showHidden: true }) + JSON.stringify(make())).not.toContain(TOKEN);
  });
});
