import { bind, Database, joinEmbeddedServer, OWNER_ROLE, statement, type EmbeddedServer } from '@banking/postgres';
import { proveDocumented } from '../answers.js';
import { callOf, type Route, routesOf, takesKey } from '../documented/document.js';
import { freshService, type FreshService } from '../documented/fresh-service.js';
import { ADA } from '../service.js';
import { askRaw, mistakesInError } from './raw-request.js';

interface Property {
  readonly type?: string;
}
type Schemas = Readonly<Record<string, { readonly properties: Readonly<Record<string, Property>>; readonly required?: readonly string[] }>>; // prettier-ignore

/** What no operation takes from its caller: it is ours to say, or stands in the path or in a header. */
const NOT_THEIRS = ['id', 'workspaceID', 'Workspace-ID', 'workspaceId', 'accountId', 'code', 'balance', 'feeAmount', 'approved', 'role', 'edges', 'createdAt', 'updatedAt', 'forgottenAt', 'Status', 'toString', 'hasOwnProperty']; // prettier-ignore

/** Bodies that are no object of ours, whatever the operation. */
const NO_OBJECTS: Readonly<Record<string, string>> = {
  'a truncated body': '{',
  'a list': '[]',
  'a list of one': '[{}]',
  'a number': '1',
  'a word': 'true',
  'a null': 'null',
  'a text': '"{}"',
  'a comment': '// c\n{}',
  'a byte order mark': '\ufeff{}',
  'something behind it': '{} {}',
  'a comma too many': '{"amount":"1",}',
  'single quotes': "{'amount':'1'}",
  'no number of JSON': '{"amount":NaN}',
  '5000 fields': JSON.stringify(Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`f${at}`, 1]))),
  'nesting without end': `${'{"a":'.repeat(500)}1${'}'.repeat(500)}`,
  'nesting without end in lists': `{"data":${'['.repeat(20_000)}${']'.repeat(20_000)}}`,
};

const MEDIA_TYPES = ['text/plain', 'application/xml', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'application/json garbage', 'application/json;x', 'application/json; charset = utf-8', 'application/json; charset=utf-8; charset=utf-16', 'application/json; charset=utf-16', 'application/jsonx', 'text/json']; // prettier-ignore

/** In place of a field, whatever its type; what is right for the type is left out. */
const WRONG_VALUES: Readonly<Record<string, unknown>> = {
  null: null,
  'an empty text': '',
  'a text with a NUL': 'a\0b',
  'a text of two lines': 'x\r\nSet-Cookie: a',
  'a text of 5000 characters': 'x'.repeat(5_000),
  'a text that turns its direction': '\u202eevil',
  'a text with an invisible character': 'a\u200bb',
  'a text with a private-use character': 'a\u{f0000}b',
  'half a character': 'a\ud83d',
  'a number': 1,
  'a number below zero': -1,
  'half a number': 1.5,
  'a number beyond 2^53': 2 ** 53,
  'a list': [],
  'a list of one': ['100'],
  'an object': {},
  'an object that says what it is': { $ne: null },
  'true as a word': 'true',
  true: true,
};

const isRight = (name: string, type: string | undefined, isRequired: boolean) =>
  (name === 'true' && type === 'boolean') ||
  (name === 'a number' && type === 'integer') ||
  (name === 'true as a word' && type === 'string') ||
  // Pairs of the caller's own may be none. An object that must be there says something.
  (name === 'an object' && type === 'object' && !isRequired);

const KEYS = ['', 'two words', 'é', 'x'.repeat(256), 'tab\tbed'];

describe('Given a body for each operation that takes one', () => {
  let service: FreshService;
  let server: EmbeddedServer;
  let owner: Database;
  let token: string;
  let routes: Route[];

  beforeAll(async () => {
    service = await freshService();
    server = await joinEmbeddedServer({ dataDir: service.dataDir });
    owner = await Database.open({ connection: server.connection, role: OWNER_ROLE });
    token = await service.tokenOf(ADA);
    // The first sight of a user is written down.
    expect((await fetch(`${service.url}/apps`, { headers: { authorization: `Bearer ${token}` } })).status).toBe(200);
    routes = routesOf(service.document).filter(({ operation }) => operation.requestBody);
    expect(routes.length).toBeGreaterThanOrEqual(6);
  }, 180_000);
  afterAll(async () => {
    await owner?.end();
    await server?.leave();
    await service?.stop();
  });

  /** What every table of ours holds, of all workspaces. */
  const books = async () => {
    const [rows] = await owner.flight({ workspaces: [1, 2, 3, 4] }, [bind(CONTENT)] as const);
    expect(rows.find(({ name }) => name === 'transfer')?.digest).not.toBe(rows.find(({ name }) => name === 'execution')?.digest); // prettier-ignore
    return rows;
  };

  /** Sends one body to one operation, otherwise asked as its example is. */
  const send = async (route: Route, text: string, lines: readonly string[] = []) => {
    const { method, path, headers } = callOf(route);
    const own = lines.map((line) => line.slice(0, line.indexOf(':')).toLowerCase());
    const kept = Object.entries({
      ...headers,
      'Content-Type': 'application/json',
      'Content-Length': String(Buffer.byteLength(text)),
    }).filter(([name]) => !own.includes(name.toLowerCase()) && name !== 'Idempotency-Key');
    return askRaw(service.url, {
      method,
      path,
      headers: [`Authorization: Bearer ${token}`, ...kept.map((line) => line.join(': ')), ...lines],
      body: text,
    });
  };

  /** Sends all, one after the other, and expects each refused, as documented, with one of the statuses and nothing written. */
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
      const answer = await send(route, text, lines);
      const name = `${route.operation.operationId} with ${what}`;
      if (!statuses.includes(answer.status ?? 0)) wrong.push(`${name}: ${answer.status} ${answer.body}`);
      else wrong.push(...mistakesInError(answer).map((mistake) => `${name}: ${mistake}`));
      await proveDocumented(service, route.method, callOf(route).path, answer.status ?? 0);
    }
    expect(cases.length).toBeGreaterThan(0);
    expect(wrong).toEqual([]);
    expect(await books()).toEqual(before);
  }

  const bodyOf = (route: Route) => callOf(route).body as Readonly<Record<string, unknown>>;
  const with_ = (route: Route, field: Readonly<Record<string, unknown>>) => JSON.stringify({ ...bodyOf(route), ...field }); // prettier-ignore
  const fieldsOf = (route: Route) => {
    const { schemas } = (service.document as unknown as { components: { schemas: Schemas } }).components;
    const content = route.operation.requestBody?.content['application/json'] as unknown as { schema: { $ref: string } };
    return schemas[content.schema.$ref.split('/').at(-1) ?? ''] ?? { properties: {} };
  };

  it('When it is no object Then it is refused', async () => {
    const cases = Object.entries(NO_OBJECTS).flatMap(([what, text]) => routes.map((route) => ({ route, what, text })));
    await expectRefused([400], cases);
  });

  it('When it is sent as something else Then it is refused', async () => {
    const cases = routes.flatMap((route) => [
      ...MEDIA_TYPES.map((type) => ({ route, what: type, text: with_(route, {}), lines: [`Content-Type: ${type}`] })),
      { route, what: 'a packed body', text: with_(route, {}), lines: ['Content-Encoding: gzip'] },
    ]);
    await expectRefused([415], cases);
  });

  it('When it says what only we may say Then it is refused by the name of the field', async () => {
    const before = await books();
    for (const route of routes) {
      const known = Object.keys(fieldsOf(route).properties);
      for (const field of NOT_THEIRS.filter((name) => !known.includes(name))) {
        const { status, body } = await send(route, with_(route, { [field]: 1 }));
        const { reason, details } = JSON.parse(body) as { reason: string; details?: { path: string }[] };
        expect([route.operation.operationId, status, reason, details?.map(({ path }) => path)]).toEqual([route.operation.operationId, 400, 'field_unknown', [`/${field}`]]); // prettier-ignore
      }
    }
    expect(await books()).toEqual(before);
  });

  it('When it reaches for a prototype Then it is refused', async () => {
    const reaching = (route: Route, text: string) => `${with_(route, {}).slice(0, -1)},${text}}`;
    const cases = routes.flatMap(
      (route) =>
      ['"__proto__":{"alias":"x"}', '"constructor":{"prototype":{"x":1}}', '"prototype":{}'].map((text) => ({ route, what: text, text: reaching(route, text) })), // prettier-ignore
    );
    await expectRefused([400], cases);
  });

  it('When a field is of another kind Then it is refused', async () => {
    const cases = routes.flatMap((route) =>
      Object.entries(fieldsOf(route).properties).flatMap(([field, { type }]) =>
        Object.entries(WRONG_VALUES)
          .filter(([what]) => !isRight(what, type, fieldsOf(route).required?.includes(field) ?? false))
          .map(([what, value]) => ({ route, what: `${field}: ${what}`, text: with_(route, { [field]: value }) })),
      ),
    );
    // An empty object for the details of a recipient is of the right kind, and says too little.
    await expectRefused([400, 422], cases);
  });

  it('When a field that must be there is not Then it is refused by its name', async () => {
    const before = await books();
    for (const route of routes) {
      for (const field of fieldsOf(route).required ?? []) {
        const { [field]: _, ...rest } = bodyOf(route);
        const { status, body } = await send(route, JSON.stringify(rest));
        const { details } = JSON.parse(body) as { details?: { path: string }[] };
        expect([route.operation.operationId, status, details?.map(({ path }) => path)]).toEqual([route.operation.operationId, 400, [`/${field}`]]); // prettier-ignore
      }
    }
    expect(await books()).toEqual(before);
  });

  it('When its key is none Then it is refused, and the operation does nothing', async () => {
    const creating = routes.filter(takesKey);
    const cases = creating.flatMap(
      (route) =>
      KEYS.map((key) => ({ route, what: `the key ${JSON.stringify(key.slice(0, 20))}`, text: with_(route, {}), lines: [`Idempotency-Key: ${key}`] })), // prettier-ignore
    );
    await expectRefused([400], cases);
  });

  it('When it is 70 KiB Then it is refused', async () => {
    const text = (route: Route) => `${with_(route, {})}${' '.repeat(70 * 1024)}`;
    await expectRefused(
      [413],
      routes.map((route) => ({ route, what: '70 KiB', text: text(route) })),
    );
  });
});

/** A digest of every table, so that nothing can change unseen. */
const CONTENT = statement<{ readonly name: string; readonly digest: string }>(
  'content_of_all_tables',
  `select table_name as name, md5(query_to_xml(format('select t::text as row from banking.%I t order by 1', table_name), true, false, '')::text) as digest
   from information_schema.tables where table_schema = 'banking' and table_type = 'BASE TABLE' order by 1`,
);
