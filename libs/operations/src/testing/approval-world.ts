import { randomBytes } from 'node:crypto';
import {
  type AccountId,
  type Approval,
  type ApprovalRule,
  fromBalanceAmount,
  type Order,
  type RecipientId,
  type PlaceOrderInput,
  type RoleName,
  type TransferAmount,
  type UserId,
  type WorkspaceId,
} from '@banking/domain';
import { SANDBOX_ROUTING, sandboxRails } from '@banking/payouts';
import { DEMO_RATES } from '@banking/reference';
import { openWebhooks } from '@banking/webhooks';
import { Worker } from '@banking/work-queue';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { addGrants, addUser } from '../provisioning/index.js';
import { workOf } from '../worker/start-banking-worker.js';
import { type Member, expectBooksInOrder, verifyPayments } from './order-world.js';
import { demoDatabase } from './test-databases.js';

const APP = 'Northwind Treasury';

const NETWORKS = { allowedNetworks: [], refusedNetworks: [], isLocal: true };

type Owner = Awaited<ReturnType<typeof demoDatabase>>['owner'];

const CHORES = ['events', 'expired-approvals', 'audit'];

/** A rule of one approver for each order. */
export const EVERY_ORDER: ApprovalRule = { operations: 'orders', approvals: 1, roles: ['approver'] };

/** Puts rules into force, whatever the present ones are. */
export async function setRules(owner: Owner, workspaceId: number, rules: readonly ApprovalRule[]): Promise<void> {
  await owner.query('begin');
  await owner.query(`set local session_replication_role = replica`);
  await owner.query(
    `insert into approval_rules (workspace_id, version, rules)
     select $1, coalesce(max(version), 0) + 1, $2::jsonb from approval_rules where workspace_id = $1`,
    [workspaceId, JSON.stringify(rules)],
  );
  await owner.query('commit');
}

/**
 * The demo data with people of each role, an account with a balance, a recipient, and a worker that carries out what is approved. Its
 * service knows no rules from before.
 */
export async function approvalWorld() {
  const world = await demoDatabase();
  const { demo, owner, provisioning } = world;
  const webhooks = (await openWebhooks({ keys: [randomBytes(32)], isSandbox: true, dataDir: '', ...NETWORKS }))!;
  const open = () =>
    new LedgerBankingService(
      world.database,
      world.books,
      { rates: DEMO_RATES, rails: SANDBOX_ROUTING },
      true,
      undefined,
      { ...webhooks, refusedUrl: () => undefined },
    );
  const service = open();
  const errors: unknown[] = [];
  const { chores = [], ...work } = workOf(world, {
    orders: service.orders,
    approvals: service,
    rails: sandboxRails,
    onError: (error) => errors.push(error),
  });
  // The others take most of the time of a step.
  const worker = new Worker({ ...work, chores: chores.filter(({ name }) => CHORES.includes(name)) });
  const workspaceId: WorkspaceId = demo.workspaces['Northwind Trading'] as WorkspaceId;
  const ada: Member = { workspaceId, actor: demo.users['ada@northwind.example'] as UserId };
  let people = 0;

  /** A user with these roles in the workspace. */
  const person = async (...roles: readonly RoleName[]): Promise<Member & { readonly email: string }> => {
    people += 1;
    const email = `person${people}@northwind.example`;
    const actor = (await addUser(provisioning, 'ops', { email, app: APP })) as UserId;
    if (roles.length > 0) await addGrants(provisioning, 'ops', { workspaceId, email, roles });
    return { workspaceId, actor, email };
  };
  const account = async (amount = '1000000'): Promise<AccountId> => {
    const { resource } = await service.openAccount(ada, { productID: 1 as never });
    if (amount !== '0') await service.fundAccount(ada, { accountId: resource.id, amount: amount as TransferAmount });
    return resource.id;
  };
  const accountId: AccountId = await account();
  const payeeId: AccountId = await account('0');
  const { code = '' } = await service.getAccount(ada, { accountId: payeeId });
  const recipientID: RecipientId = (await service.addInternalRecipient(ada, { accountCode: code })).resource.id;
  return {
    ...{ ...world, service, open, workspaceId, ada, person, account, accountId, payeeId, recipientID, errors },
    /** An instant order of 1.00. */
    order: (more: Partial<PlaceOrderInput> = {}): PlaceOrderInput => ({
      ...{ accountId, recipientID, amount: '100' as TransferAmount, type: 'instant' },
      ...more,
    }),
    setRules: (...rules: readonly ApprovalRule[]) => setRules(owner, workspaceId, rules),
    grant: (email: string, ...roles: readonly RoleName[]): Promise<unknown> =>
      addGrants(provisioning, 'ops', { workspaceId, email, roles }),
    findings: (): ReturnType<typeof verifyPayments> => verifyPayments(world.database, [workspaceId]),
    /** Does due work until none is left. */
    async work(): Promise<void> {
      while ((await worker.step()) > 0);
    },
    approve: async (by: Member, approvalId: number): Promise<Approval> => {
      const { version } = await service.getApproval(by, { approvalId: approvalId as never });
      return service.decideApproval(by, { approvalId: approvalId as never, decision: 'approve', version });
    },
    reread: (order: Order): Promise<Order> => service.getOrderById(ada, { orderId: order.id }),
    balanceOf: async (id: AccountId = accountId): Promise<bigint> =>
      fromBalanceAmount((await service.getAccount(ada, { accountId: id })).edges.balances[0]!.amount),
    async expectInOrder(): Promise<void> {
      const all = Object.values(demo.workspaces);
      await expectBooksInOrder(world.database, all);
      expect(errors).toEqual([]);
    },
  };
}
