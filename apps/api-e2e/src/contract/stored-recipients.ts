import { BankingClient } from '@banking/client';
import type { RecipientId, WorkspaceId } from '@banking/domain';
import { sendRequest } from '../responses.js';
import { ADA, type Service } from '../service.js';
import { idOf } from '../world.js';
import { DATA, INDIA } from './recipients.js';

/** Reads, changes and deletion of stored recipients. */
export function keptRecipientsContract(provide: () => Service): void {
  const service = provide();
  const workspace = () => idOf(service.world, 'workspaces', 'Ada personal');
  const view = () =>
    new BankingClient({ baseUrl: service.url, token: () => service.tokenOf(ADA) }).workspace(
      workspace() as WorkspaceId,
    );
  const add = async (alias = 'Asha') =>
    (await view().recipients.addInternational({ ...INDIA, data: DATA, alias })).resource;

  describe('stored recipients', () => {
    it('changes alias and saved, nothing else, and the filter reflects it', async () => {
      const recipient = await add('Before');
      const recipientId = recipient.id;

      const renamed = await view().recipients.change(recipientId, { alias: 'After' });
      const quiet = await view().recipients.change(recipientId, { saved: false });

      expect(renamed).toEqual({ ...recipient, alias: 'After', updatedAt: renamed.updatedAt });
      expect(quiet).toEqual({ ...renamed, saved: false, updatedAt: quiet.updatedAt });
      expect((await view().recipients.listPage({ saved: false, limit: 1 })).items).toEqual([quiet]);
      const saved = (await view().recipients.listPage({ saved: true, limit: 500 })).items;
      expect(saved.map(({ id }) => id)).not.toContain(recipientId);
    });

    it.each([
      ['name', 'Mallory'],
      ['accountCode', 'NW0000000001'],
      ['data', DATA],
      ['edges', {}],
    ])('refuses to change its %s', async (field, value) => {
      const { id } = await add();
      const options = { as: ADA, workspace: workspace(), method: 'PATCH', body: { [field]: value } };

      expect(await sendRequest(service, `/recipients/${id}`, options)).toMatchObject({
        status: 400,
        body: { reason: 'field_unknown' },
      });
    });

    it('deletes a recipient once, and it is not found afterwards', async () => {
      const { id } = await add();
      const path = `/recipients/${id}`;
      const options = { as: ADA, workspace: workspace() };

      const deleted = await sendRequest(service, path, { ...options, method: 'DELETE' });

      expect([deleted.status, deleted.text]).toEqual([204, '']);
      const notFound = { status: 404, body: { reason: 'recipient_not_found' } };
      expect(await sendRequest(service, path, options)).toMatchObject(notFound);
      expect(await sendRequest(service, path, { ...options, method: 'DELETE' })).toMatchObject(notFound);
      expect(await sendRequest(service, path, { ...options, method: 'PATCH', body: { alias: 'Back' } })).toMatchObject(
        notFound,
      );
      expect((await view().recipients.listPage({ limit: 500 })).items.map((recipient) => recipient.id)).not.toContain(
        id,
      );
      const { id: other } = await add();
      await view().recipients.delete(other);
      await expect(view().recipients.delete(other)).rejects.toMatchObject({ reason: 'recipient_not_found' });
    });

    it('gives one response for an unknown resource and a resource of another workspace', async () => {
      const { id } = await add();
      const strip = (text: string) => text.replace(/"requestId":"[^"]*"/, '');
      const elsewhere = { as: ADA, workspace: idOf(service.world, 'workspaces', 'Northwind Trading') };

      for (const method of ['GET', 'DELETE']) {
        const theirs = await sendRequest(service, `/recipients/${id}`, { ...elsewhere, method });
        const unknown = await sendRequest(service, '/recipients/999999', { ...elsewhere, method });
        expect([theirs.status, strip(theirs.text)]).toEqual([404, strip(unknown.text)]);
      }
      expect((await view().recipients.get(id as RecipientId)).id).toBe(id);
    });

    it.each([
      ['saved=yes', 'parameter_invalid', 'saved must be true or false.'],
      ['alias=Asha', 'parameter_unknown', 'alias is unknown: remove it, or correct its name.'],
    ])('refuses a list with %s', async (query, reason, message) => {
      const options = { as: ADA, workspace: workspace() };

      expect(await sendRequest(service, `/recipients?${query}`, options)).toMatchObject({
        status: 400,
        body: { reason, message },
      });
    });

    it('returns each recipient once over all pages', async () => {
      const whole = (await view().recipients.listPage({ limit: 500 })).items.map(({ id }) => id);
      const walked: number[] = [];
      let cursor: string | undefined;
      do {
        const { items, next } = await view().recipients.listPage({ limit: 2, cursor });
        walked.push(...items.map(({ id }) => id));
        cursor = next;
      } while (cursor !== undefined);

      expect(walked).toEqual(whole);
    });
  });
}
