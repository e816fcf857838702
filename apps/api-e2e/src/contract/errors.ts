import { sendRequest, type HttpResponse } from '../responses.js';
import { ADA, EVE, type Service } from '../service.js';
import { idOf } from '../world.js';
import { faultsIn } from './shapes.js';

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
