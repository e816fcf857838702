import { openDatabase } from '@banking/postgres/testing';
import { bind, type Database, OWNER_ROLE, sqlStatement } from '@banking/postgres';
import { attachEmbeddedServer, type EmbeddedServer } from '@banking/embedded-postgres';
import { proveDocumented } from '../responses.js';
import { callOf, type Route, routesOf, takesKey } from '../documented/document.js';
import { untilAudited } from '../documented/until-audited.js';
import { demoDataDir } from '../running-service.js';
import { freshService, type FreshService } from '../documented/fresh-service.js';
import { ADA } from '../service.js';
import { isRight, KEYS, MEDIA_TYPES, NO_OBJECTS, NOT_THEIRS, WRONG_VALUES } from './invalid-bodies.js';
import { sendRawRequest, faultsInError } from './raw-request.js';

interface Property {
  readonly type?: string;
}
type Schemas = Readonly<
  Record<string, { readonly properties: Readonly<Record<string, Property>>; readonly required?: readonly string[] }>
>;

describe('bodies of operations', () => {
  let service: FreshService;
  let server: EmbeddedServer;
  let owner: Database;
  let token: string;
  let routes: Route[];

  beforeAll(async () => {
    service = await freshService({}, demoDataDir);
    server = await attachEmbeddedServer({ dataDir: service.dataDir });
    owner = await openDatabase({ connection: server.connection, role: OWNER_ROLE });
    token = await service.tokenOf(ADA);
    // The first request of a user binds the subject, which changes a row. Its audit entry follows.
    expect((await fetch(`${service.url}/apps`, { headers: { authorization: `Bearer ${token}` } })).status).toBe(200);
    await untilAudited(service.url, token, 'bindUser');
    routes = routesOf(service.document).filter(({ operation }) => operation.requestBody);
    expect(routes.length).toBeGreaterThanOrEqual(6);
  });
  afterAll(async () => {
    await owner?.end();
    await server?.detach();
    await service?.stop();
  });

  /** A digest of every table, of all workspaces. */
  const books = async () => {
    const [rows] = await owner.pipeline({ workspaces: [1, 2, 3, 4] }, [bind(CONTENT)] as const);
    expect(rows.find(({ name }) => name === 'transfer')?.digest).not.toBe(
      rows.find(({ name }) => name === 'execution')?.digest,
    );
    return rows;
  };

  /** Sends a body to an operation, with the other parts of its example. */
  const send = async (route: Route, text: string, lines: readonly string[] = []) => {
    const { method, path, headers } = callOf(route);
    const own = lines.map((line) => line.slice(0, line.indexOf(':')).toLowerCase());
    const ownHeaders = Object.entries({
      ...headers,
      'Content-Type': 'application/json',
      'Content-Length': String(Buffer.byteLength(text)),
    }).filter(([name]) => !own.includes(name.toLowerCase()) && name !== 'Idempotency-Key');
    return sendRawRequest(service.url, {
      method,
      path,
      headers: [`Authorization: Bearer ${token}`, ...ownHeaders.map((line) => line.join(': ')), ...lines],
      body: text,
    });
  };

  /** Sends each body, and expects a documented refusal with one of the statuses and no changed row. */
  async function expectRefused(
    statuses: readonly number[],
    cases: readonly {
      readonly route: Route;
      readonly what: string;
      readonly text: string;
      readonly lines?: string[];
    }[],
  ): Promise<void> {
    const before = await books();
    const wrong: string[] = [];
    for (const { route, what, text, lines } of cases) {
      const response = await send(route, text, lines);
      const name = `${route.operation.operationId} with ${what}`;
      if (!statuses.includes(response.status ?? 0)) wrong.push(`${name}: ${response.status} ${response.body}`);
      else wrong.push(...faultsInError(response).map((fault) => `${name}: ${fault}`));
      await proveDocumented(service, route.method, callOf(route).path, response.status ?? 0);
    }
    expect(cases.length).toBeGreaterThan(0);
    expect(wrong).toEqual([]);
    expect(await books()).toEqual(before);
  }

  const bodyOf = (route: Route) => callOf(route).body as Readonly<Record<string, unknown>>;
  const with_ = (route: Route, field: Readonly<Record<string, unknown>>) =>
    JSON.stringify({ ...bodyOf(route), ...field });
  const fieldsOf = (route: Route) => {
    const { schemas } = (service.document as unknown as { components: { schemas: Schemas } }).components;
    const content = route.operation.requestBody?.content['application/json'] as unknown as { schema: { $ref: string } };
    return schemas[content.schema.$ref.split('/').at(-1) ?? ''] ?? { properties: {} };
  };

  it('refuses a body that is not an object', async () => {
    const cases = Object.entries(NO_OBJECTS).flatMap(([what, text]) => routes.map((route) => ({ route, what, text })));
    await expectRefused([400], cases);
  });

  it('refuses other media types', async () => {
    const cases = routes.flatMap((route) => [
      ...MEDIA_TYPES.map((type) => ({ route, what: type, text: with_(route, {}), lines: [`Content-Type: ${type}`] })),
      { route, what: 'a packed body', text: with_(route, {}), lines: ['Content-Encoding: gzip'] },
    ]);
    await expectRefused([415], cases);
  });

  it('refuses fields that only the service sets, and names them', async () => {
    const before = await books();
    for (const route of routes) {
      const known = Object.keys(fieldsOf(route).properties);
      for (const field of NOT_THEIRS.filter((name) => !known.includes(name))) {
        const { status, body } = await send(route, with_(route, { [field]: 1 }));
        const { reason, details } = JSON.parse(body) as { reason: string; details?: { path: string }[] };
        expect([route.operation.operationId, status, reason, details?.map(({ path }) => path)]).toEqual([
          route.operation.operationId,
          400,
          'field_unknown',
          [`/${field}`],
        ]);
      }
    }
    expect(await books()).toEqual(before);
  });

  it('refuses prototype members', async () => {
    const reaching = (route: Route, text: string) => `${with_(route, {}).slice(0, -1)},${text}}`;
    const cases = routes.flatMap((route) =>
      ['"__proto__":{"alias":"x"}', '"constructor":{"prototype":{"x":1}}', '"prototype":{}'].map((text) => ({
        route,
        what: text,
        text: reaching(route, text),
      })),
    );
    await expectRefused([400], cases);
  });

  it('refuses a field of another type', async () => {
    const cases = routes.flatMap((route) =>
      Object.entries(fieldsOf(route).properties).flatMap(([field, { type }]) =>
        Object.entries(WRONG_VALUES)
          .filter(([what]) => !isRight(what, type, fieldsOf(route).required?.includes(field) ?? false))
          .map(([what, value]) => ({ route, what: `${field}: ${what}`, text: with_(route, { [field]: value }) })),
      ),
    );
    // An empty object for the details of a recipient has the right type, and lacks fields.
    await expectRefused([400, 422], cases);
  });

  it('refuses a missing required field and names it', async () => {
    const before = await books();
    for (const route of routes) {
      for (const field of fieldsOf(route).required ?? []) {
        const { [field]: _, ...rest } = bodyOf(route);
        const { status, body } = await send(route, JSON.stringify(rest));
        const { details } = JSON.parse(body) as { details?: { path: string }[] };
        expect([route.operation.operationId, status, details?.map(({ path }) => path)]).toEqual([
          route.operation.operationId,
          400,
          [`/${field}`],
        ]);
      }
    }
    expect(await books()).toEqual(before);
  });

  it('refuses an invalid idempotency key and changes nothing', async () => {
    const creating = routes.filter(takesKey);
    const cases = creating.flatMap((route) =>
      KEYS.map((key) => ({
        route,
        what: `the key ${JSON.stringify(key.slice(0, 20))}`,
        text: with_(route, {}),
        lines: [`Idempotency-Key: ${key}`],
      })),
    );
    await expectRefused([400], cases);
  });

  it('refuses a body of 70 KiB', async () => {
    const text = (route: Route) => `${with_(route, {})}${' '.repeat(70 * 1024)}`;
    await expectRefused(
      [413],
      routes.map((route) => ({ route, what: '70 KiB', text: text(route) })),
    );
  });
});

/** The query of a digest of every table, which detects any change. */
const CONTENT = sqlStatement<{ readonly name: string; readonly digest: string }>(
  'content_of_all_tables',
  `select table_name as name, md5(query_to_xml(format('select t::text as row from banking.%I t order by 1', table_name), true, false, '')::text) as digest
   from information_schema.tables where table_schema = 'banking' and table_type = 'BASE TABLE' order by 1`,
);
