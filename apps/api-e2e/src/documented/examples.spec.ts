import { isCi } from '../config.js';
import { ADA, BOB } from '../service.js';
import { callOf, examplesOf, isOfMade, isOnce, requestOf, type Route, routesOf, successOf } from './document.js';
import { makeApprovals, makeForExamples, makeInvitationIn, untilAudited } from './more-world.js';
import { freshService, type FreshService } from '../running-service.js';
import { readExamples } from './read-document.js';
import { blocksOf, faultsInHeaders, hasCurl, inShell, masked } from './examples.js';

if (!hasCurl) console.warn('The commands of the document are not tried: there is no curl here.');

/** Fails in CI on a machine without a shell and curl, like the specs of the browser. */
const itWithCurl = hasCurl || isCi() ? it : it.skip;

const named = (route: Route) => Object.entries(examplesOf(route.operation, successOf(route)));

describe('examples of the document', () => {
  let service: FreshService;
  let routes: Route[];
  const tried = new Set<Route>();
  beforeAll(async () => {
    service = await freshService();
    routes = routesOf(service.document);
    await untilAudited(service.url, await service.tokenOf(ADA), 'openAccount');
    await makeApprovals(service.url, await service.tokenOf(ADA), await service.tokenOf(BOB));
    await makeInvitationIn(service.dataDir);
  });
  afterAll(() => service?.stop());

  it('set in the introduction the variables of every command', () => {
    const [setup = ''] = blocksOf('sh', service.document.info.description);

    expect(setup.match(/export (\w+)=/g)).toEqual(['export BASE_URL=', 'export TOKEN=']);
  });

  // The creations come last, because the reads show the demo data without a change.
  describe.each([
    ['reads', (route: Route) => route.method === 'GET' && !isOfMade(route)],
    ['reads what was made', (route: Route) => route.method === 'GET' && isOfMade(route)],
    ['makes or changes something', (route: Route) => route.method !== 'GET'],
  ])('of an operation that %s', (what, isMeant) => {
    beforeAll(async () => {
      if (what === 'reads what was made') await makeForExamples(service.url, await service.tokenOf(ADA));
    });

    itWithCurl('print the first example when the command runs in a shell', async () => {
      const variables = { BASE_URL: service.url, TOKEN: await service.tokenOf(ADA) };
      for (const route of routes.filter(isMeant)) {
        const { path, operation } = route;
        const [command = '', ...more] = blocksOf('sh', operation.description);
        const printed = await inShell(command, variables);

        expect(more).toEqual([]);
        tried.add(route);
        const [first] = named(route);
        const response: unknown = printed === '' ? undefined : JSON.parse(printed);
        expect({ path, response: masked(response) }).toEqual({ path, response: masked(first?.[1].value) });
      }
    });

    it('match the response and its headers for the values of the parameters', async () => {
      const authorization = `Bearer ${await service.tokenOf(ADA)}`;
      for (const route of routes.filter(isMeant)) {
        const isDone = isOnce(route) && tried.has(route);
        for (const [name, { value }] of named(route).slice(isDone ? 1 : 0)) {
          const call = callOf(route, name);
          const { path } = call;
          const response = await fetch(`${service.url}${path}`, requestOf(call, authorization));
          const body: unknown = await response.json();

          expect({ path, body: masked(body) }).toEqual({ path, body: masked(value) });
          const documented = route.operation.responses[response.status];
          expect({ path, faults: documented && faultsInHeaders(response.headers.keys(), documented) }).toEqual({
            path,
            faults: [],
          });
        }
      }
    });
  });

  it('leave an entry in the audit trail for each operation that writes', async () => {
    const token = await service.tokenOf(ADA);
    const writing = routes.filter(({ method }) => method !== 'GET').map(({ operation }) => operation.operationId);
    for (const operation of new Set(writing)) {
      const event = await untilAudited(service.url, token, operation, 'user');
      expect(event).toMatchObject({
        operation,
        outcome: 'done',
        actor: { type: 'user', userID: 1, issuer: expect.any(String) as string, subject: ADA },
        requestID: expect.any(String) as string,
        sourceAddress: '127.0.0.1',
      });
    }
    expect(writing.length).toBeGreaterThan(10);
  });

  it.each([
    ['a role that was given', 'addGrant', 'operator'],
    ['a payment that has arrived', 'completeTransaction', 'network'],
    ['a payment that was rejected', 'failTransaction', 'network'],
  ])('leave an entry in the audit trail for %s without a request', async (_, operation, actorType) => {
    const event = await untilAudited(service.url, await service.tokenOf(ADA), operation, actorType);

    expect(event).toMatchObject({ outcome: 'done', resource: { id: expect.any(Number) as number } });
  });

  it('return 304 without a body for a matching ETag', async () => {
    const authorization = `Bearer ${await service.tokenOf(ADA)}`;
    const tagged = routes.filter(({ operation }) => operation.responses['304']);
    for (const route of tagged) {
      const { path } = callOf(route);
      const first = await fetch(`${service.url}${path}`, { headers: { authorization } });
      const etag = first.headers.get('etag') ?? '';
      const again = await fetch(`${service.url}${path}`, { headers: { authorization, 'if-none-match': etag } });

      expect({ path, status: again.status, body: await again.text() }).toEqual({ path, status: 304, body: '' });
      const documented = route.operation.responses['304'];
      expect({ path, faults: documented && faultsInHeaders(again.headers.keys(), documented) }).toEqual({
        path,
        faults: [],
      });
    }
    expect(tagged).not.toHaveLength(0);
  });

  it('are shown all, and belong to operations', () => {
    const shown = routes.flatMap((route) => named(route).map(([name]) => `${route.operation.operationId}/${name}`));
    const recorded = Object.entries(readExamples()).flatMap(([operation, examples]) =>
      examples.filter(({ response }) => response !== undefined).map(({ name }) => `${operation}/${name}`),
    );

    expect(recorded.filter((name) => !shown.includes(name))).toEqual([]);
  });
});
