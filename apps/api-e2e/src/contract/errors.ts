import { ask, type Answer } from '../answers.js';
import { ADA, EVE, type Service } from '../service.js';
import { idOf } from '../world.js';
import { mistakesIn } from './shapes.js';

/** What may differ between two answers that are the same: when they were given, and to which request. */
const CHANGING = ['date', 'x-request-id'];

/** An answer as a caller can compare it. */
function comparable({ status, headers, text }: Answer) {
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

  describe('and what it refuses', () => {
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
        'in a workspace of others',
        '/transfers/1',
        { as: ADA, workspace: 987_654 },
        403,
        'forbidden',
        'workspace_forbidden',
      ],
      ['for an id that is none', '/apps/x/users', { as: ADA }, 400, 'invalid_request', 'id_malformed'],
      [
        'for a country that is none',
        '/recipients/countries/ZZ/corridors',
        { as: ADA },
        404,
        'invalid_request',
        'country_unknown',
      ],
      ['for a path that is none', '/nothing-here', { as: ADA }, 404, 'invalid_request', 'route_not_found'],
      [
        'for a method that is none',
        '/apps',
        { as: ADA, method: 'DELETE' },
        405,
        'method_not_allowed',
        'method_not_allowed',
      ],
    ])(
      'When asked %s Then the body has the published form and names the request',
      async (_, path, question, status, errorCode, reason) => {
        const answer = await ask(service, path, question);

        expect(answer.status).toBe(status);
        expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
        expect(mistakesIn(answer.body, 'ErrorBody')).toEqual([]);
        expect(answer.body).toMatchObject({ errorCode, reason, requestId: answer.headers.get('x-request-id') });
      },
    );

    it('When a transfer is not there and when it is of another workspace Then nobody can tell which', async () => {
      const none = await ask(service, '/transfers/9007199254740991', { as: EVE, workspace: southwind() });
      for (const transferId of Object.values(service.world.transfers)) {
        const others = await ask(service, `/transfers/${transferId}`, { as: EVE, workspace: southwind() });

        expect(others.body).toMatchObject({ errorCode: 'invalid_request', reason: 'transfer_not_found' });
        expect(comparable(others)).toEqual(comparable(none));
      }
    });

    it('When ids of other kinds are sent as ids of transfers Then they are not there either', async () => {
      const { workspaces, accounts, recipients, users } = service.world;
      const transfers = new Set(Object.values(service.world.transfers));
      const others = [workspaces, accounts, recipients, users].flatMap((kind) => Object.values(kind));
      for (const id of others.filter((id) => !transfers.has(id))) {
        const answer = await ask(service, `/transfers/${id}`, { as: EVE, workspace: southwind() });

        const seen = (answer.body as { edges?: { account?: { name?: string } } }).edges?.account?.name;
        expect([undefined, 'Southwind Imports']).toContain(seen);
      }
    });

    it('When a workspace is forbidden and when it is not there Then nobody can tell which', async () => {
      const path = `/transfers/${idOf(service.world, 'transfers', 'internal')}`;

      const [others, none] = [
        await ask(service, path, { as: EVE, workspace: northwind() }),
        await ask(service, path, { as: EVE, workspace: Number.MAX_SAFE_INTEGER }),
      ];

      expect(others.status).toBe(403);
      expect(comparable(others)).toEqual(comparable(none));
    });
  });
}
