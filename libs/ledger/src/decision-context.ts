import type { Timestamp } from '@banking/domain';
import { ownAccountKey } from './own-accounts.js';
import type { PreparedPosting } from './prepare-posting.js';
import { accountKey, customerAccountsOf, type OwnAccountKind, type Proposal } from './proposal.js';

/** A customer's account as the lock returned it. `decide` updates it for the next proposal of the batch. */
export interface LockedAccount {
  readonly workspaceId: number;
  readonly id: number;
  readonly currencyId: number;
  readonly status: string;
  balance: bigint;
  version: number;
  /** Hash of the latest transaction, '' before the first. */
  head: string;
}

/** The input of `decide`: locked accounts, reserved ids and a time. Make a new one for each attempt of a database transaction. */
export class DecisionContext {
  private readonly lockedAccounts: ReadonlyMap<string, LockedAccount>;
  private readonly ownAccounts: ReadonlyMap<string, number>;
  private readonly transactionIds: Iterator<number>;
  private readonly transferIds: Iterator<number>;

  constructor(
    { ownAccounts, transactionIds, transferIds }: Omit<PreparedPosting, 'proposals' | 'workspaces'>,
    lockedAccounts: readonly LockedAccount[],
    /** When the posting is written: the time of the database after the locks, in UTC with microseconds. */
    readonly at: Timestamp,
  ) {
    this.lockedAccounts = new Map(
      lockedAccounts.map((account) => [accountKey(account.workspaceId, account.id), account]),
    );
    this.ownAccounts = ownAccounts;
    this.transactionIds = transactionIds.values();
    this.transferIds = transferIds.values();
  }

  /** Whether the batch has locked all customers' accounts of a proposal. A missing account is not locked. */
  hasLocked(proposal: Proposal): boolean {
    return customerAccountsOf(proposal).every(({ workspaceId, accountId }) => this.account(workspaceId, accountId));
  }

  account(workspaceId: number, accountId: number): LockedAccount | undefined {
    return this.lockedAccounts.get(accountKey(workspaceId, accountId));
  }

  ownAccountId(workspaceId: number, currencyId: number, kind: OwnAccountKind): number {
    const id = this.ownAccounts.get(ownAccountKey(workspaceId, currencyId, kind));
    if (id === undefined) throw new Error(`the own account ${kind} is not open`);
    return id;
  }

  takeTransactionId(): number {
    return take(this.transactionIds);
  }

  takeTransferId(): number {
    return take(this.transferIds);
  }
}

function take(ids: Iterator<number>): number {
  const { value, done } = ids.next();
  if (done === true) throw new Error('the batch has used all its reserved ids');
  return value;
}
