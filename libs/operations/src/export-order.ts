import type { BookedTransaction } from '@banking/ledger';

/**
 * Puts transactions that come in the order of their ids behind everything their accounts have had before.
 *
 * The order of ids is not that: every process takes them in blocks, so one that posts seldom posts under small ids. What comes too
 * early waits until what it follows has come; that is as much, at most, as the processes have had ids in hand. What is kept for good
 * is one number an account.
 */
export class ExportOrder {
  private readonly versions = new Map<number, number>();
  /** By the account and the version it needs to be at. */
  private readonly early = new Map<string, BookedTransaction>();

  /** How many wait. At the end there must be none. */
  get waiting(): number {
    return this.early.size;
  }

  /** What can be written now, in its order: nothing, the transaction itself, or also some that have waited for it. */
  *take(transaction: BookedTransaction): Generator<BookedTransaction, void, undefined> {
    const ready = [transaction];
    for (let next = ready.pop(); next; next = ready.pop()) {
      const steps = stepsOf(next);
      const missing = steps.find(({ accountId, from }) => (this.versions.get(accountId) ?? 0) !== from);
      if (missing) {
        this.early.set(keyOf(missing.accountId, missing.from), next);
        continue;
      }
      yield next;
      for (const { accountId, to } of steps) {
        this.versions.set(accountId, to);
        const key = keyOf(accountId, to);
        const follower = this.early.get(key);
        this.early.delete(key);
        if (follower) ready.push(follower);
      }
    }
  }
}

interface Step {
  readonly accountId: number;
  /** The version the account is at before and after. */
  readonly from: number;
  to: number;
}

function stepsOf({ content }: BookedTransaction): readonly Step[] {
  const steps = new Map<number, Step>();
  const versioned = content.transfers.flatMap(({ accountId, accountVersion }) =>
    accountVersion === undefined ? [] : [{ accountId, accountVersion }],
  );
  for (const { accountId, accountVersion } of versioned.sort(
    (left, right) => left.accountVersion - right.accountVersion,
  )) {
    const step = steps.get(accountId);
    if (step) step.to = accountVersion;
    else steps.set(accountId, { accountId, from: accountVersion - 1, to: accountVersion });
  }
  return [...steps.values()];
}

function keyOf(accountId: number, version: number): string {
  return `${accountId}/${version}`;
}
