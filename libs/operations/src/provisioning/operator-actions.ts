import {
  type AccountId,
  type Event,
  type EventType,
  parseAmount,
  toTransferAmount,
  type Transfer,
  type TransferAmount,
  type UserId,
  type WebhookDelivery,
  type WebhookDeliveryId,
  type WebhookDeliveryStatus,
  type WebhookEndpointId,
  type WorkspaceId,
  Refusal,
  RETRY_AFTER_S,
} from '@banking/domain';
import { type Books, postDeposits } from '@banking/ledger';
import { bind, type Database, type DbTransaction, scopesOf, sqlStatement } from '@banking/postgres';
import { EventWaits } from '../events/event-waits.js';
import { composeEvent, positionNow, readEvents } from '../events/events.js';
import { resume } from '../orders/change-orders.js';
import { openReading } from '../resources/reading.js';
import { RETENTION } from '../idempotency/idempotency-key.js';
import { fundAccount, FUNDING } from '../sandbox/sandbox.js';
import { listWebhookDeliveries, retryWebhookDelivery } from '../webhooks/webhook-deliveries.js';
import { emailOf, ProvisioningError, workspacesHere } from './workspaces.js';

export interface EventTail {
  readonly workspaceId: WorkspaceId;
  /** The id of an event. The iteration begins behind it. Without it, it begins with the next event. */
  readonly after?: number | undefined;
  readonly types?: readonly EventType[] | undefined;
  readonly signal: AbortSignal;
}

const LIMIT = 100;
const WAIT_MS = 20_000;

/**
 * Iterates over the events of a workspace, oldest first, and waits for new ones until the signal is aborted.
 *
 * @throws ProvisioningError if the database has no such workspace
 */
export async function* tailEvents(
  database: Database,
  { workspaceId, after, types, signal }: EventTail,
): AsyncGenerator<Event, void, undefined> {
  const workspaces = await workspacesHere(database);
  if (!workspaces.some(({ id }) => id === workspaceId)) {
    throw new ProvisioningError(`There is no workspace ${workspaceId}. See banking workspace list.`);
  }
  const waits = new EventWaits(database);
  let position = after === undefined ? await positionNow(database, workspaceId) : BigInt(after);
  while (!signal.aborted) {
    const page = await readEvents(database, workspaceId, { after: position, limit: LIMIT, filters: { type: types } });
    yield* page.rows.map(composeEvent);
    position = page.position;
    if (!page.isCut) await waits.until(workspaceId, position, WAIT_MS, signal);
  }
}

/** The list of workspaces makes the index usable: the key begins with the workspace. */
const FIND_WORKSPACE = sqlStatement<{ workspace_id: bigint; currency: string }>(
  'find_workspace_of_account',
  `select a.workspace_id, c.code as currency from account a join currency c on c.id = a.currency_id
   where a.workspace_id = any($1::bigint[]) and a.id = $2 and a.kind = 'customer'`,
);

interface FundedAccount {
  readonly workspaceId: WorkspaceId;
  readonly workspace: string;
  readonly currency: string;
}

/** Finds an account of a customer in the workspaces that the database serves. @returns undefined if none has it */
export async function findAccount(database: Database, accountId: AccountId): Promise<FundedAccount | undefined> {
  const workspaces = await workspacesHere(database);
  for (const ids of scopesOf(workspaces.map(({ id }) => id))) {
    const account = await database.read({ workspaces: ids }, bind(FIND_WORKSPACE, ids, accountId));
    if (account === undefined) continue;
    const workspaceId = Number(account.workspace_id) as WorkspaceId;
    const workspace = workspaces.find(({ id }) => id === workspaceId)?.name ?? '';
    return { workspaceId, workspace, currency: account.currency };
  }
  return undefined;
}

/** An account, and an amount as people write it in the currency of the account: `1250.00`. */
interface FundingInput {
  readonly accountId: AccountId;
  readonly amount: string;
}

/**
 * Finds the workspace of an account, and reads an amount in its currency.
 *
 * @returns the amount in minor units
 * @throws ProvisioningError if the account does not exist, or the amount is not above zero
 * @throws Refusal `amount_malformed`, `amount_too_precise`, `amount_out_of_range`
 */
export async function readFunding(
  database: Database,
  { accountId, amount: text }: FundingInput,
): Promise<FundedAccount & { readonly amount: TransferAmount }> {
  const account = await findAccount(database, accountId);
  if (!account) throw new ProvisioningError(`There is no account ${accountId}.`);
  const amount = parseAmount(text, account.currency);
  if (amount <= 0n) throw new ProvisioningError('The amount must be more than zero. Money that left is no funding.');
  return { ...account, amount: toTransferAmount(amount) };
}

const FIND_FUNDING_ELSEWHERE = sqlStatement(
  'find_funding_elsewhere',
  `select from idempotency where workspace_id = any($1::bigint[]) and workspace_id <> $2 and operation = '${FUNDING}' and key = $3
     and created_at > statement_timestamp() - ${RETENTION} limit 1`,
);

/** In all workspaces of the database. */
const LOCK_FUNDING_KEY = sqlStatement<{ is_locked: boolean }>(
  'lock_funding_key',
  `select pg_try_advisory_xact_lock(hashtextextended(jsonb_build_array('funding', $1::text)::text, 0)) as is_locked`,
);

/**
 * A key of another workspace is a mistake in the account. The lock lasts as long as the booking, so of two bookings at the same moment the
 * later one reads the earlier one. It reads in scopes of its own, because a booking has only that of its workspace.
 *
 * @throws Refusal `idempotency_in_progress`, `idempotency_key_reused`
 */
async function refuseKeyOfOther(
  tx: DbTransaction,
  database: Database,
  workspaceId: number,
  key: string,
): Promise<void> {
  const [[lock]] = await tx.pipeline([bind(LOCK_FUNDING_KEY, key)] as const);
  if (!lock!.is_locked) {
    throw new Refusal('idempotency_in_progress', undefined, { retryAfterSeconds: RETRY_AFTER_S });
  }
  for (const ids of scopesOf((await workspacesHere(database)).map(({ id }) => id))) {
    const found = await database.read({ workspaces: ids }, bind(FIND_FUNDING_ELSEWHERE, ids, workspaceId, key));
    if (found) throw new Refusal('idempotency_key_reused', 'The key has booked money in another workspace.');
  }
}

export interface FundingRow {
  readonly workspaceId: number;
  readonly workspace: string;
  readonly currency: string;
  readonly transfer: Transfer;
  /** Whether an earlier call with the same key booked it. */
  readonly isReplay: boolean;
}

/**
 * Books money that has arrived, in a sandbox or with real money. Finds the workspace of the account.
 *
 * @param funding.amount as people write it, in the currency of the account: `1250.00`
 * @param funding.reference the sender's reference, stored as the description of the transfer
 * @param funding.isOfOperator for the audit trail
 * @param funding.key idempotency key: repeated calls with it book once; of an operator, on one account of the database
 * @param write the right by which it enters: by default that of an operator
 * @throws ProvisioningError if the account does not exist, or the amount is not above zero
 * @throws Refusal `amount_malformed`, `amount_too_precise`, `amount_out_of_range`, `account_disabled`, `balance_limit_exceeded`, and
 *   those of the key
 */
export async function addFunding(
  books: Books,
  funding: FundingInput & {
    readonly reference?: string | undefined;
    readonly key?: string | undefined;
    readonly isOfOperator?: boolean | undefined;
  },
  write = postDeposits,
): Promise<FundingRow> {
  const { accountId, reference: description, key: idempotencyKey, isOfOperator } = funding;
  const { workspaceId, workspace, currency, amount } = await readFunding(books.database, funding);
  const { resource, isReplay } = await fundAccount(
    books,
    openReading(books.database),
    { workspaceId, actor: undefined, ...(isOfOperator && { origin: { isOperator: true } }) },
    { accountId, amount, description },
    { idempotencyKey },
    write,
    isOfOperator && idempotencyKey !== undefined
      ? (tx) => refuseKeyOfOther(tx, books.database, workspaceId, idempotencyKey)
      : undefined,
  );
  return { workspaceId, workspace, currency, transfer: resource, isReplay };
}

export interface OrderResumption {
  readonly workspaceId: number;
  readonly orderId: number;
  /** The e-mail of the new placer. Without it, the placer stays. */
  readonly placer?: string | undefined;
}

const FIND_USER = sqlStatement<{ id: bigint }>('find_user_by_email', 'select id from app_user where email = $1');

const FIND_PLACER = sqlStatement<{ placer: string | null }>(
  'find_placer_of_order',
  `select (select u.email from app_user u where u.id = o.placed_by) as placer
   from customer_order o where o.workspace_id = $1 and o.id = $2`,
);

/**
 * The e-mail of the user for whom an order runs once it is resumed.
 *
 * @returns undefined if that is no user
 * @throws ProvisioningError if the order does not exist
 */
export async function placerAfter(
  database: Database,
  { workspaceId, orderId, placer }: OrderResumption,
): Promise<string | undefined> {
  const order = await database.read({ workspaces: [workspaceId] }, bind(FIND_PLACER, workspaceId, orderId));
  if (!order) throw new ProvisioningError(`There is no order ${orderId} of workspace ${workspaceId}.`);
  return placer === undefined ? (order.placer ?? undefined) : emailOf(placer);
}

/**
 * Resumes a paused order for an operator. Its missed run is due now, once. Earlier rejections do not pause it again.
 *
 * @throws ProvisioningError if the order does not exist or is not paused, if its approval keeps it from the new placer, or if its placer is
 *   no member of the workspace: it would be paused again
 */
export async function resumePausedOrder(
  database: Database,
  { workspaceId, orderId, placer }: OrderResumption,
): Promise<void> {
  const caller = { workspaceId: workspaceId as WorkspaceId, actor: undefined, origin: { isOperator: true } };
  const email = placer === undefined ? undefined : emailOf(placer);
  const name = `order ${orderId} of workspace ${workspaceId}`;
  await database.transaction({ workspaces: [workspaceId], actorType: 'operator' }, async (tx) => {
    const [[user]] = await tx.pipeline([bind(FIND_USER, email)] as const);
    if (email !== undefined && !user) throw new ProvisioningError(`There is no user ${email}. See banking user list.`);
    const { order, isResumed } = await resume(tx, { caller, orderId, placerId: user && (Number(user.id) as UserId) });
    if (!order) throw new ProvisioningError(`There is no ${name}.`);
    if (!order.is_paused) throw new ProvisioningError(`The ${name} is not paused.`);
    if (!isResumed && order.is_kept) throw new ProvisioningError(keptFrom(name, email));
    if (!isResumed) throw new ProvisioningError(withoutMember(name, workspaceId, email, order.placer));
    await tx.commit();
  });
}

const keptFrom = (name: string, email: string | undefined): string =>
  `The ${name} waits for approvals, or ${email} has decided on it. It is handed to a user who has not, after it is approved.`;

function withoutMember(name: string, workspaceId: number, email: string | undefined, placer: string | null): string {
  if (email !== undefined) {
    return (
      `${email} is no member of workspace ${workspaceId}: only a completed user with the role member is. ` +
      'See banking user list and banking grant list.'
    );
  }
  const reason = placer === null ? 'was removed' : `(${placer}) is no member of the workspace`;
  return (
    `The user who placed ${name} ${reason}, so it would be paused again. ` +
    'Give the user the role member back, or hand the order to another user with --placer.'
  );
}

/** A webhook endpoint of a workspace. */
export interface EndpointOfWorkspace {
  readonly workspaceId: WorkspaceId;
  readonly endpointId: WebhookEndpointId;
}

/**
 * The newest deliveries of an endpoint, at most 100.
 *
 * @throws Refusal `webhook_endpoint_not_found`
 */
export async function newestDeliveries(
  database: Database,
  { workspaceId, endpointId }: EndpointOfWorkspace,
  status: WebhookDeliveryStatus | undefined,
): Promise<readonly WebhookDelivery[]> {
  const query = { webhookEndpointId: endpointId, status, limit: LIMIT };
  return (await listWebhookDeliveries(openReading(database), workspaceId, query)).items;
}

/** Makes a delivery due now, for an operator. @throws Refusal as `retryWebhookDelivery` of the port */
export function retryDelivery(
  database: Database,
  { workspaceId, endpointId }: EndpointOfWorkspace,
  webhookDeliveryId: WebhookDeliveryId,
): Promise<WebhookDelivery> {
  const caller = { workspaceId, actor: undefined, origin: { isOperator: true } };
  return retryWebhookDelivery(database, caller, { webhookEndpointId: endpointId, webhookDeliveryId });
}

const COUNT_SECRETS = sqlStatement<{ key: string; secrets: number }>(
  'count_webhook_secrets',
  'select key, secrets from count_webhook_secrets()',
);

/** How many secrets of webhook endpoints each key seals. */
export const countWebhookSecrets = async (
  database: Database,
): Promise<readonly { readonly key: string; readonly secrets: number }[]> =>
  (await database.pipeline({}, [bind(COUNT_SECRETS)] as const))[0];
