import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { REFUSALS } from '@banking/domain';
import { Database, joinEmbeddedServer, OWNER_ROLE, bind, statement, type EmbeddedServer } from '@banking/postgres';
import type { RawAnswer } from '../hostile/raw-request.js';
import { ADA, CY, EVE } from '../service.js';
import { type Attempt, CHANGES, REFUSED, withField } from './changed-calls.js';
import { callOf, examplesOf, reasonsOf, type Route, routesOf } from './document.js';
import { ServiceBehindWire } from './cut-at-commit.js';
import { freshService, type FreshService } from './fresh-service.js';
import { masked } from './masked.js';
import { makeMore } from './more-world.js';
import { sendAttempt } from './send-attempt.js';
import { mistakesInHeaders } from './sent-headers.js';

/** Low enough that the one who asks for too much reaches it on any machine. */
const LIMIT_PER_SECOND = 50;

const without = (name: string, headers: Attempt['headers']) =>
  Object.fromEntries(Object.entries(headers).filter(([other]) => other !== name));

/** These do not lie in the call. */
const CIRCUMSTANCES = [
  'rate_limited',
  'unavailable',
  'outcome_unknown',
  'internal_error',
  'idempotency_in_progress',
  'idempotency_key_reused',
  'account_disabled',
  'corridor_disabled',
];

/**
 * Rows that no operation documents: they come before any, or from a library that is called without HTTP. The spec that provokes each,
 * and what it says of it.
 */
const ELSEWHERE: Readonly<Record<string, readonly [spec: string, word: string]>> = {
  route_not_found: ['apps/api-e2e/src/hostile/requests.ts', "reason: 'route_not_found'"],
  method_not_allowed: ['apps/api-e2e/src/hostile/requests.ts', "reason: 'method_not_allowed'"],
  uri_too_long: ['apps/api-e2e/src/hostile/requests.ts', "reason: 'uri_too_long'"],
  headers_too_large: ['apps/api-e2e/src/hostile/requests.ts', "reason: 'headers_too_large'"],
  precondition_failed: ['apps/api-e2e/src/hostile/public-routes.spec.ts', "'precondition_failed'"],
  // Node answers it without a body.
  request_timeout: ['apps/api-e2e/src/hostile/framing.spec.ts', '408'],
  // Only where another deployment answers.
  upstream_error: ['apps/api/src/upstream/upstream-failure.spec.ts', "reason: 'upstream_error'"],
  upstream_timeout: ['apps/api/src/upstream/upstream-failure.spec.ts', "reason: 'upstream_timeout'"],
  amount_too_precise: ['libs/domain/src/display.spec.ts', "'amount_too_precise'"],
};

describe('Given the errors of the document and a service that can be made to fail', () => {
  let service: FreshService;
  let server: EmbeddedServer;
  let owner: Database;
  let routes: Route[];

  beforeAll(async () => {
    service = await freshService({ RATE_LIMIT_PER_SECOND: String(LIMIT_PER_SECOND) });
    routes = routesOf(service.document);
    server = await joinEmbeddedServer({ dataDir: service.dataDir });
    owner = await Database.open({ connection: server.connection, role: OWNER_ROLE, statementTimeoutMs: 60_000 });
    await makeMore(owner, service, await service.tokenOf(ADA));
  }, 180_000);
  afterAll(async () => {
    await owner?.end();
    await server?.leave();
    await service?.stop();
  });

  /** Every operation that documents the reason, with its call. */
  const refusing = (reason: string) => routes.filter(({ operation }) => reasonsOf(operation).includes(reason));

  /** One for all: they share the code behind it. */
  const only = (reason: string): Route => {
    const [route] = refusing(reason);
    if (!route) throw new Error(`no operation documents ${reason}`);
    return route;
  };

  /** Waits as it is told where this spec alone has used up what a user may ask. */
  const ask = async (attempt: Attempt, email: string): Promise<RawAnswer> => {
    const answer = await sendAttempt(service, attempt, email);
    if (answer.status !== 429 || email === CY) return answer;
    await setTimeout(Number(answer.headers.get('retry-after')) * 1_000);
    return ask(attempt, email);
  };

  function expectDocumented({ path, operation }: Route, reason: string, { status, body, headers }: RawAnswer): void {
    const documented = operation.responses[String(status)];
    const example = examplesOf(operation, status ?? 0)[reason]?.value;

    expect({ path, status, answer: masked(JSON.parse(body)) }).toEqual({ path, status, answer: masked(example) });
    const isLimited = headers.has('ratelimit');
    expect({ path, reason, mistakes: documented && mistakesInHeaders(headers.keys(), documented, isLimited) }).toEqual({ path, reason, mistakes: [] }); // prettier-ignore
  }

  it('When a reason is documented Then this spec knows how to meet it', () => {
    const documented = routes.flatMap(({ operation }) => reasonsOf(operation));

    expect(new Set(documented)).toEqual(new Set([...Object.keys(CHANGES), ...CIRCUMSTANCES]));
  });

  it('When a refusal has a row in the table Then something provokes it', async () => {
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

  it.each(Object.keys(CHANGES))(
    'When a call is changed into one that is %s Then it is refused as documented',
    async (reason) => {
      for (const route of refusing(reason)) {
        const changed = CHANGES[reason]?.(callOf(route), route);
        if (!changed) throw new Error(`nothing changes a call into ${reason}`);

        expectDocumented(route, reason, await ask(changed, REFUSED[reason] ?? ADA));
      }
    },
  );

  it('When somebody asks too often Then they are refused as documented', async () => {
    for (const route of refusing('rate_limited')) {
      let refused: RawAnswer | undefined;
      while (!refused) {
        const answers = await Promise.all(Array.from({ length: 30 }, () => ask(callOf(route), CY)));
        refused = answers.find(({ status }) => status === 429);
      }

      expectDocumented(route, 'rate_limited', refused);
    }
  });

  it('When a key is used for another request Then it is refused as documented', async () => {
    const route = only('idempotency_key_reused');
    const call: Attempt = { ...callOf(route), headers: { ...callOf(route).headers, 'Idempotency-Key': 'used' } };
    expect((await ask(call, ADA)).status).toBe(201);

    expectDocumented(route, 'idempotency_key_reused', await ask(withField('alias', 'Other')(call, route), ADA));
  });

  it('When an account is disabled Then it neither takes nor pays money, as documented', async () => {
    for (const route of refusing('account_disabled')) {
      const { headers, body, ...call } = callOf(route);
      const { accountID } = body as { readonly accountID?: number };
      const account = call.path.match(/\/accounts\/\d+/)?.[0] ?? `/accounts/${accountID}`;
      const keyless = without('Idempotency-Key', headers);
      const turn = async (status: string) =>
        expect(await ask({ ...call, method: 'PATCH', path: account, headers: keyless, body: { status } }, ADA)).toMatchObject({ status: 200 }); // prettier-ignore
      await turn('disabled');

      expectDocumented(route, 'account_disabled', await ask({ ...call, body, headers: keyless }, ADA));

      await turn('enabled');
    }
  });

  it('When a corridor is closed Then nothing is paid over it, as documented', async () => {
    const turn = statement(
      'turn corridors',
      `update banking.corridor set enabled = $1 where destination_country = 'IN'`,
    );
    await owner.flight({}, [bind(turn, false)]);

    for (const route of refusing('corridor_disabled')) {
      expectDocumented(route, 'corridor_disabled', await ask({ ...callOf(route), headers: without('Idempotency-Key', callOf(route).headers) }, ADA)); // prettier-ignore
    }

    await owner.flight({}, [bind(turn, true)]);
  });

  it('When a request with the key is still being carried out Then the next is asked to wait as documented', async () => {
    const route = only('idempotency_in_progress');
    const call: Attempt = { ...callOf(route), headers: { ...callOf(route).headers, 'Idempotency-Key': 'held' } };
    const take = statement(
      'take',
      `select pg_advisory_xact_lock(hashtextextended(jsonb_build_array('idempotency', $1::bigint, $2::text, $3::text)::text, 0))`,
    );

    const answer = await owner.transaction({}, async (tx) => {
      await tx.flight([bind(take, 1, route.operation.operationId, 'held')]);
      return ask(call, ADA);
    });

    expectDocumented(route, 'idempotency_in_progress', answer);
  });

  it('When the database is held by somebody else Then the service is unavailable as documented', async () => {
    const hold = bind(statement('hold', 'lock table banking.app_user in access exclusive mode'));
    const held = refusing('unavailable').filter(({ operation }) => operation.security.length > 0);

    const answers = await owner.transaction({}, async (tx) => {
      await tx.flight([hold]);
      return Promise.all(held.map((route) => ask(callOf(route), EVE)));
    });

    for (const [index, route] of held.entries()) expectDocumented(route, 'unavailable', answers[index] as RawAnswer);
  });

  it('When the database is lost at a commit Then the outcome is unknown as documented, and a creation gets its key back', async () => {
    const cut = await ServiceBehindWire.start(service.dataDir, server);
    try {
      for (const [index, route] of refusing('outcome_unknown').entries()) {
        const { headers, ...call } = callOf(route);
        const key = `unknown-${index}`;
        const takesKey = 'Idempotency-Key' in headers;
        const attempt = { ...call, headers: { ...headers, ...(takesKey && { 'Idempotency-Key': key }) } };

        const answer = await cut.cutAtCommit(() =>
          sendAttempt({ url: cut.url, tokenOf: service.tokenOf }, attempt, ADA),
        );

        expectDocumented(route, 'outcome_unknown', answer);
        expect([route.path, answer.headers.get('idempotency-key')]).toEqual([route.path, takesKey ? key : undefined]);
      }
      expect(cut.log).toContain('"msg":"outcome unknown"');
    } finally {
      await cut.stop();
    }
  });

  it('When the service has lost a right Then it fails as documented, without a word of why', async () => {
    const change = (text: string) => owner.flight({}, [bind(statement(text.slice(0, 5), text))]);
    await change('revoke usage on schema banking from banking_app');

    for (const route of refusing('internal_error'))
      expectDocumented(route, 'internal_error', await ask(callOf(route), EVE));

    await change('grant usage on schema banking to banking_app');
  });

  it('When the service is told to stop Then it is not ready, as documented', async () => {
    const [ready, ...others] = refusing('unavailable').filter(({ operation }) => operation.security.length === 0);
    if (!ready) throw new Error('no operation says whether the service is ready');
    service.signal('SIGTERM');

    let answer = await ask(callOf(ready), ADA);
    while (answer.status === 200) answer = await ask(callOf(ready), ADA);

    expect(others).toEqual([]);
    expectDocumented(ready, 'unavailable', answer);
  });
});
