import type { WorkspaceView } from '@banking/client';
import {
  type Approval,
  type ApprovalId,
  minorUnits,
  parseTransferAmount,
  type RecipientId,
  toTransferAmount,
} from '@banking/domain';
import { addRecipient, follow, money, PARTS, printBalance, type Stage } from './play-story.js';

/** The payer, and a second person of the same workspace. */
export interface ApprovalsStage extends Stage {
  readonly approver: WorkspaceView;
}

const LARGE = minorUnits(100_000n);
const AMOUNT = minorUnits(250_000n);
const CURRENCY = 'EUR';

const DECISIONS = [
  { title: 'A payment that a second person approves', decision: 'approve', event: 'approval.approved' },
  { title: 'A payment that a second person rejects', decision: 'reject', event: 'approval.rejected' },
] as const;

/** Makes a rule for large orders, and two payments that it covers. */
export async function playApprovals(stage: ApprovalsStage): Promise<void> {
  const { workspace, print } = stage;
  const { version } = await workspace.approvalRules.get();
  const amountAbove = [{ currencyCode: CURRENCY, amount: LARGE.toString() }];
  const rule = { operations: 'orders', approvals: 1, roles: ['approver'], amountAbove } as const;
  await workspace.approvalRules.replace({ version, rules: [rule] });
  print(`  rule        an order above ${money(LARGE, CURRENCY)} needs an approver`);
  const recipientID = await addRecipient(stage, PARTS[0]!);
  for (const part of DECISIONS) await playDecision(stage, recipientID, part);
}

async function playDecision(
  stage: ApprovalsStage,
  recipientID: RecipientId,
  { title, decision, event }: (typeof DECISIONS)[number],
): Promise<void> {
  const { workspace, approver, accountId, print, events } = stage;
  print(`\n${title}`);
  await printBalance(stage);
  const { resource: order } = await workspace.orders.place(
    {
      ...{ accountId, recipientID, amount: toTransferAmount(AMOUNT), type: 'instant', purposeCode: 'IR001' },
      description: title,
    },
    { idempotencyKey: `story-${crypto.randomUUID()}` },
  );
  const id = order.approvalID as ApprovalId;
  print(`  order       ${order.id} awaits approval ${id}`);
  await events.printUntil('approval.required', { type: 'approval', id });
  const { version } = await approver.approvals.get(id);
  const refused = await workspace.approvals.decide(id, { decision: 'approve', version }).catch((error: Error) => error);
  print(`  Ada         ${refused instanceof Error ? `cannot approve: ${refused.message}` : 'has approved'}`);
  const approval = await approver.approvals.get(id);
  print(`  Dana        sees ${describeShown(approval)}`);
  await approver.approvals.decide(id, { decision, version: approval.version });
  await events.printUntil(event, { type: 'approval', id });
  await follow(stage, order);
  await printBalance(stage);
}

/** What the maker saw. */
function describeShown({ shown }: Approval): string {
  const { amount, currencyCode, targetAmount, targetCurrencyCode, recipientName } = shown as Readonly<
    Record<string, string>
  >;
  const [given, taken] = [
    [amount, currencyCode],
    [targetAmount, targetCurrencyCode],
  ].map(([text = '', code = '']) => money(parseTransferAmount(text), code));
  return `${given} for ${recipientName}, who gets ${taken}`;
}
