import { openDatabase } from '@banking/postgres/testing';
import { OWNER_ROLE } from '@banking/postgres';
import { attachEmbeddedServer } from '@banking/embedded-postgres';
import { CHANGES, REFUSED } from '../documented/changed-calls.js';
import {
  type Call,
  callOf,
  type Document,
  examplesOf,
  reasonsOf,
  requestOf,
  type Route,
  routesOf,
  successOf,
  takesKey,
} from '../documented/document.js';
import { makeMore } from '../documented/more-world.js';
import { fetchDocument } from '../documented/read-document.js';
import { sendAttempt } from '../documented/send-attempt.js';
import { newDataDir } from '../running-service.js';
import { ADA, type Service } from '../service.js';
import { comparable, type Comparable, comparableResponse } from './comparable.js';
import { StackedServices } from './stacked-services.js';

const namesOf = (route: Route) => Object.keys(examplesOf(route.operation, successOf(route)));

/** A response without the header that marks a replay, and without the secret that the first response alone has. */
const withoutReplayed = ({ headers, body, ...response }: Comparable) => ({
  ...response,
  body: body.replace(/,"secret":"[^"]*"/, ''),
  headers: headers.filter(([name]) => name !== 'idempotent-replayed' && name !== 'content-length'),
});
const isSuccess = ({ status }: Comparable) => status === 200 || status === 201;
const isReplayed = ({ headers }: Comparable) => headers.some(([name]) => name === 'idempotent-replayed');

describe('demo data, called directly and through a gateway', () => {
  let services: StackedServices;
  let direct: Service;
  let stacked: Service;
  let routes: Route[];
  let authorization: string;

  beforeAll(async () => {
    // A worker would change the books between two requests. The recorded examples need the documented ids.
    services = await StackedServices.start({ WORKER: 'off' }, newDataDir);
    ({ direct, stacked } = services);
    authorization = `Bearer ${await direct.tokenOf(ADA)}`;
    routes = routesOf(await fetchDocument(direct));
    const server = await attachEmbeddedServer({ dataDir: services.dataDir });
    const owner = await openDatabase({ connection: server.connection, role: OWNER_ROLE });
    await makeMore(owner, direct, await direct.tokenOf(ADA));
    await owner.end();
    await server.detach();
  });
  afterAll(() => services?.stop());

  const requestAt = async ({ url }: Service, call: Call, more: Readonly<Record<string, string>> = {}) => {
    const request = requestOf({ ...call, headers: { ...call.headers, ...more } }, authorization);
    return comparableResponse(await fetch(`${url}${call.path}`, request));
  };

  const callsOf = (isMeant: (route: Route) => boolean) =>
    routes.filter(isMeant).flatMap((route) => {
      const names = namesOf(route);
      return (names.length > 0 ? names : [undefined]).map((name) => [route, callOf(route, name)] as const);
    });
  const reads = () => callsOf(({ method }) => method === 'GET').map(([, call]) => call);

  /** Sends one request to both. */
  async function expectEqual(call: Call, more: Readonly<Record<string, string>> = {}): Promise<Comparable> {
    const expected = await requestAt(direct, call, more);
    expect({ call, response: await requestAt(stacked, call, more) }).toEqual({ call, response: expected });
    return expected;
  }

  it.each(['GET', 'HEAD'])('gives the same response to every read with %s', async (method) => {
    for (const call of reads()) {
      const { status } = await expectEqual({ ...call, method });
      expect([call.path, status]).toEqual([call.path, 200]);
    }
  });

  it('gives the same CSV statement', async () => {
    for (const call of reads().filter(({ path }) => path.includes('/statement'))) {
      const { headers } = await expectEqual(call, { accept: 'text/csv' });
      expect(headers).toContainEqual(['content-type', 'text/csv; charset=utf-8; header=present']);
    }
  });

  it('gives 304 for a matching ETag on both', async () => {
    const tagged = callsOf(({ operation }) => operation.responses['304'] !== undefined);
    for (const [, call] of tagged) {
      const [, etag = ''] = (await requestAt(direct, call)).headers.find(([name]) => name === 'etag') ?? [];
      const { status } = await expectEqual(call, { 'if-none-match': etag });
      expect([call.path, status]).toEqual([call.path, 304]);
    }
    expect(tagged).not.toHaveLength(0);
  });

  it.each([
    '/transfers?',
    '/orders?',
    '/recipients?',
    '/accounts?',
    '/accounts/2/statement?from=2026-01-01&to=2036-01-01&',
  ])('gives the same next links for %s, to the last page', async (path) => {
    const call: Call = { method: 'GET', path: `${path}limit=2`, headers: { 'Workspace-ID': '1' }, needsToken: true };
    let pages = 0;
    for (let next: string | undefined = call.path; next !== undefined; pages += 1) {
      const { headers } = await expectEqual({ ...call, path: next });
      next = headers.find(([name]) => name === 'link')?.[1].match(/<([^>]+)>; *rel="next"/)?.[1];
    }

    expect(pages).toBeGreaterThan(1);
  });

  it.each(Object.keys(CHANGES))('gives the same refusal for a call that is %s', async (reason) => {
    for (const route of routes.filter(({ operation }) => reasonsOf(operation).includes(reason))) {
      const changed = CHANGES[reason]?.(callOf(route), route);
      if (!changed) throw new Error(`nothing changes a call into ${reason}`);
      const requestAs = async (service: Service) =>
        comparable(await sendAttempt(service, changed, REFUSED[reason] ?? ADA));
      const [expected, response] = [await requestAs(direct), await requestAs(stacked)];

      expect({ call: changed, response }).toEqual({ call: changed, response: expected });
      expect(JSON.parse(response.body)).toMatchObject({ reason });
    }
  });

  it.each([
    ['through the gateway and then directly', () => [stacked, direct] as const],
    ['directly and then through the gateway', () => [direct, stacked] as const],
  ])('replays a response for a key sent %s', async (way, places) => {
    const [first, second] = places();
    let made = 0;
    for (const [{ operation }, call] of callsOf(takesKey)) {
      const key = { 'Idempotency-Key': `${operation.operationId} ${way}`.replaceAll(' ', '-') + made };
      const response = await requestAt(first, call, key);
      const repeated = await requestAt(second, call, key);

      expect({ call, response: withoutReplayed(repeated) }).toEqual({ call, response: withoutReplayed(response) });
      expect([call.path, isReplayed(repeated)]).toEqual([call.path, isSuccess(response)]);
      if (isSuccess(response)) made += 1;
    }
    expect(made).toBeGreaterThan(5);
  });

  it('documents the same interface, except for the responses of a gateway', async () => {
    const [theirs, ours] = await Promise.all([direct, stacked].map(fetchDocument));

    expect(routesOf(ours!).map(addedTo)).toEqual(
      routesOf(theirs!).map((route) => ({
        id: route.operation.operationId,
        statuses: route.operation.security.length > 0 ? ['502', '504'] : [],
        keys: takesKey(route) ? ['502', '504'] : [],
        unknown: unknownOutcomeOf(route),
      })),
    );
    expect(
      routesOf(theirs!)
        .filter((route) => unknownOutcomeOf(route) === undefined)
        .map(({ method }) => method),
    ).not.toContain('POST');
    expect(withoutGatewayResponses(ours!)).toEqual(withoutGatewayResponses(theirs!));
  });

  it('gives the same response to a change', async () => {
    const changes = callsOf((route) => !takesKey(route) && ['PATCH', 'POST'].includes(route.method));
    for (const [route, call] of changes) {
      const one = await requestAt(stacked, call);
      const other = await requestAt(direct, call);
      const name = route.operation.operationId;

      expect([name, one.status]).toEqual([name, successOf(route)]);
      if (other.status === one.status) {
        expect([name, withoutTimes(other)]).toEqual([name, withoutTimes(one)]);
      }
    }
    expect(changes).not.toHaveLength(0);
  });
});

const withoutTimes = ({ headers, body }: Comparable) => ({
  headers: headers.filter(([name]) => name !== 'content-length'),
  // Each test of a webhook endpoint is another delivery, and each rotation makes another secret.
  body: body.replace(/"(updatedAt|createdAt|nextAttemptAt|secret)":"[^"]*"|"id":\d+(?=,"eventType")/g, ''),
});

const GATEWAY_STATUSES = ['502', '504'];

/** The parts of an operation that only the document of a gateway has. */
function addedTo(route: Route) {
  const { operationId, responses } = route.operation;
  const statuses = Object.keys(responses);
  return {
    id: operationId,
    statuses: statuses.filter((status) => GATEWAY_STATUSES.includes(status)),
    keys: statuses.filter((status) => responses[status] && 'Idempotency-Key' in responses[status].headers),
    unknown: unknownOutcomeOf(route),
  };
}

/** The 504 of a change that a deployment with its own books has too. */
const unknownOutcomeOf = ({ operation }: Route) => examplesOf(operation, 504)['outcome_unknown'];

/** What rules a value out. The document of a gateway has only the rules that it checks: checked-document.spec.ts compares both. */
const RULES =
  /^(type|format|pattern|enum|minimum|maximum|(min|max)(Length|Items|Properties)|required|items|\$ref|allOf|additionalProperties|uniqueItems|const)$/;

/** The fields of schemas with what is said about them. */
const notesOf = (schemas: unknown): unknown =>
  JSON.parse(
    JSON.stringify(schemas, (key, value: unknown) => (RULES.test(key) && !isField(value) ? undefined : value)),
  );

/** A schema, under the name of a field that is also the name of a rule. */
const isField = (value: unknown) => typeof value === 'object' && value !== null && 'description' in value;

function withoutGatewayResponses(document: Document): unknown {
  const isOfGateway = (key: string, value: unknown) =>
    GATEWAY_STATUSES.includes(key) ||
    (key === 'Idempotency-Key' && JSON.stringify(value).includes('not known')) ||
    (value as { $ref?: string })?.$ref === '#/components/headers/Idempotency-Key';
  const text = JSON.stringify(document, (key, value: unknown) => (isOfGateway(key, value) ? undefined : value));
  const { components, ...remaining } = JSON.parse(text) as Document;
  const description = remaining.info.description.replace(/^\| 50[24] \|.*\n/gm, '');
  return { ...remaining, schemas: notesOf(components.schemas), info: { ...remaining.info, description } };
}
