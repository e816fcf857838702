import type { ServerResponse } from 'node:http';
import { until } from '@banking/postgres/testing';
import { gatewayOf } from './testing/gateway-of.js';
import { scriptedUpstream } from './testing/scripted-upstream.js';

const range = (length: number) => Array.from({ length }, (_, index) => index);
const emailOf = (id: number) => `user-${id}@bank.example`;
const HOSTILE = emailOf(1);
const POLITE = emailOf(2);

/** An admin of workspace 1. */
const admin = (id: number) => ({
  id,
  email: emailOf(id),
  edges: { roles: [{ id, role: 'admin', edges: { workspace: { id: 1, name: 'Bank' } } }] },
});
const listOf = (count: number) => range(count).map((index) => admin(index + 1));
const LIMITED = { status: 429, body: { errorCode: 'rate_limited', message: 'No.' }, headers: { 'retry-after': '1' } };

let upstream: Awaited<ReturnType<typeof scriptedUpstream>>;
let gateway: Awaited<ReturnType<typeof gatewayOf>>;
beforeAll(async () => {
  upstream = await scriptedUpstream();
});
afterAll(() => upstream.close());
beforeEach(async () => {
  upstream.reset();
  upstream.says('GET /apps/1/users', { status: 200, body: listOf(70) });
  gateway = await gatewayOf(upstream.url);
});
afterEach(() => gateway.close());

const get = (path: string, email: string) => gateway.send(`GET ${path}`, {}, email);
const reasonOf = async (response: Response) => ((await response.json()) as { reason?: string }).reason;
const received = (path: string) => upstream.received.filter((request) => request.path === path).length;

/** The spec triggers the responses to this path. */
function holding(path: string) {
  const held: ServerResponse[] = [];
  let isHolding = true;
  const answer = (response: ServerResponse) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end('[]');
  upstream.says(`GET ${path}`, (_, response) => {
    if (!isHolding) return void answer(response);
    held.push(response);
  });
  return {
    held,
    /** Responds to all held requests, and to later ones at once. */
    release(): void {
      isHolding = false;
      held.forEach(answer);
    },
  };
}

describe('one caller who sends hundreds of requests at once', () => {
  it('does not delay another caller, and is refused', async () => {
    const { held, release } = holding('/transfers');
    upstream.says('GET /accounts', { status: 200, body: [] });
    const flood = range(300).map(() => get('/transfers', HOSTILE));
    await until(() => held.length >= 32);

    for (const path of ['/accounts', '/apps', '/apps/1/users', '/accounts']) {
      expect([path, (await get(path, POLITE)).status]).toEqual([path, 200]);
    }
    expect(held).toHaveLength(32);
    release();
    const responses = await Promise.all(flood);
    const refused = responses.filter(({ status }) => status !== 200);
    expect(responses.length - refused.length).toBeGreaterThanOrEqual(32);
    expect(refused.length).toBeGreaterThan(0);
    // On a busy machine, the first have waited for two seconds, and get 503, before the queue is full.
    for (const { status, headers } of refused) {
      expect([429, 503]).toContain(status);
      expect(headers.get('retry-after')).toBe('1');
    }
  });

  it('does not open the circuit for other callers with a 429 of the upstream', async () => {
    upstream.says('GET /transfers', LIMITED);
    upstream.says('GET /accounts', { status: 200, body: [] });
    const limited = await Promise.all(range(20).map(() => get('/transfers', HOSTILE)));
    expect(new Set(limited.map(({ status }) => status))).toEqual(new Set([429]));

    expect((await get('/accounts', POLITE)).status).toBe(200);
    expect(gateway.lines.some(({ level }) => level === 'error')).toBe(false);
  });

  it('does not cause more reads of the user lists', async () => {
    for (const path of ['/apps/1/users', '/apps/2/users']) {
      for (let turn = 0; turn < 5; turn += 1) await Promise.all(range(20).map(() => get(path, HOSTILE)));
    }

    expect(await reasonOf(await get('/apps/2/users', HOSTILE))).toBe('app_not_found');
    // The users of an app that is not listed are not read.
    expect(received('/apps/2/users')).toBe(0);
    expect(received('/apps/1/users')).toBe(received('/apps'));
    expect(received('/apps')).toBeLessThan(50);
  });
});

describe('callers who use every connection', () => {
  it('do not prevent the read of the user lists for a new user', async () => {
    const { held, release } = holding('/transfers');
    const asked = range(64).map((index) => get('/transfers', emailOf(index + 1)));
    await until(() => held.length >= 64);

    upstream.says('GET /apps/1/users', { status: 200, body: listOf(71) });
    // The lists are read once a second at most.
    await until(
      () => get('/apps', emailOf(71)),
      ({ status }) => status === 200,
    );

    release();
    expect((await Promise.all(asked)).map((answer) => answer.status)).toEqual(range(64).map(() => 200));
  });
});
