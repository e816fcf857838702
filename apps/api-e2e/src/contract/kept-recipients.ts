import { BankingClient } from '@banking/client';
import type { RecipientId, WorkspaceId } from '@banking/domain';
import { ask } from '../answers.js';
import { ADA, type Service } from '../service.js';
import { idOf } from '../world.js';
import { DATA, INDIA } from './recipients.js';

/** What becomes of a recipient once it is there. */
export function keptRecipientsContract(provide: () => Service): void {
  const service = provide();
  const workspace = () => idOf(service.world, 'workspaces', 'Ada personal');
  const view = () =>
    new BankingClient({ baseUrl: service.url, token: () => service.tokenOf(ADA) }).workspace(
      workspace() as WorkspaceId,
    );
  const add = async (alias = 'Asha') =>
    (await view().recipients.addInternational({ ...INDIA, data: DATA, alias })).resource;

  describe('and a recipient that is kept', () => {
    it('When it is renamed and no longer offered Then that is all that changes, and the filter follows', async () => {
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
    ])('When its %s is to change Then it is refused', async (field, value) => {
      const { id } = await add();
      const question = { as: ADA, workspace: workspace(), method: 'PATCH', body: { [field]: value } };

      expect(await ask(service, `/recipients/${id}`, question)).toMatchObject({ status: 400, body: { reason: 'field_unknown' } }); // prettier-ignore
    });

    it('When it is forgotten Then it is nowhere, and cannot be forgotten again', async () => {
      const { id } = await add();
      const path = `/recipients/${id}`;
      const question = { as: ADA, workspace: workspace() };

      const forgotten = await ask(service, path, { ...question, method: 'DELETE' });

      expect([forgotten.status, forgotten.text]).toEqual([204, '']);
      const gone = { status: 404, body: { reason: 'recipient_not_found' } };
      expect(await ask(service, path, question)).toMatchObject(gone);
      expect(await ask(service, path, { ...question, method: 'DELETE' })).toMatchObject(gone);
      expect(await ask(service, path, { ...question, method: 'PATCH', body: { alias: 'Back' } })).toMatchObject(gone);
      expect((await view().recipients.listPage({ limit: 500 })).items.map((recipient) => recipient.id)).not.toContain(
        id,
      );
      const { id: other } = await add();
      await view().recipients.forget(other);
      await expect(view().recipients.forget(other)).rejects.toMatchObject({ reason: 'recipient_not_found' });
    });

    it('When another workspace asks for it, or nobody has it Then both are the same answer', async () => {
      const { id } = await add();
      const strip = (text: string) => text.replace(/"requestId":"[^"]*"/, '');
      const elsewhere = { as: ADA, workspace: idOf(service.world, 'workspaces', 'Northwind Trading') };

      for (const method of ['GET', 'DELETE']) {
        const theirs = await ask(service, `/recipients/${id}`, { ...elsewhere, method });
        const nobodys = await ask(service, '/recipients/999999', { ...elsewhere, method });
        expect([theirs.status, strip(theirs.text)]).toEqual([404, strip(nobodys.text)]);
      }
      expect((await view().recipients.get(id as RecipientId)).id).toBe(id);
    });

    it.each([
      ['saved=yes', 'parameter_invalid', 'saved must be true or false.'],
      ['alias=Asha', 'parameter_unknown', 'alias is not known here: leave it out, or correct its name.'],
    ])('When they are listed with %s Then it is refused', async (query, reason, message) => {
      const question = { as: ADA, workspace: workspace() };

      expect(await ask(service, `/recipients?${query}`, question)).toMatchObject({ status: 400, body: { reason, message } }); // prettier-ignore
    });

    it('When they are walked in pages Then nothing is skipped and nothing comes twice', async () => {
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
