import type { BookedTransaction } from '@banking/ledger';

/**
 * Sorts transactions so that each follows the earlier ones of its accounts.
 *
 * The input is in the order of ids, which differs: each process reserves ids in blocks, so a process that posts seldom uses small ids.
 * An early transaction waits for its predecessor, so at most as many wait as the processes have reserved ids. Besides, the memory is one
 * number per account.
 */
export class ExportSequence {
  private readonly versions = new Map<number, number>();
  /** By account and the version it follows. */
  private readonly early = new Map<string, BookedTransaction>();

  /** The number of transactions that wait for a predecessor. 0 at the end of complete books. */
  get waiting(): number {
    return this.early.size;
  }

  /** Yields what is ready: nothing, or the transaction and those that waited for it. */
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
  /** The version of the account before, and after. */
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
