import type { InvitedMember, Member } from '@banking/domain';
import { sendRequest } from '../responses.js';
import { ADA, BOB, DANA, EVE, idOf, type Service } from '../service.js';
import { Payer } from './paying.js';
import { faultsIn } from './shapes.js';

/** The members of a workspace as its administrators manage them. */
export function membersContract(provide: () => Service): void {
  const service = provide();
  const ada = new Payer(service);
  const made: Member[] = [];
  let addresses = 0;
  const newAddress = () => `invited${Date.now()}x${(addresses += 1)}@contract.example`;
  const send = (path: string, options: Parameters<typeof sendRequest>[2] = {}, email = ADA) =>
    sendRequest(service, `/members${path}`, {
      as: email,
      workspace: idOf(service.world, 'workspaces', email === EVE ? 'Southwind Imports' : 'Northwind Trading'),
      ...options,
    });

  describe('members', () => {
    afterEach(async () => {
      for (const { id } of made.splice(0)) await send(`/${id}`, { method: 'DELETE' });
    });

    it('are invited, and the code is shown once', async () => {
      const key = { 'idempotency-key': newAddress() };
      const body = { email: newAddress().toUpperCase(), roles: ['viewer', 'approver'] };
      const first = await send('', { body, headers: key });
      const { code, ...member } = first.body as InvitedMember;
      made.push(member);
      const again = await send('', { body, headers: key });
      const read = await send(`/${member.id}`);
      const list = await send('?limit=500');

      expect([first.status, first.headers.get('location')]).toEqual([
        201,
        expect.stringMatching(new RegExp(`/members/${member.id}$`)),
      ]);
      expect(code).toMatch(/^inv_[\w-]{43}$/);
      expect(faultsIn(member, 'Member')).toEqual([]);
      expect(member).toMatchObject({ email: body.email.toLowerCase(), roles: body.roles, status: 'invited' });
      expect([again.status, again.body, again.headers.get('idempotent-replayed')]).toEqual([201, member, 'true']);
      expect(read.body).toEqual(member);
      expect(list.body).toContainEqual(member);
      expect(list.text).not.toContain('inv_');
    });

    it('are changed and removed, and a removed one is found by its id', async () => {
      const { members } = ada.view;
      const { resource } = await members.invite({ email: newAddress(), roles: ['viewer'] });
      made.push(resource);

      expect(await members.change(resource.id, { roles: ['member', 'viewer'] })).toMatchObject({
        roles: ['viewer', 'member'],
        status: 'invited',
      });
      const removed = await members.remove(resource.id);
      expect(faultsIn(removed, 'RemovedMember')).toEqual([]);
      expect(removed).toMatchObject({
        status: 'removed',
        roles: [],
        pausedOrderIDs: [],
        disabledWebhookEndpointIDs: [],
        revokedKeyIDs: [],
      });
      expect(await members.get(resource.id)).toMatchObject({ status: 'removed', roles: [] });
      expect(await send(`/${resource.id}`, { method: 'PATCH', body: { roles: ['viewer'] } })).toMatchObject({
        status: 409,
        body: { reason: 'member_removed' },
      });
    });

    it('are refused again, without roles, or at an address that is none', async () => {
      const refused = async (body: object) => (await send('', { body })).body as { reason: string };

      expect(await refused({ email: BOB, roles: ['viewer'] })).toMatchObject({ reason: 'member_exists' });
      for (const body of [
        { email: newAddress(), roles: [] },
        { email: newAddress(), roles: ['viewer', 'viewer'] },
        { email: newAddress(), roles: ['owner'] },
        { email: 'half', roles: ['viewer'] },
      ]) {
        expect(await refused(body)).toMatchObject({ reason: 'body_malformed' });
      }
    });

    it('are managed by administrators only, and of their own workspace', async () => {
      const { resource } = await ada.view.members.invite({ email: newAddress(), roles: ['viewer'] });
      made.push(resource);

      for (const email of [BOB, DANA]) {
        expect(await send('', {}, email)).toMatchObject({ status: 403, body: { reason: 'role_insufficient' } });
      }
      expect(await send(`/${resource.id}`, {}, EVE)).toMatchObject({
        status: 404,
        body: { reason: 'member_not_found' },
      });
    });
  });

  describe('the roles of members', () => {
    it.each([
      [BOB, 'a member', 200, 403],
      [DANA, 'an approver', 403, 403],
    ])('let %s, %s, do what the table of operations says', async (email, _, cancels, opens) => {
      const workspace = idOf(service.world, 'workspaces', 'Northwind Trading');
      const statusOf = async (path: string, body?: object) =>
        (await sendRequest(service, path, { as: email, workspace, ...(body && { body }) })).status;

      expect(await statusOf('/orders')).toBe(200);
      expect((await statusOf('/quotes', {})) === 403).toBe(cancels === 403);
      expect(await statusOf('/accounts', { productID: 1 })).toBe(opens);
    });
  });
}
