import { BankingClient, type WorkspaceView } from '@banking/client';
import type {
  Account,
  Order,
  PlaceOrderInput,
  ProductId,
  RecipientId,
  RoleName,
  TransferAmount,
} from '@banking/domain';
import { sql } from '@banking/postgres/testing';
import { DATA, INDIA } from '../contract/recipients.js';
import type { Kind } from './classification.js';
import type { CalledService, Rows } from './services.js';

/** A caller and the workspace in which the caller acts. */
export interface Caller {
  readonly email: string;
  readonly appId: number;
  readonly workspaceId: number;
  /** Begins every text that the caller chooses. */
  readonly mark: string;
}

/** The caller whose data the other callers may not see, and those other callers. */
export interface Callers {
  readonly owner: Caller;
  /** An administrator of another app. */
  readonly stranger: Caller;
  /** An administrator of another workspace of the same app. */
  readonly neighbour: Caller;
  /** A member of that workspace. */
  readonly colleague: Caller;
  /** An administrator of that workspace and of the owner's, who acts in the former. */
  readonly sharer: Caller;
}

const ADD_APP = `insert into app (name) values ($1) returning id`;
const ADD_USER = `with added as (insert into app_user (email) values ($2) returning id)
  insert into app_membership (app_id, user_id) select $1, id from added returning user_id as id`;
/** The roles of an administrator who also pays. */
const administering = (workspaceId: number) =>
  [
    [workspaceId, 'admin'],
    [workspaceId, 'member'],
  ] as const;

const ADD_ROLE = `insert into workspace_role (workspace_id, user_id, role) values ($1, $2, $3) returning id`;

/**
 * Adds the apps, workspaces and users.
 *
 * @param worldName distinguishes them from those of another world
 * @returns the callers, and the ids of users whom several of them may see
 */
export async function provision(
  rows: Rows,
  worldName: string,
): Promise<{ callers: Callers; sharedIds: readonly number[] }> {
  const added = async (text: string, scope: readonly number[], ...values: unknown[]) => {
    const [row] = await rows.sendAtHome(scope, sql<{ id: bigint }>(text, ...values));
    return Number(row?.id);
  };
  const workspaceOf = async (appName: string, marks: readonly string[]) => {
    const appId = await added(ADD_APP, [], `${appName} of ${worldName}`);
    const workspaces = [];
    for (const mark of marks) workspaces.push(await rows.addWorkspace(appId, `${mark} workspace`));
    return { appId, workspaces };
  };
  const userOf = async (appId: number, email: string, roles: readonly (readonly [number, RoleName])[]) => {
    const id = await added(ADD_USER, [], appId, email);
    for (const [workspaceId, role] of roles) await added(ADD_ROLE, [workspaceId], workspaceId, id, role);
    return id;
  };

  const harbour = await workspaceOf('Harbour', ['Qz7Owner', 'Neighbour']);
  const quay = await workspaceOf('Quay', ['Stranger']);
  const [owned, near] = harbour.workspaces as [number, number];
  const far = quay.workspaces[0] as number;
  const caller = (name: string, mark: string, appId: number, workspaceId: number): Caller => ({
    email: `${name}@${worldName}.example`,
    appId,
    workspaceId,
    mark,
  });
  const callers: Callers = {
    owner: caller('qz7owner', 'Qz7Owner', harbour.appId, owned),
    stranger: caller('stranger', 'Stranger', quay.appId, far),
    neighbour: caller('neighbour', 'Neighbour', harbour.appId, near),
    colleague: caller('colleague', 'Colleague', harbour.appId, near),
    sharer: caller('sharer', 'Sharer', harbour.appId, near),
  };
  await userOf(harbour.appId, callers.owner.email, administering(owned));
  await userOf(quay.appId, callers.stranger.email, administering(far));
  await userOf(harbour.appId, callers.neighbour.email, administering(near));
  await userOf(harbour.appId, callers.colleague.email, [[near, 'member']]);
  // Approvals need two other persons. They sign in nowhere.
  for (const [name, appId, workspaceId] of [
    ['own', harbour.appId, owned],
    ['near', harbour.appId, near],
    ['far', quay.appId, far],
  ] as const) {
    for (const nth of [1, 2]) await userOf(appId, `${name}${nth}@${worldName}.example`, [[workspaceId, 'approver']]);
  }
  const sharer = await userOf(harbour.appId, callers.sharer.email, [...administering(near), ...administering(owned)]);
  await rows.untilCopied();
  return { callers, sharedIds: [sharer] };
}

/** An identifier of each kind. Cursors and keys differ by operation. */
type Identifiers = Readonly<Record<Exclude<Kind, 'cursor' | 'key'>, string | number>>;

const IN_USD = 1 as ProductId;
const AMOUNT = '5000' as TransferAmount;

/** Resources of a workspace, made over HTTP, one of each kind. */
export class Holdings {
  private constructor(
    private readonly view: WorkspaceView,
    private readonly caller: Caller,
    private readonly account: Account,
    readonly ids: Identifiers,
  ) {}

  static async make(service: CalledService, caller: Caller): Promise<Holdings> {
    const token = await service.tokenOf(caller.email);
    const view = new BankingClient({ baseUrl: service.url, token }).workspace(caller.workspaceId);
    const { mark } = caller;
    const { resource: account } = await view.accounts.open({ productID: IN_USD, alias: `${mark} main` });
    const { resource: second } = await view.accounts.open({ productID: IN_USD, alias: `${mark} second` });
    await view.sandbox.fund({ accountId: account.id, amount: '100000000' as TransferAmount });
    const near = await view.recipients.addInternal({ accountCode: second.code ?? '', name: `${mark} near` });
    const recipient = near.resource.id;
    const place = (input: Partial<PlaceOrderInput>) => placeOrder(view, account, recipient, { ...input });
    const storedReference = `${mark} stored reference`;
    const paid = await place({ type: 'instant', description: `${mark} paid`, externalReference: storedReference });
    const { resource: asha } = await view.recipients.addInternational({
      ...INDIA,
      data: { ...DATA, beneficiaryName: `${mark} beneficiary` },
      alias: `${mark} abroad`,
    });
    const abroad = { recipientID: asha.id, amount: '250000' as TransferAmount, purposeCode: 'IR002' };
    const payout = await place({ ...abroad, type: 'instant', description: `${mark} payout` });
    const [transfer] = (await view.transfers.listPage({ recipientId: recipient })).items;
    const approval = await waitingApproval(view, account, recipient);
    await waitingApproval(view, account, recipient);
    const webhookEndpoint = await addWebhookEndpoint(view, mark);
    await addWebhookEndpoint(view, mark);
    const { id: webhookDelivery } = await view.webhookEndpoints.test(webhookEndpoint);
    await view.webhookEndpoints.test(webhookEndpoint);
    const programs = await addPrograms(view, mark);
    const holdings = new Holdings(view, caller, account, {
      workspace: caller.workspaceId,
      app: caller.appId,
      account: account.id,
      recipient,
      accountCode: second.code ?? '',
      transfer: transfer!.id,
      transaction: transactionOf(payout),
      reference: `${mark} reference`,
      storedReference,
      order: paid.id,
      user: paid.placedBy ?? 0,
      quote: 0,
      deposit: 0,
      event: 0,
      approval,
      webhookEndpoint,
      webhookDelivery,
      ...programs,
      member: await inviteMember(view, mark),
    });
    return holdings.with('order').then((made) => made.with('quote'));
  }

  /** The same, with a new resource of the kind: for an operation that uses it up. */
  async with(kind: Kind): Promise<Holdings> {
    const id = await this.makeNew(kind);
    return new Holdings(this.view, this.caller, this.account, { ...this.ids, [kind]: id });
  }

  /** The same, with the first event of the workspace. It exists after the changes were recorded. */
  async withEvent(): Promise<Holdings> {
    const [event] = (await this.view.events.listPage({ limit: 1 })).items;
    if (!event) throw new Error('the workspace has no event');
    return new Holdings(this.view, this.caller, this.account, { ...this.ids, event: event.id });
  }

  /** The same, with a deposit that a bank has stated. */
  withDeposit(deposit: number): Holdings {
    return new Holdings(this.view, this.caller, this.account, { ...this.ids, deposit });
  }

  private async makeNew(kind: Kind): Promise<number> {
    const { view, account, caller } = this;
    const recipientID = this.ids.recipient as RecipientId;
    if (kind === 'recipient') {
      const { accountCode } = this.ids;
      return (await view.recipients.addInternal({ accountCode: String(accountCode), name: caller.mark })).resource.id;
    }
    if (kind === 'quote') {
      return (await view.quotes.create({ accountID: account.id, recipientID, amount: AMOUNT })).resource.id;
    }
    if (kind === 'approval') return waitingApproval(view, account, recipientID);
    if (kind === 'member') return inviteMember(view, caller.mark);
    if (kind === 'webhookEndpoint') return addWebhookEndpoint(view, caller.mark);
    if (kind === 'serviceAccount') return addServiceAccount(view, caller.mark);
    if (kind === 'serviceAccountKey') return addKeyAgain(view, Number(this.ids.serviceAccount));
    if (kind !== 'order') throw new Error(`no operation uses up a resource of the kind ${kind}`);
    const monthly = {
      type: 'recurring',
      repeatUnit: 'monthly',
      repeatValue: 1,
      startAt: '2099-01-31T09:00:00Z',
    } as const;
    const input = { ...monthly, description: `${caller.mark} rent`, metadata: { note: `${caller.mark} note` } };
    return (await placeOrder(view, account, recipientID, input)).id;
  }

  /** Pays an account of another workspace, as its owner asks others to do. */
  async pay(accountCode: string): Promise<void> {
    const { resource } = await this.view.recipients.addInternal({ accountCode, name: 'A supplier' });
    await placeOrder(this.view, this.account, resource.id, { type: 'instant', description: 'Invoice' });
  }
}

async function placeOrder(
  view: WorkspaceView,
  { id: accountId }: Account,
  recipientID: RecipientId,
  input: Partial<PlaceOrderInput>,
): Promise<Order> {
  const order = { accountId, amount: AMOUNT, recipientID, ...input } as PlaceOrderInput;
  return (await view.orders.place(order)).resource;
}

/** An order that waits for an approval. Of two callers of one workspace, the first sets the rule. */
async function waitingApproval(view: WorkspaceView, account: Account, recipientID: RecipientId): Promise<number> {
  const { version } = await view.approvalRules.get();
  if (version === 0) {
    const amountAbove = [{ currencyCode: 'USD', amount: '800000000000' }];
    const rule = { operations: 'orders', approvals: 1, roles: ['approver'], amountAbove } as const;
    await view.approvalRules.replace({ version, rules: [rule] });
  }
  const large = { type: 'instant', amount: '900000000000' as TransferAmount } as const;
  return (await placeOrder(view, account, recipientID, large)).approvalID!;
}

async function addWebhookEndpoint(view: WorkspaceView, mark: string): Promise<number> {
  const input = { url: 'https://hooks.example', description: `${mark} endpoint` };
  return (await view.webhookEndpoints.create(input)).resource.id;
}

/** A service account with a key, and another one of each. */
async function addPrograms(view: WorkspaceView, mark: string) {
  const serviceAccount = await addServiceAccount(view, mark);
  await addServiceAccount(view, mark);
  const serviceAccountKey = await addKey(view, serviceAccount);
  await addKey(view, serviceAccount);
  return { serviceAccount, serviceAccountKey };
}

async function addServiceAccount(view: WorkspaceView, mark: string): Promise<number> {
  return (await view.serviceAccounts.create({ name: `${mark} program`, roles: ['member'] })).resource.id;
}

async function addKey(view: WorkspaceView, serviceAccountId: number): Promise<number> {
  return (await view.serviceAccounts.keys.create(serviceAccountId)).resource.id;
}

let invited = 0;

async function inviteMember(view: WorkspaceView, mark: string): Promise<number> {
  const email = `${mark.toLowerCase()}${(invited += 1)}@invited.example`;
  return (await view.members.invite({ email, roles: ['viewer'] })).resource.id;
}

function transactionOf({ edges }: Order): number {
  const id = edges.executions?.[0]?.edges.transaction?.id;
  if (id === undefined) throw new Error('the order has no transaction');
  return id;
}

/** Revokes the keys of rotations before, of which an account has ten at most. The first two stay. */
async function addKeyAgain(view: WorkspaceView, serviceAccountId: number): Promise<number> {
  const { items } = await view.serviceAccounts.keys.listPage(serviceAccountId);
  for (const { id } of items.slice(0, -2)) await view.serviceAccounts.keys.revoke(serviceAccountId, id);
  return addKey(view, serviceAccountId);
}
