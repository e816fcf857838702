import { BankingClient } from '@banking/client';
import type { Account, ProductId, User, WorkspaceId } from '@banking/domain';
import { sendRequest } from '../responses.js';
import { ADA, BOB, CY, DANA, EVE, GATEWAY, idOf, type Service } from '../service.js';
import { faultsIn } from './shapes.js';

export function accountsContract(provide: () => Service): void {
  const service = provide();
  const workspace = () => idOf(service.world, 'workspaces', 'Ada personal');
  const view = () =>
    new BankingClient({ baseUrl: service.url, token: () => service.tokenOf(ADA) }).workspace(
      workspace() as WorkspaceId,
    );
  const send = (body: unknown, headers: Record<string, string> = {}) =>
    sendRequest(service, '/accounts', { as: ADA, workspace: workspace(), body, headers });
  const euro = async () => {
    const products = await new BankingClient({
      baseUrl: service.url,
      token: () => service.tokenOf(ADA),
    }).products.list();
    return products.find(({ edges }) => edges.currency.code === 'EUR')?.id as ProductId;
  };
  const count = async () => (await view().accounts.listPage({ limit: 500 })).items.length;

  describe('accounts', () => {
    it('opens an empty account at its Location', async () => {
      const { status, headers, body } = await send({ productID: await euro(), alias: 'Holidays' });

      const account = body as Account;
      expect(status).toBe(201);
      expect(faultsIn(account, 'Account')).toEqual([]);
      expect(account).toMatchObject({ alias: 'Holidays', status: 'enabled', edges: { balances: [{ amount: 0 }] } });
      expect(headers.get('location')).toBe(`/accounts/${account.id}`);
      expect(headers.has('idempotent-replayed')).toBe(false);
      expect(await view().accounts.get(account.id)).toEqual(account);
      expect((await view().accounts.listPage({ limit: 1 })).items).toEqual([account]);
    });

    it('replays the response byte for byte for a repeated idempotency key', async () => {
      const key = { 'Idempotency-Key': `contract-${workspace()}` };
      const productID = await euro();
      const first = await send(`{"productID":${productID},"alias":"Once"}`, key);
      const before = await count();

      const again = await send(` { "alias" : "Once", "productID" : ${productID} } `, key);

      expect(again.status).toBe(201);
      expect(again.text).toBe(first.text);
      expect(again.headers.get('location')).toBe(first.headers.get('location'));
      expect(again.headers.get('idempotent-replayed')).toBe('true');
      expect(await count()).toBe(before);
      expect(await send({ productID, alias: 'Twice' }, key)).toMatchObject({
        status: 422,
        body: { reason: 'idempotency_key_reused' },
      });
      expect(
        await view().accounts.open({ productID, alias: 'Once' }, { idempotencyKey: key['Idempotency-Key'] }),
      ).toMatchObject({ resource: first.body, isReplay: true });
    });

    it('changes the alias and the status, and nothing else', async () => {
      const { resource } = await view().accounts.open({ productID: await euro(), alias: 'Before' });

      const renamed = await view().accounts.change(resource.id, { alias: 'After' });
      const disabled = await view().accounts.change(resource.id, { status: 'disabled' });

      expect(renamed).toEqual({ ...resource, alias: 'After', updatedAt: renamed.updatedAt });
      expect(disabled).toEqual({ ...renamed, status: 'disabled', updatedAt: disabled.updatedAt });
    });

    it.each<[string, unknown, number, string, readonly string[]]>([
      ['no product', { alias: 'A' }, 400, 'body_malformed', ['/productID']],
      ['a product in a text', { productID: '2' }, 400, 'body_malformed', ['/productID']],
      ['a product that is null', { productID: null }, 400, 'body_malformed', ['/productID']],
      ['half a product', { productID: 1.5 }, 400, 'body_malformed', ['/productID']],
      ['a product beyond 2^53', '{"productID":9007199254740993}', 400, 'body_malformed', ['/productID']],
      ['a list of products', { productID: [2] }, 400, 'body_malformed', ['/productID']],
      ['a product that is not there', { productID: 999_999 }, 422, 'product_unavailable', []],
      ['an alias that is null', { productID: 2, alias: null }, 400, 'body_malformed', ['/alias']],
      ['an empty alias', { productID: 2, alias: '' }, 400, 'body_malformed', ['/alias']],
      ['an alias of spaces', { productID: 2, alias: '   ' }, 400, 'body_malformed', ['/alias']],
      ['an alias of 141 characters', { productID: 2, alias: 'a'.repeat(141) }, 400, 'body_malformed', ['/alias']],
      ['an alias with a line break', { productID: 2, alias: 'a\nb' }, 400, 'body_malformed', ['/alias']],
      ['an alias with a NUL', { productID: 2, alias: 'a\0b' }, 400, 'body_malformed', ['/alias']],
      ['text that is shown backwards', { productID: 2, alias: '\u202eevil' }, 400, 'body_malformed', ['/alias']],
      ['half a character', '{"productID":2,"alias":"\\ud800"}', 400, 'body_malformed', ['/alias']],
      ['an unknown field', { productID: 2, balance: 100 }, 400, 'field_unknown', ['/balance']],
      ['an id of its own', { productID: 2, id: 7 }, 400, 'field_unknown', ['/id']],
      ['two faults', { productID: 0, balance: 1 }, 400, 'body_malformed', ['/balance', '/productID']],
      ['a prototype', '{"productID":2,"__proto__":{"alias":"x"}}', 400, 'field_unknown', ['/__proto__']],
      ['a constructor', '{"productID":2,"constructor":{"prototype":{"x":1}}}', 400, 'field_unknown', ['/constructor']],
      ['no JSON', '{', 400, 'body_malformed', []],
      ['a comment', '// c\n{"productID":2}', 400, 'body_malformed', []],
      ['a byte order mark', '\ufeff{"productID":2}', 400, 'body_malformed', []],
      ['a list', '[]', 400, 'body_malformed', []],
      ['a number', '1', 400, 'body_malformed', []],
      ['null', 'null', 400, 'body_malformed', []],
      ['a text', '"account"', 400, 'body_malformed', []],
      ['nothing', '', 400, 'body_malformed', []],
      [
        '5000 fields',
        Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`f${at}`, 1])),
        400,
        'body_malformed',
        [],
      ],
      ['nesting without end', `${'{"a":'.repeat(500)}1${'}'.repeat(500)}`, 400, 'body_malformed', []],
      ['70 KiB', { productID: 2, alias: 'a'.repeat(70 * 1024) }, 413, 'payload_too_large', []],
    ])('refuses to open an account with %s, names the field and opens none', async (_, body, status, reason, paths) => {
      const before = await count();

      const response = await send(body);

      expect(response).toMatchObject({ status, body: { reason } });
      const { details } = response.body as { details?: { path: string }[] };
      expect((details ?? []).map(({ path }) => path).sort()).toEqual([...paths].sort());
      expect(await count()).toBe(before);
    });

    it.each<[string, Record<string, string>]>([
      ['text/plain', { 'content-type': 'text/plain' }],
      ['a form', { 'content-type': 'application/x-www-form-urlencoded' }],
      ['xml', { 'content-type': 'application/xml' }],
      ['multipart', { 'content-type': 'multipart/form-data; boundary=x' }],
      ['something behind json', { 'content-type': 'application/json garbage' }],
      ['another charset', { 'content-type': 'application/json; charset=utf-16' }],
      ['a packed body', { 'content-encoding': 'gzip' }],
    ])('refuses a body of the media type %s', async (_, headers) => {
      const response = await send(JSON.stringify({ productID: 2 }), headers);

      expect(response).toMatchObject({ status: 415, body: { errorCode: 'unsupported_media_type' } });
    });

    it.each([
      'application/json',
      'application/json; charset=utf-8',
      'application/json;charset="UTF-8"',
      'Application/JSON',
    ])('accepts a body of the media type %s', async (type) => {
      expect((await send({ productID: await euro() }, { 'content-type': type })).status).toBe(201);
    });

    it.each(['', 'two words', 'é', 'x'.repeat(256)])('refuses the idempotency key %j', async (key) => {
      expect(await send({ productID: 2 }, { 'Idempotency-Key': key })).toMatchObject({
        status: 400,
        body: { reason: 'idempotency_key_invalid' },
      });
    });
  });
}

const rolesIn = (workspaces: readonly string[], ...roles: readonly string[]) =>
  workspaces.flatMap((workspace) => roles.map((role) => `${role} of ${workspace}`));
const TRADING = 'Northwind Trading';
const OF_SOUTHWIND = {
  [EVE]: rolesIn(['Southwind Imports'], 'admin', 'member'),
  [GATEWAY]: rolesIn(['Southwind Imports'], 'admin', 'member', 'approver'),
};

/** The users and roles that a caller sees in an app: an admin of every workspace sees all, others those of shared workspaces. */
const SEEN: readonly (readonly [viewer: string, app: string, Readonly<Record<string, readonly string[]>>])[] = [
  [
    ADA,
    'Northwind Treasury',
    {
      [ADA]: rolesIn([TRADING, 'Ada personal'], 'admin', 'member'),
      [BOB]: rolesIn([TRADING], 'member'),
      [DANA]: rolesIn([TRADING], 'approver'),
      [CY]: [],
      [GATEWAY]: rolesIn([TRADING, 'Ada personal'], 'admin', 'member', 'approver'),
    },
  ],
  [
    BOB,
    'Northwind Treasury',
    {
      [ADA]: rolesIn([TRADING], 'admin', 'member'),
      [BOB]: rolesIn([TRADING], 'member'),
      [DANA]: rolesIn([TRADING], 'approver'),
      [GATEWAY]: rolesIn([TRADING], 'admin', 'member', 'approver'),
    },
  ],
  [CY, 'Northwind Treasury', { [CY]: [] }],
  [EVE, 'Southwind', OF_SOUTHWIND],
  [GATEWAY, 'Southwind', OF_SOUTHWIND],
];

export function appUsersContract(provide: () => Service): void {
  const service = provide();
  const list = (viewer: string, app: number | string) => sendRequest(service, `/apps/${app}/users`, { as: viewer });

  describe('GET /apps/{appId}/users', () => {
    it.each(SEEN)('lists for %s exactly the visible users of %s', async (viewer, app, expected) => {
      const response = await list(viewer, idOf(service.world, 'apps', app));

      const seen = (response.body as User[]).map(({ email, edges }) => [
        email,
        edges.roles?.map(({ role, edges: { workspace } }) => `${role} of ${workspace.name}`),
      ]);
      expect(Object.fromEntries(seen)).toEqual(expected);
    });

    it('shows workspace ids that Workspace-ID accepts', async () => {
      const response = await list(BOB, idOf(service.world, 'apps', 'Northwind Treasury'));
      const bob = (response.body as User[]).find(({ email }) => email === BOB);
      const workspace = bob?.edges.roles?.[0]?.edges.workspace.id;

      const transfer = await sendRequest(service, `/transfers/${idOf(service.world, 'transfers', 'internal')}`, {
        as: BOB,
        workspace,
      });

      expect(transfer.status).toBe(200);
    });

    it('shows a pending user with its status and an empty list of roles', async () => {
      const response = await list(CY, idOf(service.world, 'apps', 'Northwind Treasury'));

      expect(response.body).toMatchObject([
        { email: CY, status: 'pending', userType: 'personal', edges: { roles: [] } },
      ]);
    });

    it('gives one response for an unknown app and an app of other users', async () => {
      const strip = (text: string) => text.replace(/"requestId":"[^"]*"/, '"requestId":""');

      const [others, none] = [await list(ADA, idOf(service.world, 'apps', 'Southwind')), await list(ADA, 987_654_321)];

      expect(others.body).toMatchObject({ errorCode: 'invalid_request', reason: 'app_not_found' });
      expect(strip(others.text)).toBe(strip(none.text));
    });
  });
}
