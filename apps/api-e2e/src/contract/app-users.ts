import type { User } from '@banking/domain';
import { sendRequest } from '../responses.js';
import { ADA, BOB, CY, EVE, GATEWAY, type Service } from '../service.js';
import { idOf } from '../world.js';

/** The users and roles that a caller sees in an app: an admin of a workspace sees all, others those of shared workspaces. */
const SEEN: readonly (readonly [viewer: string, app: string, Readonly<Record<string, readonly string[]>>])[] = [
  [
    ADA,
    'Northwind Treasury',
    {
      [ADA]: ['admin of Northwind Trading', 'admin of Ada personal'],
      [BOB]: ['member of Northwind Trading'],
      [CY]: [],
      [GATEWAY]: ['admin of Northwind Trading', 'admin of Ada personal'],
    },
  ],
  [
    BOB,
    'Northwind Treasury',
    {
      [ADA]: ['admin of Northwind Trading'],
      [BOB]: ['member of Northwind Trading'],
      [GATEWAY]: ['admin of Northwind Trading'],
    },
  ],
  [CY, 'Northwind Treasury', { [CY]: [] }],
  [EVE, 'Southwind', { [EVE]: ['admin of Southwind Imports'], [GATEWAY]: ['admin of Southwind Imports'] }],
  [GATEWAY, 'Southwind', { [EVE]: ['admin of Southwind Imports'], [GATEWAY]: ['admin of Southwind Imports'] }],
];

export function appUsersContract(provide: () => Service): void {
  const service = provide();
  const list = (viewer: string, app: number | string) => sendRequest(service, `/apps/${app}/users`, { as: viewer });

  describe('GET /apps/{appId}/users', () => {
    it.each(SEEN)('lists for %s exactly the visible users of %s', async (viewer, app, expected) => {
      const response = await list(viewer, idOf(service.world, 'apps', app));

      const seen = (response.body as User[]).map(({ email, edges }) => [
        email,
        edges.roles?.map(({ role, edges: { workspace } }) => `${role} of ${workspace.name}`),
      ]);
      expect(Object.fromEntries(seen)).toEqual(expected);
    });

    it('shows workspace ids that Workspace-ID accepts', async () => {
      const response = await list(BOB, idOf(service.world, 'apps', 'Northwind Treasury'));
      const bob = (response.body as User[]).find(({ email }) => email === BOB);
      const workspace = bob?.edges.roles?.[0]?.edges.workspace.id;

      const transfer = await sendRequest(service, `/transfers/${idOf(service.world, 'transfers', 'internal')}`, {
        as: BOB,
        workspace,
      });

      expect(transfer.status).toBe(200);
    });

    it('shows a pending user with its status and an empty list of roles', async () => {
      const response = await list(CY, idOf(service.world, 'apps', 'Northwind Treasury'));

      expect(response.body).toMatchObject([
        { email: CY, status: 'pending', userType: 'personal', edges: { roles: [] } },
      ]);
    });

    it('gives one response for an unknown app and an app of other users', async () => {
      const strip = (text: string) => text.replace(/"requestId":"[^"]*"/, '"requestId":""');

      const [others, none] = [await list(ADA, idOf(service.world, 'apps', 'Southwind')), await list(ADA, 987_654_321)];

      expect(others.body).toMatchObject({ errorCode: 'invalid_request', reason: 'app_not_found' });
      expect(strip(others.text)).toBe(strip(none.text));
    });
  });
}
