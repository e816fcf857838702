import { LRUCache } from 'lru-cache';
import type { Timestamp } from '@banking/domain';
import {
  accountKey,
  customerAccountsOf,
  DecisionContext,
  type LockedAccount,
  type PreparedPosting,
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
import { BatchLimits, copyOfLimits, type WorkspaceLimits } from '../limits/batch-limits.js';
import type { AccountRow } from '../resources/compose-parties.js';
import { type AccountsByKey, accountsShown } from './lock-orders.js';
import { isLimited, type Placement, placerOf, type PreparedOrder, proposalOf } from './prepared-order.js';

/** About 1 kB each. */
const ACCOUNTS_MAX = 4_000;

/** About 10 kB each, with the most limits. */
const WORKSPACES_MAX = 400;

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
 * So are limits, which the database counts at the commit. An order that seems to exceed one, or exceeds one there, is read.
 */
export class RememberedAccounts {
  private readonly accounts = new LRUCache<string, RememberedAccount>({ max: ACCOUNTS_MAX });
  private readonly limits = new LRUCache<number, WorkspaceLimits>({ max: WORKSPACES_MAX });
  private readonly used = new LRUCache<string, true>({ max: USED_MAX });
  private clock: { readonly microseconds: number; readonly readAtMs: number } | undefined;

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** The orders that can be decided on what is remembered. An order on an account of one before it that cannot is none of them. */
  recallable(orders: readonly PreparedOrder[]): RememberedPayment[] {
    if (this.timeOfDatabase() === undefined) return [];
    const others = new Set<string>();
    return orders.filter((order): order is RememberedPayment => {
      const keys = accountKeysOf(order);
      const isRecallable =
        isRemembered(order) &&
        !usesOf(order).some((use) => this.used.has(use)) &&
        this.knowsLimitsOf(order) &&
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
    for (const { workspaceId } of payments.filter(isLimited)) {
      const known = this.limits.get(workspaceId);
      if (!known) return undefined;
      if (!limits.has(workspaceId)) limits.set(workspaceId, copyOfLimits(known));
    }
    const copies = [...states.values()].map((state) => ({ ...state }));
    const heldFor = (held: readonly RememberedPayment[]) => {
      const keys = new Set(held.flatMap(accountKeysOf));
      return [...states].filter(([key]) => keys.has(key)).map(([, state]) => state);
    };
    return { context: new DecisionContext(posting, copies, at), heldFor, accounts, limits: new BatchLimits(limits) };
  }

  /** Compares what is remembered with what was read behind the locks of a batch. Call it before the batch is decided. */
  compare({ lockedAccounts, at }: DecisionContext): void {
    this.clock = { microseconds: microsecondsOf(at), readAtMs: this.now() };
    for (const [key, state] of lockedAccounts) {
      const known = this.accounts.get(key);
      if (known) this.accounts.set(key, { ...known, isAlone: known.state.head === state.head });
    }
  }

  /** Call it after the commit of a batch. */
  remember({ lockedAccounts }: DecisionContext, rows: AccountsByKey, { workspaces }: BatchLimits): void {
    for (const [key, state] of lockedAccounts) {
      const known = this.accounts.get(key);
      const row = rows.get(key) ?? (known?.state.head === state.head ? known.row : undefined);
      this.accounts.set(key, { state, row, isAlone: known?.isAlone ?? true });
    }
    for (const [workspaceId, { limits, roles }] of workspaces) {
      this.limits.set(workspaceId, { limits, roles: { ...this.limits.get(workspaceId)?.roles, ...roles } });
    }
  }

  /** Keys and references of orders that were placed or found. */
  noteUsed(orders: readonly PreparedOrder[]): void {
    for (const order of orders) for (const use of usesOf(order)) this.used.set(use, true);
  }

  private knowsLimitsOf(order: PreparedOrder): boolean {
    if (!isLimited(order)) return true;
    const [known, placer] = [this.limits.get(order.workspaceId), placerOf(order)];
    return known !== undefined && (placer === undefined || known.roles[placer] !== undefined);
  }

  /**
   * The payments that the database has refused to hold, or those of a workspace with a limit that one of them exceeds. None for another
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
      const { workspaceId: exceeded } = JSON.parse(detail ?? '{}') as { workspaceId?: number };
      return payments.filter(({ workspaceId }) => workspaceId === exceeded);
    }
    if (code !== RULE_VIOLATION.outdatedMemory) return [];
    const positions = JSON.parse(detail ?? '{}') as { accounts?: readonly number[]; payments?: readonly number[] };
    const named = new Set(positions.payments?.map((position) => payments[position]));
    this.noteUsed(payments.filter((payment) => named.has(payment)));
    const keys = new Set(
      positions.accounts?.map((position) => accountKey(held[position]!.workspaceId, held[position]!.id)),
    );
    return payments.filter((payment) => named.has(payment) || accountKeysOf(payment).some((key) => keys.has(key)));
  }

  /** Not after the present time of the database: the clock was read before its time arrived here. */
  private timeOfDatabase(): Timestamp | undefined {
    if (!this.clock) return undefined;
    const passedMs = this.now() - this.clock.readAtMs;
    return passedMs < CLOCK_MAX_MS ? timestampAt(this.clock.microseconds + Math.floor(passedMs * 1_000)) : undefined;
  }
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

/** In UTC with microseconds, as the database returns it. */
const microsecondsOf = (at: Timestamp): number => Date.parse(`${at.slice(0, 23)}Z`) * 1_000 + Number(at.slice(23, 26));

function timestampAt(microseconds: number): Timestamp {
  const text = new Date(Math.floor(microseconds / 1_000)).toISOString();
  return `${text.slice(0, 23)}${String(microseconds % 1_000).padStart(3, '0')}Z` as Timestamp;
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
    [...new Set(payments.filter(isLimited).map(({ workspaceId }) => workspaceId))],
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
