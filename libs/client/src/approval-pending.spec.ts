import { ApprovalPending } from '@banking/domain';
import { BankingClient, ServiceError } from './index.js';
import { dies, responds, type ScriptedService, scriptedService } from './testing/scripted-service.js';

let service: ScriptedService;
beforeEach(async () => {
  service = await scriptedService();
});
afterEach(() => service.close());

const workspace = (retries = 0) => new BankingClient({ baseUrl: service.url, token: 'token', retries }).workspace(7);
const APPROVAL = { id: 4, version: 1, status: 'required', operation: 'addInternalRecipient' };
const RULES = { version: 0, rules: [] };

describe('an operation that waits for approvals', () => {
  it.each<[string, () => Promise<unknown>]>([
    ['a creation', () => workspace().recipients.addInternal({ accountCode: 'A' })],
    ['a change', () => workspace().recipients.change(1, { alias: 'A' })],
    ['a replacement', () => workspace().approvalRules.replace(RULES)],
    ['a deletion', () => workspace().recipients.delete(1)],
  ])('throws the approval of the response to %s', async (_, call) => {
    service.script(responds(202, { approval: APPROVAL }, { 'Idempotent-Replayed': 'true' }));
    const error: unknown = await call().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ApprovalPending);
    expect(error).toMatchObject({ approval: APPROVAL, isReplay: true, status: 202, code: 'approval_pending' });
    expect(service.received).toHaveLength(1);
  });

  it('is known after a lost response', async () => {
    service.script(dies, responds(202, { approval: APPROVAL }));
    await expect(workspace(1).recipients.addInternal({ accountCode: 'A' })).rejects.toBeInstanceOf(ApprovalPending);
    const [first, second] = service.received.map(({ headers }) => headers['idempotency-key']);
    expect(second).toBe(first);
  });

  it('needs an approval in its response', async () => {
    service.script(responds(202, { approval: 'later' }));
    await expect(workspace().recipients.delete(1)).rejects.toMatchObject({
      cause: expect.any(ServiceError) as unknown,
    });
  });

  it('is an order that awaits them', async () => {
    const order = { id: 2, status: 'active', approvalID: 4, edges: { executions: [{ status: 'awaiting_approval' }] } };
    service.script(responds(202, order));
    const { resource } = await workspace().orders.place({
      ...{ accountId: 1, recipientID: 1, amount: '1', type: 'instant' },
    } as never);
    expect(resource).toMatchObject(order);
  });

  it('is no response of an operation that needs none', async () => {
    service.script(responds(202, { approval: APPROVAL }));
    await expect(workspace().accounts.change(1, { alias: 'A' })).rejects.not.toBeInstanceOf(ApprovalPending);
  });
});
