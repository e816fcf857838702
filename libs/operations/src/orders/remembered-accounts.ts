import { LRUCache } from 'lru-cache';
import type { Timestamp } from '@banking/domain';
import {
  accountKey,
  customerAccountsOf,
  DecisionContext,
  type LockedAccount,
  type PreparedPosting,
} from '@banking/ledger';
import { bind, type BoundStatement, compositeOf, sqlStatement } from '@banking/postgres';
import type { AccountRow } from '../resources/compose-parties.js';
import { type AccountsByKey, accountsShown } from './lock-orders.js';
import type { Placement, PreparedOrder } from './prepared-order.js';

/** About 1 kB each. */
const ACCOUNTS_MAX = 4_000;

/** After this time the clock of the database is read again. The clocks of two machines drift apart by less than 0.1 ms a second. */
const CLOCK_MAX_MS = 10_000;

interface RememberedAccount {
  readonly state: LockedAccount;
  /** Undefined for the account of a payee that no response has shown. */
  readonly row: AccountRow | undefined;
  /** Whether no other process has changed it between the last two times that this one looked. */
  readonly isAlone: boolean;
}

/** What a batch is decided on without reading it. */
interface RecalledBatch {
  readonly context: DecisionContext;
  /** The accounts of the context, as they are before the batch is decided. */
  readonly states: readonly LockedAccount[];
  /** The accounts that the responses show. */
  readonly accounts: AccountsByKey;
}

/**
 * The accounts as the last batches of this process left them, so that a batch is decided before its round trip: `holdAccounts` compares
 * them behind the locks. An account that another process uses as well is not recalled: such batches would be carried out twice.
 */
export class RememberedAccounts {
  private readonly accounts = new LRUCache<string, RememberedAccount>({ max: ACCOUNTS_MAX });
  private clock: { readonly microseconds: number; readonly readAtMs: number } | undefined;

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** Undefined unless all accounts of a batch are known. */
  recall(posting: PreparedPosting, orders: readonly PreparedOrder[]): RecalledBatch | undefined {
    const at = this.timeOfDatabase();
    if (at === undefined) return undefined;
    const states = new Map<string, LockedAccount>();
    for (const { workspaceId, accountId } of posting.proposals.flatMap(customerAccountsOf)) {
      const key = accountKey(workspaceId, accountId);
      const known = this.accounts.get(key);
      if (!known?.isAlone) return undefined;
      states.set(key, known.state);
    }
    const accounts = new Map<string, AccountRow>();
    for (const key of accountsShown(orders).keys()) {
      const row = this.accounts.get(key)?.row;
      if (!row) return undefined;
      accounts.set(key, row);
    }
    const list = [...states.values()];
    return {
      context: new DecisionContext(
        posting,
        list.map((state) => ({ ...state })),
        at,
      ),
      states: list,
      accounts,
    };
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
  remember({ lockedAccounts }: DecisionContext, rows: AccountsByKey): void {
    for (const [key, state] of lockedAccounts) {
      const known = this.accounts.get(key);
      this.accounts.set(key, { state, row: rows.get(key), isAlone: known?.isAlone ?? true });
    }
  }

  /** Not after the present time of the database: the clock was read before its time arrived here. */
  private timeOfDatabase(): Timestamp | undefined {
    if (!this.clock) return undefined;
    const passedMs = this.now() - this.clock.readAtMs;
    return passedMs < CLOCK_MAX_MS ? timestampAt(this.clock.microseconds + Math.floor(passedMs * 1_000)) : undefined;
  }
}

/** In UTC with microseconds, as the database returns it. */
const microsecondsOf = (at: Timestamp): number => Date.parse(`${at.slice(0, 23)}Z`) * 1_000 + Number(at.slice(23, 26));

function timestampAt(microseconds: number): Timestamp {
  const text = new Date(Math.floor(microseconds / 1_000)).toISOString();
  return `${text.slice(0, 23)}${String(microseconds % 1_000).padStart(3, '0')}Z` as Timestamp;
}

const HOLD_ACCOUNTS = sqlStatement(
  'hold_accounts',
  'select hold_accounts($1::held_account[], $2::held_payment[], $3::timestamptz)',
);

/**
 * Locks the accounts of a batch and compares all that it was decided on. Send it before what the batch writes.
 *
 * The database rejects it with `RULE_VIOLATION.outdatedMemory` if anything has changed.
 *
 * @param states the accounts as they were recalled, before the batch was decided
 */
export const holdAccounts = (
  states: readonly LockedAccount[],
  accounts: AccountsByKey,
  orders: readonly Placement[],
  at: Timestamp,
): BoundStatement<unknown> =>
  bind(
    HOLD_ACCOUNTS,
    states.map((state) => heldAccount(state, accounts)),
    orders.map(heldPayment),
    at,
  );

const heldAccount = ({ workspaceId, id, head, status }: LockedAccount, accounts: AccountsByKey): string => {
  const row = accounts.get(accountKey(workspaceId, id));
  return compositeOf([workspaceId, id, head, status, row?.accountAlias, row?.accountUpdatedAt]);
};

const heldPayment = ({ workspaceId, draft, rememberedVersions, key }: Placement): string =>
  compositeOf([workspaceId, draft.recipientID, rememberedVersions, key?.operation, key?.key]);
