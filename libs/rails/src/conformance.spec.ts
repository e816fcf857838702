import type { IncomingMessage, ServerResponse } from 'node:http';
import { freshDatabase, type FreshDatabase, keepRows } from '@banking/postgres/testing';
import { checkConformance } from './conformance.js';
import { type Served, sandboxOn, servedBy, TOKEN } from './testing/adapters.js';

const open: { close(): Promise<void> }[] = [];

let world: FreshDatabase;
let restore: () => Promise<void>;

beforeAll(async () => {
  world = await freshDatabase();
  restore = await keepRows(world.owner);
});
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
  await restore();
});
afterAll(() => world.close());

async function opened<One extends { close(): Promise<void> }>(one: Promise<One>): Promise<One> {
  open.push(await one);
  return one;
}

const unmet = async ({ config }: Served, patienceMs?: number) =>
  (await checkConformance(config, { ...(patienceMs !== undefined && { patienceMs }) }))
    .filter(({ isMet }) => !isMet)
    .map(({ check, change }) => `${check}: ${change}`);

/** The sandbox adapter behind a server that changes what it is sent and what it responds. */
async function behind(
  change: (
    request: IncomingMessage,
    body: string,
    forward: (body?: string, headers?: object) => Promise<Response>,
  ) => Promise<[number, string]>,
) {
  const adapter = await opened(sandboxOn(world));
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const { authorization = '', 'idempotency-key': key } = request.headers;
    const forward = (text = body, headers = {}) =>
      fetch(`http://127.0.0.1:${adapter.port}${request.url}`, {
        method: request.method ?? 'GET',
        headers: { authorization, ...(typeof key === 'string' && { 'idempotency-key': key }), ...headers },
        ...(request.method === 'POST' && { body: text }),
      });
    const [status, text] = await change(request, body, forward);
    response.writeHead(status).end(text);
  };
  return opened(servedBy((request, response) => void answer(request, response)));
}

const asIs = async (response: Response): Promise<[number, string]> => [response.status, await response.text()];

describe('the conformance suite', () => {
  it('has no complaint about the adapter of the sandbox network', async () => {
    const adapter = await opened(sandboxOn(world));

    expect(await unmet(adapter)).toEqual([]);
  });

  it('has no complaint about an adapter that does not verify payees, and finds one that answers wrongly', async () => {
    const answers = [
      [404, ''],
      [501, ''],
      [200, '{"result":"match"}'],
      [200, '{"result":"close_match"}'],
    ] as const;
    const found: (string | undefined)[] = [];
    for (const [status, text] of answers) {
      const adapter = await behind(async (request, _body, forward) => {
        const isAsked = request.url === '/payee-verifications' && request.headers.authorization === `Bearer ${TOKEN}`;
        return isAsked ? [status, text] : asIs(await forward());
      });
      found.push((await unmet(adapter)).join());
    }

    expect(found).toEqual([
      '',
      expect.stringContaining('Answer 200 to POST /payee-verifications, or 404 if you cannot tell, not 501'),
      expect.stringContaining('Answer close_match for the test account …9031, not match'),
      expect.stringContaining('verification.name is missing'),
    ]);
  });

  it('finds an adapter that makes a second payment of other content', async () => {
    const adapter = await behind(async (_request, _body, forward) => {
      const response = await forward();
      return response.status === 409 ? [202, await response.text()] : asIs(response);
    });

    expect(await unmet(adapter)).toEqual([
      expect.stringContaining('refuses a key that is sent again with other content: Answer 409'),
    ]);
  });

  it('finds an adapter that takes amounts as numbers', async () => {
    const adapter = await behind(async (_request, body, forward) =>
      asIs(await forward(body.replace(/"amount":(\d+)/, '"amount":"$1"'))),
    );

    expect(await unmet(adapter)).toEqual([
      expect.stringContaining('refuses amounts that are no whole number above zero'),
    ]);
  });

  it('finds an adapter that needs no token', async () => {
    const adapter = await behind(async (request, _body, forward) => {
      const status = request.headers.authorization?.includes('specs') ? undefined : 404;
      return status === undefined ? asIs(await forward()) : [status, '{}'];
    });

    expect(await unmet(adapter)).toEqual([expect.stringContaining('refuses a request without the token')]);
  });

  it('finds an adapter whose events lack a position', async () => {
    const adapter = await behind(async (_request, _body, forward) => {
      const [status, text] = await asIs(await forward());
      return [status, text.replaceAll('"position"', '"place"')];
    });

    const found = await unmet(adapter);
    expect(found).toContainEqual(
      expect.stringMatching(/reports a payment that arrived: .*events\[0\]\.position is missing/),
    );
  });

  it('finds an adapter that reports no rejection', async () => {
    const adapter = await behind(async (request, _body, forward) => {
      const [status, text] = await asIs(await forward());
      return [status, request.url?.startsWith('/events') ? text.replaceAll('RJCT', 'PDNG') : text];
    });

    expect(await unmet(adapter, 0)).toContainEqual(
      expect.stringContaining('reports a payment that was rejected, with its reason: Report RJCT within'),
    );
  });

  it.each([
    ['twice', '9021', 'reports events twice in its test mode, with the same ids: Report ACCC, and an event twice'],
    ['out of order', '9022', 'reports events out of order in its test mode: Report ACCC, and after it an event'],
  ])('finds an adapter that reports no events %s', async (_what, ending, message) => {
    const adapter = await behind(async (_request, body, forward) =>
      asIs(await forward(body.replace(`${ending}"`, '0000"'))),
    );

    expect(await unmet(adapter, 0)).toEqual([expect.stringContaining(message)]);
  });

  it.each([
    ['amount', '"amount":"12345"', '"amount":"12346"'],
    ['currency', '"currency":"EUR"', '"currency":"USD"'],
  ])('finds an adapter whose events have another %s than their payments', async (_what, own, other) => {
    const adapter = await behind(async (request, _body, forward) => {
      const [status, text] = await asIs(await forward());
      return [status, request.url?.startsWith('/events') ? text.replace(own, other) : text];
    });

    expect(await unmet(adapter)).toEqual([
      expect.stringContaining('reports each event with the amount and currency of its payment: Give each event'),
    ]);
  });

  it('finds an adapter that lists no event again after a later position was asked for', async () => {
    let latest = 0;
    const adapter = await behind(async (request, _body, forward) => {
      const [status, text] = await asIs(await forward());
      const after = /[?&]after=(\d+)/.exec(request.url ?? '')?.[1];
      if (!request.url?.startsWith('/events') || status !== 200) return [status, text];
      latest = Math.max(latest, Number(after ?? 0));
      const { events } = JSON.parse(text) as { readonly events: readonly { readonly position: string }[] };
      return [status, JSON.stringify({ events: events.filter(({ position }) => Number(position) > latest) })];
    });

    expect(await unmet(adapter, 0)).toContainEqual(
      expect.stringContaining('reports the same events again after the same position: List the same events'),
    );
  });

  it('finds an adapter that compares the amount of a known key only', async () => {
    const adapter = await behind(async (_request, body, forward) => {
      const response = await forward();
      return response.status === 409 && body.includes('"12345"') ? [202, '{}'] : asIs(response);
    });

    expect(await unmet(adapter)).toEqual([
      expect.stringContaining('Answer 409 to a known key with another creditor, not 202'),
    ]);
  });

  it('finds an adapter that takes payments without a token', async () => {
    const adapter = await behind(async (request, _body, forward) =>
      asIs(await forward(undefined, request.method === 'POST' ? { authorization: `Bearer ${TOKEN}` } : {})),
    );

    expect(await unmet(adapter)).toEqual([expect.stringContaining('Answer 401 to POST /payments without a token')]);
  });

  it('finds an adapter that lists payments of every time', async () => {
    const adapter = await behind(async (request, _body, forward) => {
      request.url = request.url?.replace(/acceptedSince=[^&]+/, 'acceptedSince=2000-01-01T00:00:00Z') ?? '/';
      return asIs(await forward());
    });

    expect(await unmet(adapter)).toEqual([
      expect.stringContaining('List no payment that was accepted before acceptedSince'),
    ]);
  });

  it('says that nothing serves at the address', async () => {
    const adapter = await opened(servedBy(() => undefined));
    await adapter.leave();

    const found = await unmet(adapter);
    expect(found).toHaveLength(17);
    expect(found[0]).toContain('Serve at the url of the rail: ECONNREFUSED');
  });
});
