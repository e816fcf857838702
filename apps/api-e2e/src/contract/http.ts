import { statusAt } from '../documented/changed-calls.js';
import { offlineDocument } from '../documented/read-document.js';
import { routesOf } from '../documented/document.js';
import { type HttpResponse, openApiOf, sendRequest } from '../responses.js';
import { ADA, EVE, idOf, type Service } from '../service.js';
import { faultsIn } from './shapes.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** The operations that change something by their path alone. */
const BODILESS = routesOf(offlineDocument())
  .filter(({ method, operation }) => method !== 'GET' && operation.requestBody === undefined)
  .map(({ method, path, operation }) => [method, path, operation.operationId] as const);

export function httpContract(provide: () => Service): void {
  const service = provide();

  describe('HTTP', () => {
    it.each(['a', 'job-17.step_2', 'A'.repeat(128)])('returns the request id %s', async (id) => {
      const response = await sendRequest(service, '/apps', { headers: { 'x-request-id': id } });

      expect(response.headers.get('x-request-id')).toBe(id);
      expect(response.body).toMatchObject({ requestId: id });
    });

    it.each(['', 'a b', 'A'.repeat(129), '{"level":"fatal"}', 'a;b', '../../etc/passwd', '<script>', 'é', 'a,b'])(
      'replaces the invalid request id %j',
      async (id) => {
        const response = await sendRequest(service, '/apps', { headers: { 'x-request-id': id } });

        expect(response.headers.get('x-request-id')).toMatch(UUID);
        expect(response.text).not.toContain('script');
      },
    );

    it('generates a request id for each request without one', async () => {
      const [one, other] = [await sendRequest(service, '/health/live'), await sendRequest(service, '/health/live')];

      expect(one.headers.get('x-request-id')).toMatch(UUID);
      expect(other.headers.get('x-request-id')).not.toBe(one.headers.get('x-request-id'));
    });

    it.each(['/apps', '/products', '/recipients/countries/IN/corridors', '/health/live'])(
      'returns the headers of GET without a body for HEAD %s',
      async (path) => {
        const get = await sendRequest(service, path, { as: ADA });
        const head = await sendRequest(service, path, { as: ADA, method: 'HEAD' });

        expect([head.status, head.text]).toEqual([200, '']);
        for (const name of ['content-type', 'content-length'])
          expect(head.headers.get(name)).toBe(get.headers.get(name));
      },
    );

    it('refuses HEAD without a token like GET', async () => {
      const head = await sendRequest(service, '/apps', { method: 'HEAD' });

      expect([head.status, head.text]).toEqual([401, '']);
      expect(head.headers.get('www-authenticate')).toBe('Bearer');
    });

    it('ignores the case of the authentication scheme', async () => {
      const token = await service.tokenOf(ADA);

      for (const scheme of ['bearer', 'BEARER', 'bEaReR']) {
        const response = await sendRequest(service, '/apps', { headers: { authorization: `${scheme} ${token}` } });
        expect(response.status).toBe(200);
      }
    });

    it.each([
      ['a response', '/apps', { as: ADA }],
      ['a refusal', '/apps', {}],
      ['an unknown path', '/nothing-here', {}],
      ['an unsupported method', '/apps', { method: 'DELETE' }],
      ['a broken path', '/%', {}],
    ])('sends headers that stop a browser from interpreting %s', async (_, path, options) => {
      const { headers } = await sendRequest(service, path, options);

      expect(headers.get('content-security-policy')).toContain("default-src 'none'");
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.has('x-powered-by') || headers.has('server')).toBe(false);
      expect(headers.has('access-control-allow-origin')).toBe(false);
    });

    it.each(BODILESS)(
      'accepts an empty body of JSON or of a form for %s %s, and refuses others',
      async (method, path, operation) => {
        const send = async (type: string, body: string) => {
          const { status } = await sendRequest(service, path.replaceAll(/\{\w+\}/g, '999999999'), {
            ...{ method, as: ADA, workspace: idOf(service.world, 'workspaces', 'Northwind Trading') },
            ...{ body, headers: { 'content-type': type } },
          });
          return status;
        };
        const form = 'application/x-www-form-urlencoded';

        const absent = statusAt(service, operation, 404);
        expect([await send('application/json', ''), await send(form, '')]).toEqual([absent, absent]);
        expect([await send(form, 'a=1'), await send('application/json', ' '.repeat(70 * 1024))]).toEqual([415, 413]);
      },
    );

    it('ignores the coding of a body that is not there', async () => {
      const { status } = await sendRequest(service, '/apps', { as: ADA, headers: { 'content-encoding': 'gzip' } });

      expect(status).toBe(200);
    });

    it('refuses query parameters where none are defined, and names them', async () => {
      const path = `/apps/${idOf(service.world, 'apps', 'Northwind Treasury')}/users?limit=1&__proto__[x]=1`;
      const { status, body } = await sendRequest(service, path, { as: ADA });

      expect(status).toBe(400);
      expect(body).toMatchObject({
        reason: 'parameter_unknown',
        details: [{ path: 'limit' }, { path: '__proto__[x]' }],
      });
    });
  });
}

/** The headers that differ between two equal responses: time and request. */
const CHANGING = ['date', 'x-request-id'];

/** A response without the parts that differ between equal responses. */
function comparable({ status, headers, text }: HttpResponse) {
  return {
    status,
    text: text.replace(/"requestId":"[^"]*"/, '"requestId":""'),
    headers: [...headers].map(([name, value]) => [name, CHANGING.includes(name) ? '' : value]).sort(),
  };
}

export function errorsContract(provide: () => Service): void {
  const service = provide();
  const northwind = () => idOf(service.world, 'workspaces', 'Northwind Trading');
  const southwind = () => idOf(service.world, 'workspaces', 'Southwind Imports');

  describe('errors', () => {
    it.each([
      ['without a token', '/apps', {}, 401, 'invalid_request', 'not_authenticated'],
      [
        'for a transfer without a workspace',
        '/transfers/1',
        { as: ADA },
        400,
        'invalid_request',
        'workspace_id_required',
      ],
      [
        'in a workspace of other users',
        '/transfers/1',
        { as: ADA, workspace: 987_654 },
        403,
        'forbidden',
        'workspace_forbidden',
      ],
      ['for a malformed id', '/apps/x/users', { as: ADA }, 400, 'invalid_request', 'id_malformed'],
      [
        'for an unknown country',
        '/recipients/countries/ZZ/corridors',
        { as: ADA },
        404,
        'invalid_request',
        'country_unknown',
      ],
      ['for an unknown path', '/nothing-here', { as: ADA }, 404, 'invalid_request', 'route_not_found'],
      [
        'for an unsupported method',
        '/apps',
        { as: ADA, method: 'DELETE' },
        405,
        'method_not_allowed',
        'method_not_allowed',
      ],
    ])(
      'returns the published error form with the request id for %s',
      async (_, path, options, status, errorCode, reason) => {
        const response = await sendRequest(service, path, options);

        expect(response.status).toBe(status);
        expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
        expect(faultsIn(response.body, 'ErrorBody')).toEqual([]);
        expect(response.body).toMatchObject({ errorCode, reason, requestId: response.headers.get('x-request-id') });
      },
    );

    it.each([
      ['DELETE', '/recipients/validation-schema', 'GET, HEAD'],
      ['POST', '/recipients/validation-schema', 'GET, HEAD'],
      ['GET', '/recipients/international', 'POST'],
      ['HEAD', '/recipients/international', 'POST'],
      ['PUT', '/recipients/international', 'POST'],
      ['PATCH', '/recipients/internal', 'POST'],
    ])('refuses %s %s, whose path names no id, and lists %s', async (method, path, allowed) => {
      const { status, headers } = await sendRequest(service, path, { as: ADA, method });

      expect([status, headers.get('allow')]).toEqual([405, allowed]);
    });

    it('gives one response for an unknown transfer and a transfer of another workspace', async () => {
      const none = await sendRequest(service, '/transfers/9007199254740991', { as: EVE, workspace: southwind() });
      for (const transferId of Object.values(service.world.transfers)) {
        const others = await sendRequest(service, `/transfers/${transferId}`, { as: EVE, workspace: southwind() });

        expect(others.body).toMatchObject({ errorCode: 'invalid_request', reason: 'transfer_not_found' });
        expect(comparable(others)).toEqual(comparable(none));
      }
    });

    it('returns 404 for ids of other resources', async () => {
      const { workspaces, accounts, recipients, users } = service.world;
      const transfers = new Set(Object.values(service.world.transfers));
      const others = [workspaces, accounts, recipients, users].flatMap((kind) => Object.values(kind));
      for (const id of others.filter((id) => !transfers.has(id))) {
        const response = await sendRequest(service, `/transfers/${id}`, { as: EVE, workspace: southwind() });

        const seen = (response.body as { edges?: { account?: { name?: string } } }).edges?.account?.name;
        expect([undefined, 'Southwind Imports']).toContain(seen);
      }
    });

    it('gives one response for an unknown workspace and a forbidden one', async () => {
      const path = `/transfers/${idOf(service.world, 'transfers', 'internal')}`;

      const [others, none] = [
        await sendRequest(service, path, { as: EVE, workspace: northwind() }),
        await sendRequest(service, path, { as: EVE, workspace: Number.MAX_SAFE_INTEGER }),
      ];

      expect(others.status).toBe(403);
      expect(comparable(others)).toEqual(comparable(none));
    });
  });
}

export function healthContract(provide: () => Service): void {
  const service = provide();

  describe('health and OpenAPI document', () => {
    it.each(['/health/live', '/health/ready'])(
      'reports healthy at %s without a token, and forbids caching',
      async (path) => {
        const response = await sendRequest(service, path);

        expect(response.status).toBe(200);
        expect(faultsIn(response.body, 'Health')).toEqual([]);
        expect(response.body).toMatchObject({ status: 'ok' });
        expect(response.headers.get('cache-control')).toBe('no-store');
      },
    );

    it('marks the origin of every operation and describes every error', async () => {
      const { paths } = await openApiOf(service);

      const operations = Object.values(paths).flatMap((path) => Object.values(path)) as unknown as Record<
        string,
        unknown
      >[];
      expect(operations.map((operation) => operation['x-provenance'])).not.toContain(undefined);
      expect(operations.flatMap(({ responses }) => Object.keys(responses as object))).not.toContain('default');
    });

    it('documents the five published operations unchanged', async () => {
      const { paths } = await openApiOf(service);

      for (const path of [
        '/recipients/countries/{country}/corridors',
        '/transfers/{transferId}',
        '/apps/{appId}/users',
        '/products',
        '/apps',
      ]) {
        expect(paths[path]?.['get']).toMatchObject({ 'x-provenance': 'stated', responses: { 200: {}, 401: {} } });
      }
    });
  });
}
