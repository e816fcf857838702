import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type ErrorBody, REFUSALS } from '@banking/domain';
import { type Database, OWNER_ROLE, bind, sqlStatement } from '@banking/postgres';
import { attachEmbeddedServer, type EmbeddedServer } from '@banking/embedded-postgres';
import { until, openDatabase } from '@banking/postgres/testing';
import type { RawResponse } from '../hostile/raw-request.js';
import { RunningService } from '../running-service.js';
import { ADA, CY, EVE } from '../service.js';
import { type Attempt, CHANGES, REFUSED, withField } from './changed-calls.js';
import { CIRCUMSTANCES, ELSEWHERE } from './circumstances.js';
import { callOf, examplesOf, reasonsOf, type Route, routesOf } from './document.js';
import { ServiceBehindWire } from './cut-at-commit.js';
import { freshService, type FreshService } from './fresh-service.js';
import { strangeNames, withoutName } from './malformed-input.js';
import { masked } from './masked.js';
import { makeMore } from './more-world.js';
import { sendAttempt } from './send-attempt.js';
import { faultsInHeaders } from './sent-headers.js';

/** So few that a caller exceeds it on any machine, by some requests at once. */
const LIMIT_PER_SECOND = 1;

const without = (name: string, headers: Attempt['headers']) =>
  Object.fromEntries(Object.entries(headers).filter(([other]) => other !== name));

describe('documented errors', () => {
  let service: FreshService;
  let server: EmbeddedServer;
  let owner: Database;
  let routes: Route[];

  beforeAll(async () => {
    service = await freshService();
    routes = routesOf(service.document);
    server = await attachEmbeddedServer({ dataDir: service.dataDir });
    owner = await openDatabase({ connection: server.connection, role: OWNER_ROLE, statementTimeoutMs: 60_000 });
    await makeMore(owner, service, await service.tokenOf(ADA));
  });
  afterAll(async () => {
    await owner?.end();
    await server?.detach();
    await service?.stop();
  });

  /** Every operation that documents the reason, with its call. */
  const refusing = (reason: string) => routes.filter(({ operation }) => reasonsOf(operation).includes(reason));

  /** One operation for all, because they share the code. */
  const only = (reason: string): Route => {
    const [route] = refusing(reason);
    if (!route) throw new Error(`no operation documents ${reason}`);
    return route;
  };

  const sendRequest = (attempt: Attempt, email: string): Promise<RawResponse> => sendAttempt(service, attempt, email);

  function expectDocumented({ path, operation }: Route, reason: string, { status, body, headers }: RawResponse): void {
    const documented = operation.responses[String(status)];
    const example = examplesOf(operation, status ?? 0)[reason]?.value as ErrorBody;
    const received = JSON.parse(body) as ErrorBody;
    // Malformed input has one example for all operations.
    const comparable = (one: ErrorBody) => masked(status === 400 ? withoutName(one) : one);

    expect({ path, status, response: comparable(received) }).toEqual({ path, status, response: comparable(example) });
    const strange = status === 400 ? strangeNames(operation, received) : [];
    expect({ path, reason, strange }).toEqual({ path, reason, strange: [] });
    const isLimited = headers.has('ratelimit');
    expect({ path, reason, faults: documented && faultsInHeaders(headers.keys(), documented, isLimited) }).toEqual({
      path,
      reason,
      faults: [],
    });
  }

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

  it.each(Object.keys(CHANGES))('match the refusal of a call that is %s', async (reason) => {
    for (const route of refusing(reason)) {
      const changed = CHANGES[reason]?.(callOf(route), route);
      if (!changed) throw new Error(`nothing changes a call into ${reason}`);

      expectDocumented(route, reason, await sendRequest(changed, REFUSED[reason] ?? ADA));
    }
  });

  it('match the refusal of a user who exceeds the rate limit', async () => {
    const { dataDir, tokenOf } = service;
    const environment = { RATE_LIMIT_PER_SECOND: String(LIMIT_PER_SECOND) };
    const limited = await RunningService.start({ dataDir, environment });
    for (const route of refusing('rate_limited')) {
      const attempt = () => sendAttempt({ url: limited.url, tokenOf }, callOf(route), CY);
      const refused = await until(async () => {
        const responses = await Promise.all(Array.from({ length: 16 }, attempt));
        return responses.find(({ status }) => status === 429);
      });

      expectDocumented(route, 'rate_limited', refused!);
    }
    await limited.stop();
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
      `insert into banking.event_deletion (workspace_id, last_id) select 1, max(id) + 1 from banking.event where workspace_id = 1
       on conflict (workspace_id) do update set last_id = excluded.last_id`,
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
    const routes = refusing('unavailable').filter(({ operation }) => operation.security.length > 0);

    const responses = await owner.transaction({}, async (tx) => {
      await tx.pipeline([hold]);
      return Promise.all(routes.map((route) => sendRequest(callOf(route), EVE)));
    });

    routes.forEach((route, index) => expectDocumented(route, 'unavailable', responses[index] as RawResponse));
  });

  it('match the response to a lost commit, which returns the key of a creation', async () => {
    const cut = await ServiceBehindWire.start(service.dataDir, server);
    try {
      for (const [index, route] of refusing('outcome_unknown').entries()) {
        const { headers, ...call } = callOf(route);
        const key = `unknown-${index}`;
        const takesKey = 'Idempotency-Key' in headers;
        const attempt = { ...call, headers: { ...headers, ...(takesKey && { 'Idempotency-Key': key }) } };

        // After the connection before was cut, a busy machine may need longer for another than a request waits.
        const response = await until(
          () => cut.cutAtCommit(() => sendAttempt({ url: cut.url, tokenOf: service.tokenOf }, attempt, ADA)),
          ({ status }) => status !== 503,
        );

        expectDocumented(route, 'outcome_unknown', response);
        expect([route.path, response.headers.get('idempotency-key')]).toEqual([route.path, takesKey ? key : undefined]);
      }
      expect(cut.log).toContain('"msg":"outcome unknown"');
    } finally {
      await cut.stop();
    }
  });

  it('match the response to a missing database privilege, without details', async () => {
    const change = (text: string) => owner.pipeline({}, [bind(sqlStatement(text.slice(0, 5), text))]);
    await change('revoke usage on schema banking from banking_app');

    for (const route of refusing('internal_error'))
      expectDocumented(route, 'internal_error', await sendRequest(callOf(route), EVE));

    await change('grant usage on schema banking to banking_app');
  });

  it('match the readiness response of a stopping service', async () => {
    const [ready, ...others] = refusing('unavailable').filter(({ operation }) => operation.security.length === 0);
    if (!ready) throw new Error('no operation says whether the service is ready');
    service.signal('SIGTERM');

    const response = await until(
      () => sendRequest(callOf(ready), ADA),
      ({ status }) => status !== 200,
    );

    expect(others).toEqual([]);
    expectDocumented(ready, 'unavailable', response);
  });
});
