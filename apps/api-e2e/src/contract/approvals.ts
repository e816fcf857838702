import { BankingClient } from '@banking/client';
import { ApprovalPending, type ApprovalRule } from '@banking/domain';
import { until } from '@banking/postgres/testing';
import { sendRequest } from '../responses.js';
import { ADA, BOB, idOf, type Service } from '../service.js';

/** Approves in Northwind Trading, and neither pays nor administers. */
const DANA = 'dana@northwind.example';

/** Above what any other test pays, so that they need no approval. */
const ABOVE = '800000000000';

const ORDERS: ApprovalRule = {
  ...{ operations: 'orders', approvals: 1, roles: ['approver'] },
  amountAbove: [
    { currencyCode: 'USD', amount: ABOVE },
    { currencyCode: 'EUR', amount: ABOVE },
  ],
};
const RULES: ApprovalRule = { operations: 'rules', approvals: 1, roles: ['approver', 'admin'] };

export function approvalsContract(provide: () => Service): void {
  describe('approvals', () => {
    let service: Service;
    const workspaceId = () => idOf(service.world, 'workspaces', 'Northwind Trading');
    const viewOf = async (email: string, baseUrl = service.url) =>
      new BankingClient({ baseUrl, token: await service.tokenOf(email) }).workspace(workspaceId());
    /** Decides. A person is not known behind a gateway. */
    const viewOfDana = () => viewOf(DANA, service.behind);
    beforeAll(() => {
      service = provide();
    });

    /** Replaces the rules, with the approval of Dana if the present ones require it. */
    async function replace(...rules: readonly ApprovalRule[]): Promise<void> {
      const [ada, dana] = await Promise.all([viewOf(ADA), viewOfDana()]);
      const { version } = await ada.approvalRules.get();
      try {
        await ada.approvalRules.replace({ version, rules });
      } catch (error) {
        if (!(error instanceof ApprovalPending)) throw error;
        const { id, version: seen } = error.approval;
        await dana.approvals.decide(id, { decision: 'approve', version: seen });
        await until(async () => (await ada.approvals.get(id)).outcome);
      }
    }
    afterAll(() => replace());

    it('lets an order wait with 202, and carries it out with an approval', async () => {
      await replace(ORDERS);
      const [ada, dana] = await Promise.all([viewOf(ADA), viewOfDana()]);
      const { resource: from } = await ada.accounts.open({ productID: 1 as never });
      const { resource: to } = await ada.accounts.open({ productID: 1 as never });
      const { resource: recipient } = await ada.recipients.addInternal({ accountCode: to.code ?? '' });
      const body = { amount: '900000000000', recipientID: recipient.id, type: 'instant' };
      const response = await sendRequest(service, `/accounts/${from.id}/orders`, {
        ...{ as: ADA, workspace: workspaceId(), body },
      });

      expect(response).toMatchObject({
        status: 202,
        body: {
          status: 'active',
          approvalID: expect.any(Number),
          edges: { executions: [{ status: 'awaiting_approval' }] },
        },
      });
      const { approvalID } = response.body as { readonly approvalID: number };
      const approval = await dana.approvals.get(approvalID);
      expect(approval).toMatchObject({ status: 'required', operation: 'placeOrder', input: { amount: body.amount } });
      await expect(ada.approvals.decide(approvalID, { decision: 'approve', version: 1 })).rejects.toMatchObject({
        reason: service.behind === undefined ? 'approver_is_maker' : 'not_through_gateway',
      });
      expect(await dana.approvals.decide(approvalID, { decision: 'approve', version: 1 })).toMatchObject({
        status: 'approved',
      });
      // The account has no money.
      const outcome = await until(async () => (await dana.approvals.get(approvalID)).outcome);
      expect(outcome).toMatchObject({ status: 'refused', reason: 'insufficient_funds' });
    });

    it('answers another operation that waits with 202 and its approval, which the client throws', async () => {
      await replace(RULES);
      const ada = await viewOf(ADA);
      const { version } = await ada.approvalRules.get();
      const response = await sendRequest(service, '/approval-rules', {
        ...{ as: ADA, workspace: workspaceId(), method: 'PUT', body: { version, rules: [] } },
      });
      expect(response).toMatchObject({ status: 202, body: { approval: { operation: 'replaceApprovalRules' } } });
      const pending = await ada.approvalRules.replace({ version, rules: [] }).catch((error: unknown) => error);
      expect(pending).toBeInstanceOf(ApprovalPending);
      const { approval } = pending as ApprovalPending;
      expect(approval.id).toBe((response.body as { approval: { id: number } }).approval.id);
      expect(await (await viewOf(ADA, service.behind)).approvals.withdraw(approval.id)).toMatchObject({
        status: 'withdrawn',
      });
      expect((await ada.approvals.listPage({ status: 'withdrawn', limit: 1 })).items).toMatchObject([
        { id: approval.id },
      ]);
    });

    it('shows an invitation that waits to those who read members or may approve it, and to no one else', async () => {
      await replace({ operations: 'members', approvals: 1, roles: ['approver'] });
      const [ada, bob, dana] = await Promise.all([viewOf(ADA), viewOf(BOB), viewOf(DANA)]);
      const pending = await ada.members
        .invite({ email: 'waiting@northwind.example', roles: ['viewer'] }, { idempotencyKey: 'waiting' })
        .catch((error: unknown) => error);
      expect(pending).toBeInstanceOf(ApprovalPending);
      const { id } = (pending as ApprovalPending).approval;
      const newest = async (view: typeof ada) => (await view.approvals.listPage({ status: 'required' })).items[0]?.id;
      for (const view of [ada, dana]) {
        expect([(await view.approvals.get(id)).id, await newest(view)]).toEqual([id, id]);
      }
      await expect(bob.approvals.get(id)).rejects.toMatchObject({ status: 404, reason: 'approval_not_found' });
      expect(await newest(bob)).not.toBe(id);
      await (await viewOf(ADA, service.behind)).approvals.withdraw(id);
    });

    it('refuses rules of unknown fields, and of an account of another workspace', async () => {
      const ada = await viewOf(ADA);
      const { version } = await ada.approvalRules.get();
      const rule = { operations: 'orders', approvals: 1, roles: ['approver'] };
      const put = (rules: unknown) =>
        sendRequest(service, '/approval-rules', {
          ...{ as: ADA, workspace: workspaceId(), method: 'PUT', body: { version, rules } },
        });
      expect(await put([{ ...rule, colour: 'blue' }])).toMatchObject({
        status: 400,
        body: { reason: 'field_unknown' },
      });
      expect(await put([{ ...rule, roles: ['member'] }])).toMatchObject({ status: 400 });
    });
  });
}
