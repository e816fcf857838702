import { fetchDocument } from './read-document.js';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type ErrorBody, REFUSALS } from '@banking/domain';
import { attachEmbeddedServer, type EmbeddedServer } from '@banking/embedded-postgres';
import { bind, type Database, OWNER_ROLE, sqlStatement } from '@banking/postgres';
import { openDatabase, testOrProve, until } from '@banking/postgres/testing';
import { comparable, type Comparable, comparableResponse, StackedServices } from '../gateway/stacked-services.js';
import type { RawResponse } from '../hostile/raw-request.js';
import { newDataDir } from '../running-service.js';
import { ADA, BOB, CY, EVE, type Service } from '../service.js';
import {
  type Attempt,
  callerFor,
  CHANGES,
  CIRCUMSTANCES,
  ELSEWHERE,
  NOT_THROUGH_GATEWAY,
  OF_KEYS,
  sendAttempt,
  strangeNames,
  withField,
  withoutName,
} from './changed-calls.js';
import { ServiceBehindWire } from './cut-at-commit.js';
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
} from './document.js';
import { faultsInHeaders, masked } from './examples.js';
import { makeApprovals, makeMore } from './more-world.js';

/** So few that a caller exceeds it on any machine, by some requests at once. */
const LIMIT_PER_SECOND = 1;

/**
 * Reasons for which service and gateway refuse by the same code for all operations, before any work and without the upstream. Those of
 * tokens, roles and workspaces are not here.
 */
const BEFORE_ANY_WORK = [
  ...['request_malformed', 'header_repeated', 'payload_too_large', 'unsupported_media_type', 'not_acceptable'],
  ...['id_malformed', 'parameter_unknown', 'body_malformed', 'field_unknown', 'idempotency_key_invalid'],
];
/** Reasons of a workspace for which a gateway asks no upstream. */
const OF_THE_WORKSPACE = ['workspace_id_required', 'workspace_id_invalid', 'workspace_forbidden'];
/** Changes that stand for all of them after a lost commit, except before a release: of money, with and without a key. */
const CHANGING = ['placeOrder', 'fundAccount', 'createQuote', 'cancelOrder', 'changeAccount', 'deleteRecipient'];
/** Some operations stand for all of them, except before a release. */
const someOf = (routes: readonly Route[]) => testOrProve(routes.slice(0, 3), routes);

const without = (name: string, headers: Attempt['headers']) =>
  Object.fromEntries(Object.entries(headers).filter(([other]) => other !== name));

const namesOf = (route: Route) => Object.keys(examplesOf(route.operation, successOf(route)));

/** A response without the header that marks a replay, and without the secret or code that the first response alone has. */
const withoutReplayed = ({ headers, body, ...response }: Comparable) => ({
  ...response,
  body: body.replace(/,"(secret|code)":"(inv_)?[^"]{40,}"/, ''),
  headers: headers.filter(([name]) => name !== 'idempotent-replayed' && name !== 'content-length'),
});
const isSuccess = ({ status }: Comparable) => status === 200 || status === 201;
const isReplayed = ({ headers }: Comparable) => headers.some(([name]) => name === 'idempotent-replayed');

let services: StackedServices;
let direct: Service;
let stacked: Service;
let routes: Route[];
let authorization: string;
let server: EmbeddedServer;
let owner: Database;

beforeAll(async () => {
  // A worker would change the books between two requests. The recorded examples need the documented ids.
  services = await StackedServices.start({ WORKER: 'off' }, newDataDir);
  ({ direct, stacked } = services);
  authorization = `Bearer ${await direct.tokenOf(ADA)}`;
  routes = routesOf(await fetchDocument(direct));
  server = await attachEmbeddedServer({ dataDir: services.dataDir });
  owner = await openDatabase({ connection: server.connection, role: OWNER_ROLE, statementTimeoutMs: 60_000 });
  await makeApprovals(direct.url, await direct.tokenOf(ADA), await direct.tokenOf(BOB));
  await makeMore(owner, direct, await direct.tokenOf(ADA));
  // The gateway keeps the lists of users for seconds, and Ada has another role now.
  const users: Call = { method: 'GET', path: '/apps/1/users', headers: {}, needsToken: true };
  await until(async () => isDeepStrictEqual(await requestAt(stacked, users), await requestAt(direct, users)));
});
afterAll(async () => {
  await owner?.end();
  await server?.detach();
  await services?.stop();
});

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

/** Every operation that documents the reason, with its call. */
const refusing = (reason: string) =>
  routes.filter(({ operation }) => reasonsOf(operation).includes(reason) && OF_KEYS[reason] !== operation.operationId);

/** One operation for all, because they share the code. */
const only = (reason: string): Route => {
  const [route] = refusing(reason);
  if (!route) throw new Error(`no operation documents ${reason}`);
  return route;
};

const sendRequest = (attempt: Attempt, email: string): Promise<RawResponse> => sendAttempt(direct, attempt, email);

function expectDocumented({ path, operation }: Route, reason: string, { status, body, headers }: RawResponse): void {
  const documented = operation.responses[String(status)];
  const example = examplesOf(operation, status ?? 0)[reason]?.value as ErrorBody;
  const received = JSON.parse(body) as ErrorBody;
  // Malformed input has one example for all operations.
  const withoutNames = (one: ErrorBody) => masked(status === 400 ? withoutName(one) : one);

  expect({ path, status, response: withoutNames(received) }).toEqual({
    path,
    status,
    response: withoutNames(example),
  });
  const strange = status === 400 ? strangeNames(operation, received) : [];
  expect({ path, reason, strange }).toEqual({ path, reason, strange: [] });
  const isLimited = headers.has('ratelimit');
  expect({ path, reason, faults: documented && faultsInHeaders(headers.keys(), documented, isLimited) }).toEqual({
    path,
    reason,
    faults: [],
  });
}

describe('demo data, called directly and through a gateway', () => {
  it.each([
    ['every read with GET', 'GET', reads],
    [
      'reads with HEAD',
      'HEAD',
      () => someOf(routes.filter(({ method }) => method === 'GET')).map((route) => callOf(route)),
    ],
  ])('gives the same response to %s', async (_, method, calls) => {
    for (const call of calls()) {
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
});

describe('documented errors', () => {
  it('each have a call in this spec that provokes them', () => {
    const documented = routes.flatMap(({ operation }) => reasonsOf(operation));

    expect(new Set(documented)).toEqual(new Set([...Object.keys(CHANGES), ...CIRCUMSTANCES]));
  });

  it('are provoked for every row of the table', async () => {
    const here = new Set([...Object.keys(CHANGES), ...CIRCUMSTANCES]);
    expect(
      Object.keys(REFUSALS)
        .filter((reason) => !here.has(reason))
        .sort(),
    ).toEqual(Object.keys(ELSEWHERE).sort());

    for (const [spec, word] of Object.values(ELSEWHERE)) {
      expect(await readFile(resolve(__dirname, '../../../..', spec), 'utf8')).toContain(word);
    }
  });

  it.each(Object.keys(CHANGES))('match the refusal of a call that is %s, also through a gateway', async (reason) => {
    const all = refusing(reason);
    const refused = BEFORE_ANY_WORK.includes(reason) ? someOf(all) : all;
    const refusedByGateway = OF_THE_WORKSPACE.includes(reason) ? someOf(refused) : refused;
    for (const route of refused) {
      const changed = CHANGES[reason]?.(callOf(route), route);
      if (!changed) throw new Error(`nothing changes a call into ${reason}`);

      const email = callerFor(reason, route);
      const response = await sendRequest(changed, email);
      expectDocumented(route, reason, response);
      if (!refusedByGateway.includes(route)) continue;
      const throughGateway = await sendAttempt(stacked, changed, email);
      if (throughGateway.body.includes('"not_through_gateway"')) {
        expectDocumented(route, 'not_through_gateway', throughGateway);
        expect(NOT_THROUGH_GATEWAY).toContain(route.operation.operationId);
        continue;
      }
      expect({ call: changed, response: comparable(throughGateway) }).toEqual({
        call: changed,
        response: comparable(response),
      });
    }
  });

  it('match the refusal of a key used for another request', async () => {
    const route = only('idempotency_key_reused');
    const call: Attempt = { ...callOf(route), headers: { ...callOf(route).headers, 'Idempotency-Key': 'used' } };
    expect((await sendRequest(call, ADA)).status).toBe(201);

    expectDocumented(route, 'idempotency_key_reused', await sendRequest(withField('alias', 'Other')(call, route), ADA));
  });

  it('match the refusals of a disabled account', async () => {
    for (const route of refusing('account_disabled')) {
      const { headers, body, ...call } = callOf(route);
      const { accountID } = body as { readonly accountID?: number };
      const account = call.path.match(/\/accounts\/\d+/)?.[0] ?? `/accounts/${accountID}`;
      const keyless = without('Idempotency-Key', headers);
      const turn = async (status: string) =>
        expect(
          await sendRequest({ ...call, method: 'PATCH', path: account, headers: keyless, body: { status } }, ADA),
        ).toMatchObject({ status: 200 });
      await turn('disabled');

      expectDocumented(route, 'account_disabled', await sendRequest({ ...call, body, headers: keyless }, ADA));

      await turn('enabled');
    }
  });

  it('match the refusal of a closed corridor', async () => {
    const turn = sqlStatement(
      'turn corridors',
      `update banking.corridor set enabled = $1 where destination_country = 'IN'`,
    );
    await owner.pipeline({}, [bind(turn, false)]);

    for (const route of refusing('corridor_disabled')) {
      expectDocumented(
        route,
        'corridor_disabled',
        await sendRequest({ ...callOf(route), headers: without('Idempotency-Key', callOf(route).headers) }, ADA),
      );
    }

    await owner.pipeline({}, [bind(turn, true)]);
  });

  it('match the refusal of a cursor whose events were deleted', async () => {
    const deletion = sqlStatement(
      'delete_event',
      // The worker may have deleted events of the demo data.
      `insert into banking.event_deletion (workspace_id, last_id, last_at, last_row_at)
       select 1, max(id) + 1, max(created_at), max(created_at) from banking.event where workspace_id = 1
       on conflict (workspace_id) do update set last_id = excluded.last_id, last_at = excluded.last_at`,
    );
    for (const route of refusing('cursor_expired')) {
      const { headers } = await sendRequest({ ...callOf(route), path: `${route.path}?limit=1` }, ADA);
      await owner.pipeline({ workspaces: [1] }, [bind(deletion)]);
      const [, path = ''] = /^<([^>]+)>/.exec(headers.get('link') ?? '') ?? [];

      expectDocumented(route, 'cursor_expired', await sendRequest({ ...callOf(route), path }, ADA));
    }
  });

  it('match the refusal of a key that is in use', async () => {
    const route = only('idempotency_in_progress');
    const call: Attempt = { ...callOf(route), headers: { ...callOf(route).headers, 'Idempotency-Key': 'held' } };
    const take = sqlStatement(
      'take',
      `select pg_advisory_xact_lock(hashtextextended(jsonb_build_array('idempotency', $1::bigint, $2::text, $3::text)::text, 0))`,
    );

    const response = await owner.transaction({}, async (tx) => {
      await tx.pipeline([bind(take, 1, route.operation.operationId, 'held')]);
      return sendRequest(call, ADA);
    });

    expectDocumented(route, 'idempotency_in_progress', response);
  });

  it('match the response to a database locked by another session', async () => {
    const hold = bind(sqlStatement('hold', 'lock table banking.app_user in access exclusive mode'));
    const routes = someOf(refusing('unavailable').filter(({ operation }) => operation.security.length > 0));

    const responses = await owner.transaction({}, async (tx) => {
      await tx.pipeline([hold]);
      // The service does not know this user yet, and has to read the locked table.
      return Promise.all(routes.map((route) => sendRequest(callOf(route), CY)));
    });

    routes.forEach((route, index) => expectDocumented(route, 'unavailable', responses[index] as RawResponse));
  });

  describe('of a service with a rate limit, whose connection to the database can be lost', () => {
    let cut: ServiceBehindWire;
    beforeAll(async () => {
      cut = await ServiceBehindWire.start(services.dataDir, server, {
        RATE_LIMIT_PER_SECOND: String(LIMIT_PER_SECOND),
      });
    });
    afterAll(() => cut?.stop());

    const sendHere = (attempt: Attempt, email: string) =>
      sendAttempt({ url: cut.url, tokenOf: direct.tokenOf }, attempt, email);

    it('match the refusal of a user who exceeds the rate limit', async () => {
      for (const route of someOf(refusing('rate_limited'))) {
        let response = await sendHere(callOf(route), CY);
        for (let sent = 1; response.status !== 429 && sent < 1_000; sent += 1)
          response = await sendHere(callOf(route), CY);

        expectDocumented(route, 'rate_limited', response);
      }
    });

    it('match the response to a lost commit, which returns the key of a creation', async () => {
      const all = refusing('outcome_unknown');
      const some = all.filter(({ operation }) => CHANGING.includes(operation.operationId));
      expect(some).toHaveLength(CHANGING.length);
      for (const [index, route] of testOrProve(some, all).entries()) {
        const { headers, ...call } = callOf(route);
        const key = `unknown-${index}`;
        const takesKey = 'Idempotency-Key' in headers;
        const attempt = { ...call, headers: { ...headers, ...(takesKey && { 'Idempotency-Key': key }) } };

        // After the connection before was cut, a busy machine may need longer for another than a request waits.
        const response = await until(
          () => cut.cutAtCommit(() => sendHere(attempt, ADA)),
          ({ status }) => status !== 503 && status !== 429,
        );

        expectDocumented(route, 'outcome_unknown', response);
        expect([route.path, response.headers.get('idempotency-key')]).toEqual([route.path, takesKey ? key : undefined]);
      }
      expect(cut.log).toContain('"msg":"outcome unknown"');
    });
  });

  it('match the response to a missing database privilege, without details', async () => {
    const change = (text: string) => owner.pipeline({}, [bind(sqlStatement(text.slice(0, 5), text))]);
    await change('revoke usage on schema banking from banking_api');

    for (const route of someOf(refusing('internal_error')))
      expectDocumented(route, 'internal_error', await sendRequest(callOf(route), EVE));

    await change('grant usage on schema banking to banking_api');
  });
});

describe('demo data, changed directly and through a gateway', () => {
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
        keys: takesKey(route) ? [...('202' in route.operation.responses ? ['202'] : []), '502', '504'] : [],
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
    const changes = callsOf(
      (route) =>
        !takesKey(route) &&
        ['PATCH', 'POST'].includes(route.method) &&
        !NOT_THROUGH_GATEWAY.includes(route.operation.operationId),
    );
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

describe('documented readiness', () => {
  it('match the readiness response of a stopping service', async () => {
    const [ready, ...others] = refusing('unavailable').filter(({ operation }) => operation.security.length === 0);
    if (!ready) throw new Error('no operation says whether the service is ready');
    services.books.signal('SIGTERM');

    const response = await until(
      () => sendRequest(callOf(ready), ADA),
      ({ status }) => status !== 200,
    );

    expect(others).toEqual([]);
    expectDocumented(ready, 'unavailable', response);
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

/** What rules a value out. The document of a gateway has only the rules that it checks: validate-response.spec.ts compares both. */
const RULES =
  /^(type|format|pattern|enum|minimum|maximum|(min|max)(Length|Items|Properties)|required|items|\$ref|allOf|additionalProperties|propertyNames|uniqueItems|const)$/;

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
