import { attachEmbeddedServer, type EmbeddedServer } from '@banking/embedded-postgres';
import { bind, type Database, OWNER_ROLE, sqlStatement } from '@banking/postgres';
import { openDatabase, testOrProve } from '@banking/postgres/testing';
import { callOf, type Route, routesOf, takesKey } from '../documented/document.js';
import { bodySchemaOf, NO_OBJECTS, wrongFieldsOf } from '../documented/inputs.js';
import { untilAudited } from '../documented/more-world.js';
import { proveDocumented } from '../responses.js';
import { demoDataDir, freshService, type FreshService } from '../running-service.js';
import { ADA } from '../service.js';
import { faultsInError, sendRawRequest } from './raw-request.js';

/** Fields that no operation accepts, because the service sets them, or because they are in the path or in a header. */
const NOT_THEIRS = [
  ...['id', 'workspaceID', 'Workspace-ID', 'workspaceId', 'accountId', 'code', 'balance', 'feeAmount', 'approved'],
  ...['role', 'edges', 'createdAt', 'updatedAt', 'deletedAt', 'Status', 'toString', 'hasOwnProperty'],
];
const MEDIA_TYPES = [
  ...['text/plain', 'application/xml', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'],
  ...['application/json garbage', 'application/json;x', 'application/json; charset = utf-8', 'application/jsonx'],
  ...['application/json; charset=utf-8; charset=utf-16', 'application/json; charset=utf-16', 'text/json'],
];
const KEYS = ['', 'two words', 'é', 'x'.repeat(256), 'tab\tbed'];
const PROTOTYPES = ['"__proto__":{"alias":"x"}', '"constructor":{"prototype":{"x":1}}', '"prototype":{}'];

const escapedName = (name: string) =>
  name.replace(/^./, (first) => `\\u${first.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** A body whose first member is repeated in different spellings. */
const REPEATED: Readonly<Record<string, (name: string, value: string, rest: string) => string>> = {
  'with the same value': (name, value, rest) => `{"${name}":${value}${rest},"${name}":${value}}`,
  'with another value': (name, value, rest) => `{"${name}":null${rest},"${name}":${value}}`,
  'with its name escaped': (name, value, rest) => `{"${escapedName(name)}":${value}${rest},"${name}":${value}}`,
  'one level deeper': (name, value, rest) => `{"${name}":${value}${rest},"more":{"a":1,"a":1}}`,
  'in a list': (name, value, rest) => `{"${name}":${value}${rest},"more":[[{"a":1,"b":2,"a":3}]]}`,
};

/** An invalid body, with header lines that replace those of the example. */
interface InvalidBody {
  readonly what: string;
  readonly text: string;
  readonly lines?: readonly string[];
}

interface Expected {
  readonly statuses: readonly number[];
  readonly reason?: string;
  /** The paths of the details. */
  readonly paths?: readonly string[];
}

/**
 * Faults that are found before the schema of an operation is read: all of them are sent to one operation, and one in turn to each other.
 * `npm run prove` sends all to all.
 */
const inTurn = <T>(all: readonly T[], position: number): readonly T[] =>
  testOrProve(position === 0 ? all : [all[position % all.length]!], all);

/** The query of a digest of every table, which detects any change. */
const CONTENT = sqlStatement<{ readonly name: string; readonly digest: string }>(
  'content_of_all_tables',
  `select table_name as name, md5(query_to_xml(format('select t::text as row from banking.%I t order by 1', table_name), true, false, '')::text) as digest
   from information_schema.tables where table_schema = 'banking' and table_type = 'BASE TABLE' order by 1`,
);

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
    expect(routes.length).toBeGreaterThanOrEqual(8);
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
  const send = (route: Route, { text, lines = [] }: InvalidBody) => {
    const { method, path, headers } = callOf(route);
    const own = lines.map((line) => line.slice(0, line.indexOf(':')).toLowerCase());
    const usual = {
      ...headers,
      'Content-Type': 'application/json',
      'Content-Length': String(Buffer.byteLength(text)),
    };
    const kept = Object.entries(usual).filter(
      ([name]) => !own.includes(name.toLowerCase()) && name !== 'Idempotency-Key',
    );
    const sent = [`Authorization: Bearer ${token}`, ...kept.map((line) => line.join(': ')), ...lines];
    return sendRawRequest(service.url, { method, path, headers: sent, body: text });
  };

  /** Sends bodies to every operation, and expects a documented refusal of each and no changed row. */
  async function expectRefused(
    bodiesOf: (route: Route, position: number) => readonly (InvalidBody & Partial<Expected>)[],
    expected: Expected,
  ): Promise<void> {
    const before = await books();
    const wrong: string[] = [];
    let sent = 0;
    for (const [position, route] of routes.entries()) {
      for (const body of bodiesOf(route, position)) {
        const response = await send(route, body);
        const { statuses, reason, paths } = { ...expected, ...body };
        const name = `${route.operation.operationId} with ${body.what}`;
        const faults = faultsInError(response);
        const error = JSON.parse(response.body) as { reason: string; details?: { path: string }[] };
        const found = error.details?.map(({ path }) => path).join();
        if (!statuses.includes(response.status ?? 0)) faults.push(`${response.status} ${response.body}`);
        if (reason !== undefined && error.reason !== reason) faults.push(`the reason is ${error.reason}`);
        if (paths !== undefined && found !== paths.join()) faults.push(`it names ${found}`);
        wrong.push(...faults.map((fault) => `${name}: ${fault}`));
        await proveDocumented(service, route.method, callOf(route).path, response.status ?? 0);
        sent += 1;
      }
    }
    expect(wrong).toEqual([]);
    expect(sent).toBeGreaterThan(0);
    expect(await books()).toEqual(before);
  }

  const bodyOf = (route: Route) => callOf(route).body as Readonly<Record<string, unknown>>;
  const bodyWith = (route: Route, field: Readonly<Record<string, unknown>> = {}) =>
    JSON.stringify({ ...bodyOf(route), ...field });
  const schemaOf = (route: Route) => bodySchemaOf(service.document, route);

  it('refuses a body that is not an object', () =>
    expectRefused(
      (_, position) => inTurn(Object.entries(NO_OBJECTS), position).map(([what, text]) => ({ what, text })),
      {
        statuses: [400],
      },
    ));

  it('refuses other media types', () => {
    const lines = [...MEDIA_TYPES.map((type) => `Content-Type: ${type}`), 'Content-Encoding: gzip'];
    return expectRefused(
      (route, position) =>
        inTurn(lines, position).map((line) => ({ what: line, text: bodyWith(route), lines: [line] })),
      {
        statuses: [415],
      },
    );
  });

  it('refuses fields that only the service sets, and names them', () =>
    expectRefused(
      (route, position) =>
        inTurn(
          NOT_THEIRS.filter((name) => !Object.keys(schemaOf(route).properties ?? {}).includes(name)),
          position,
        ).map((field) => ({
          what: field,
          text: bodyWith(route, { [field]: 1 }),
          paths: [`/${field}`],
        })),
      { statuses: [400], reason: 'field_unknown' },
    ));

  it('refuses prototype members', () =>
    expectRefused(
      (route, position) =>
        inTurn(PROTOTYPES, position).map((what) => ({ what, text: `${bodyWith(route).slice(0, -1)},${what}}` })),
      {
        statuses: [400],
      },
    ));

  it('refuses a repeated member in any spelling, without naming it', () =>
    expectRefused(
      (route, position) => {
        const [[name, value] = ['a', 1], ...others] = Object.entries(bodyOf(route));
        const rest = others.map(([other, one]) => `,${JSON.stringify({ [other]: one }).slice(1, -1)}`).join('');
        return inTurn(Object.entries(REPEATED), position).map(([what, written]) => ({
          what: `a repeated member ${what}`,
          text: written(name, JSON.stringify(value), rest),
        }));
      },
      { statuses: [400], reason: 'body_malformed' },
    ));

  // A third of the wrong values in `npm test`. An empty object for the details of a recipient has the right type, and lacks fields.
  it('refuses a field of another type', () =>
    expectRefused(
      (route, position) =>
        wrongFieldsOf(schemaOf(route))
          .filter((_, index) => testOrProve((index + position) % 3 === 0, true))
          .map(({ what, field }) => ({ what, text: bodyWith(route, field) })),
      { statuses: [400, 422] },
    ));

  it('refuses a missing required field and names it', () =>
    expectRefused(
      (route) =>
        (schemaOf(route).required ?? []).map((field) => ({
          what: `no ${field}`,
          text: bodyWith(route, { [field]: undefined }),
          paths: [`/${field}`],
        })),
      { statuses: [400] },
    ));

  it('refuses an invalid idempotency key and changes nothing', () =>
    expectRefused(
      (route, position) =>
        inTurn(KEYS, position)
          .filter(() => takesKey(route))
          .map((key) => ({
            what: `the key ${JSON.stringify(key.slice(0, 20))}`,
            text: bodyWith(route),
            lines: [`Idempotency-Key: ${key}`],
          })),
      { statuses: [400] },
    ));

  it('refuses a body of 70 KiB', () =>
    expectRefused((route) => [{ what: '70 KiB', text: `${bodyWith(route)}${' '.repeat(70 * 1024)}` }], {
      statuses: [413],
    }));
});
