import { LRUCache } from 'lru-cache';
import type { Timestamp } from '@banking/domain';
import {
  accountKey,
  customerAccountsOf,
  DecisionContext,
  type LockedAccount,
  microsecondsOf,
  type PreparedPosting,
  timestampAt,
} from '@banking/ledger';
import {
  bind,
  type BoundStatement,
  byteaOf,
  compositeOf,
  type DatabaseError,
  RULE_VIOLATION,
  sqlStatement,
} from '@banking/postgres';
import { areUsedAlike, BatchLimits, copyOfLimits, type WorkspaceLimits } from '../limits/batch-limits.js';
import type { AccountRow } from '../resources/compose-parties.js';
import { type AccountsByKey, accountsShown } from './lock-orders.js';
import { isLimited, type Placement, placerOf, type PreparedOrder, proposalOf } from './prepared-order.js';

/** About 1 kB each. */
const ACCOUNTS_MAX = 4_000;

/** The limits and users of all workspaces together: about 600 bytes each. */
const LIMITS_MAX = 20_000;

/** The users of a workspace whose roles are remembered. */
const PLACERS_MAX = 200;

/** About 200 bytes each. */
const USED_MAX = 10_000;

/** After this time the clock of the database is read again. The clocks of two machines drift apart by less than 0.1 ms a second. */
const CLOCK_MAX_MS = 10_000;

/** A payment of remembered facts. */
export type RememberedPayment = PreparedOrder & Placement;

interface RememberedAccount {
  readonly state: LockedAccount;
  /** Undefined if no response has shown the account as it is now. */
  readonly row: AccountRow | undefined;
  /** Whether no other process has changed it between the last two times that this one looked. */
  readonly isAlone: boolean;
}

interface RememberedLimits extends WorkspaceLimits {
  /** Whether no other process has used them between the last two times that this one looked. */
  readonly isAlone: boolean;
}

/** What payments are decided on without reading it. */
interface Recalled {
  readonly context: DecisionContext;
  /** The accounts of these payments as they are before they are decided, each once. */
  readonly heldFor: (payments: readonly RememberedPayment[]) => readonly LockedAccount[];
  /** The accounts that the responses show. */
  readonly accounts: AccountsByKey;
  readonly limits: BatchLimits;
}

/**
 * The accounts as the last batches of this process left them, so that payments are decided before their round trip: `holdAccounts`
 * compares them behind the locks. An account that another process uses as well is not recalled, and neither is an order whose key or
 * reference was used lately: it would be refused, and carried out a second time.
 *
 * So are limits, which the database counts at the commit. An order that seems to exceed one is read.
 */
export class RememberedAccounts {
  private readonly accounts = new LRUCache<string, RememberedAccount>({ max: ACCOUNTS_MAX });
  private readonly limits = new LRUCache<number, RememberedLimits>({
    maxSize: LIMITS_MAX,
    sizeCalculation: ({ limits, roles }) => 1 + limits.length + Object.keys(roles).length,
  });
  private readonly used = new LRUCache<string, true>({ max: USED_MAX });
  private clock: { readonly microseconds: number; readonly readAtMs: number } | undefined;

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** The orders that can be decided on what is remembered. An order on an account of one before it that cannot is none of them. */
  recallable(orders: readonly PreparedOrder[]): RememberedPayment[] {
    const at = this.timeOfDatabase();
    if (at === undefined) return [];
    const others = new Set<string>();
    return orders.filter((order): order is RememberedPayment => {
      const keys = accountKeysOf(order);
      const isRecallable =
        isRemembered(order) &&
        !usesOf(order).some((use) => this.used.has(use)) &&
        this.knowsLimitsOf(order, at) &&
        keys.every((key) => !others.has(key) && this.accounts.get(key)?.isAlone === true) &&
        [...accountsShown([order]).keys()].every((key) => this.accounts.get(key)?.row);
      if (!isRecallable) keys.forEach((key) => others.add(key));
      return isRecallable;
    });
  }

  /** Undefined if the memory has lost one of them meanwhile. */
  recall(posting: PreparedPosting, payments: readonly RememberedPayment[]): Recalled | undefined {
    const at = this.timeOfDatabase();
    const states = new Map<string, LockedAccount>();
    for (const { workspaceId, accountId } of posting.proposals.flatMap(customerAccountsOf)) {
      const key = accountKey(workspaceId, accountId);
      const known = this.accounts.get(key);
      if (known) states.set(key, known.state);
    }
    const accounts = new Map<string, AccountRow>();
    for (const key of accountsShown(payments).keys()) {
      const row = this.accounts.get(key)?.row;
      if (!row || at === undefined) return undefined;
      accounts.set(key, row);
    }
    if (at === undefined) return undefined;
    const limits = new Map<number, WorkspaceLimits>();
    for (const workspaceId of limitedOf(payments)) {
      const known = this.limits.get(workspaceId);
      if (!known) return undefined;
      limits.set(workspaceId, copyOfLimits(known));
    }
    const copies = [...states.values()].map((state) => ({ ...state }));
    const heldFor = (held: readonly RememberedPayment[]) => {
      const keys = new Set(held.flatMap(accountKeysOf));
      return [...states].filter(([key]) => keys.has(key)).map(([, state]) => state);
    };
    return { context: new DecisionContext(posting, copies, at), heldFor, accounts, limits: new BatchLimits(limits) };
  }

  /** Compares what is remembered with what was read behind the locks of a batch. Call it before the batch is decided. */
  compare({ lockedAccounts, at }: DecisionContext, { workspaces }: BatchLimits): void {
    this.clock = { microseconds: microsecondsOf(at), readAtMs: this.now() };
    for (const [key, state] of lockedAccounts) {
      const known = this.accounts.get(key);
      if (known) this.accounts.set(key, { ...known, isAlone: known.state.head === state.head });
    }
    for (const [workspaceId, limits] of workspaces) {
      const known = this.limits.get(workspaceId);
      if (known) this.limits.set(workspaceId, { ...known, isAlone: areUsedAlike(known, limits) });
    }
  }

  /** Call it after the commit of a batch, with the accounts and the limits as it leaves them. */
  remember({ lockedAccounts }: DecisionContext, rows: AccountsByKey, { workspaces }: BatchLimits): void {
    for (const [key, state] of lockedAccounts) {
      const known = this.accounts.get(key);
      const row = rows.get(key) ?? (known?.state.head === state.head ? known.row : undefined);
      this.accounts.set(key, { state, row, isAlone: known?.isAlone ?? true });
    }
    for (const [workspaceId, limits] of workspaces) {
      const known = this.limits.get(workspaceId);
      const roles = rolesOf(known?.roles, limits.roles);
      this.limits.set(workspaceId, { ...limits, roles, isAlone: known?.isAlone ?? true });
    }
  }

  /** Keys and references of orders that were placed or found. */
  noteUsed(orders: readonly PreparedOrder[]): void {
    for (const order of orders) for (const use of usesOf(order)) this.used.set(use, true);
  }

  /** Not in a period that had not begun when they were read: another process may have used that. */
  private knowsLimitsOf(order: PreparedOrder, at: Timestamp): boolean {
    if (!isLimited(order)) return true;
    const [known, placer] = [this.limits.get(order.workspaceId), placerOf(order)];
    if (!known?.isAlone || (placer !== undefined && known.roles[placer] === undefined)) return false;
    return known.endsAt === undefined || at < known.endsAt;
  }

  /** Has the orders of these workspaces read until a read finds their limits as this process left them. */
  private notAlone(workspaceIds: readonly number[] = []): ReadonlySet<number> {
    for (const workspaceId of workspaceIds) {
      const known = this.limits.get(workspaceId);
      if (known) this.limits.set(workspaceId, { ...known, isAlone: false });
    }
    return new Set(workspaceIds);
  }

  /**
   * The payments that the database has refused to hold, or those of workspaces with a limit that one of them exceeds. None for another
   * error.
   *
   * @param held the accounts that were to be held, in their order
   */
  refusedBy(
    { code, detail }: DatabaseError,
    held: readonly LockedAccount[],
    payments: readonly RememberedPayment[],
  ): readonly RememberedPayment[] {
    if (code === RULE_VIOLATION.limitExceeded) {
      const { workspaceIds } = JSON.parse(detail ?? '{}') as { workspaceIds?: readonly number[] };
      const exceeded = this.notAlone(workspaceIds);
      return payments.filter(({ workspaceId }) => exceeded.has(workspaceId));
    }
    if (code !== RULE_VIOLATION.outdatedMemory) return [];
    const refused = JSON.parse(detail ?? '{}') as Partial<
      Record<'accounts' | 'payments' | 'limits', readonly number[]>
    >;
    const named = new Set(refused.payments?.map((position) => payments[position]));
    this.noteUsed(payments.filter((payment) => named.has(payment)));
    const keys = new Set(
      refused.accounts?.map((position) => accountKey(held[position]!.workspaceId, held[position]!.id)),
    );
    const locked = this.notAlone(refused.limits);
    const isRefused = (payment: RememberedPayment) =>
      named.has(payment) || locked.has(payment.workspaceId) || accountKeysOf(payment).some((key) => keys.has(key));
    return payments.filter(isRefused);
  }

  /** Not after the present time of the database: the clock was read before its time arrived here. */
  private timeOfDatabase(): Timestamp | undefined {
    if (!this.clock) return undefined;
    const passedMs = this.now() - this.clock.readAtMs;
    return passedMs < CLOCK_MAX_MS ? timestampAt(this.clock.microseconds + Math.floor(passedMs * 1_000)) : undefined;
  }
}

/** The workspaces that have limits. */
const limitedOf = (payments: readonly RememberedPayment[]): readonly number[] => [
  ...new Set(payments.filter(isLimited).map(({ workspaceId }) => workspaceId)),
];

function rolesOf(known: WorkspaceLimits['roles'] = {}, read: WorkspaceLimits['roles']): WorkspaceLimits['roles'] {
  if (known === read || Object.keys(known).length > PLACERS_MAX) return read;
  return { ...known, ...read };
}

const accountKeysOf = (order: PreparedOrder): readonly string[] =>
  customerAccountsOf(proposalOf(order)).map(({ workspaceId, accountId }) => accountKey(workspaceId, accountId));

const isRemembered = (order: PreparedOrder): order is RememberedPayment =>
  order.kind === 'placement' && order.rememberedVersions !== undefined && order.mayExist !== true;

/** What an order uses once and for all: its key and its reference. */
function usesOf(order: PreparedOrder): string[] {
  if (order.kind !== 'placement') return [];
  const { workspaceId, key, content } = order;
  return [
    ...(key ? [JSON.stringify([workspaceId, key.operation, key.key])] : []),
    ...(content.externalReference === undefined ? [] : [JSON.stringify([workspaceId, content.externalReference])]),
  ];
}

const HOLD_ACCOUNTS = sqlStatement(
  'hold_accounts',
  'select hold_accounts($1::held_account[], $2::held_payment[], $3::bigint[], $4::timestamptz)',
);

/**
 * Locks the accounts and the limits of payments, and compares all that they were decided on. Send it before what they write.
 *
 * The database rejects it with `RULE_VIOLATION.outdatedMemory` if anything has changed.
 *
 * @param states the accounts as they were recalled, before the payments were decided
 */
export const holdAccounts = (
  states: readonly LockedAccount[],
  accounts: AccountsByKey,
  payments: readonly RememberedPayment[],
  at: Timestamp,
): BoundStatement<unknown> =>
  bind(
    HOLD_ACCOUNTS,
    states.map((state) => heldAccount(state, accounts)),
    payments.map(heldPayment),
    limitedOf(payments),
    at,
  );

const heldAccount = ({ workspaceId, id, head, status }: LockedAccount, accounts: AccountsByKey): string => {
  const row = accounts.get(accountKey(workspaceId, id));
  return compositeOf([workspaceId, id, byteaOf(head), status, row?.accountAlias, row?.accountUpdatedAt]);
};

const heldPayment = ({ workspaceId, content, rememberedVersions, key }: Placement): string =>
  compositeOf([
    ...[workspaceId, content.recipientId, rememberedVersions, key?.operation, key?.key],
    content.externalReference,
  ]);
