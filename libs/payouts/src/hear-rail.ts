import type { Books } from '@banking/ledger';
import { bind, statement } from '@banking/postgres';
import { PAYOUT } from './open-payouts.js';
import { transactionOf, type Rail, type RailWord } from './rail.js';
import { recordEvent } from './track-remittance.js';
import { isPassingFailure } from './work/passing-failures.js';

export interface HearingOptions {
  readonly books: Books;
  readonly rail: Rail;
  /** Told of a word that could not be recorded; for the log. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

const WORDS_MAX = 100;

/** A parked payout stays parked: whoever releases it has the network asked by key. */
const MAKE_DUE = statement<{ subject_id: bigint }>(
  'make_payout_due',
  `update work set due_at = case when parked_at is null then clock_timestamp() else due_at end
   where workspace_id = $1 and kind = '${PAYOUT}' and subject_id = $2
   returning subject_id`,
);

/**
 * Records what the network has to say, a chore of the worker. Each word is acknowledged when it is in the database, so none is lost;
 * received twice, it is recorded once. An event that cannot be recorded delays no other: its payout is due again, and the worker that
 * claims it asks the network by key, tries again, and in the end has it parked with the reason. A payout that is over has no work left:
 * its event is not acknowledged, so that it comes again.
 *
 * @throws Refusal for a failure that passes, such as `unavailable` and `outcome_unknown`; what was not acknowledged comes again.
 */
export async function hearRail({ books, rail, onError = () => undefined }: HearingOptions): Promise<number> {
  const words = await rail.receive(WORDS_MAX);
  const heard: RailWord[] = [];
  try {
    for (const word of words) if (await isRecorded(books, word, onError)) heard.push(word);
  } finally {
    if (heard.length > 0) await rail.acknowledge(heard);
  }
  return words.length;
}

/** Returns false for an event that is to come again. */
async function isRecorded(books: Books, { key, event }: RailWord, onError: (error: unknown) => void): Promise<boolean> {
  const payout = payoutOf(key, onError);
  if (!payout) return true;
  const { workspaceId, transactionId } = payout;
  try {
    await recordEvent(books, workspaceId, transactionId, event);
    return true;
  } catch (error) {
    if (isPassingFailure(error)) throw error;
    onError(error);
    const [due] = await books.database.flight({ workspaces: [workspaceId] }, [
      bind(MAKE_DUE, workspaceId, transactionId),
    ] as const);
    return due.length > 0;
  }
}

/** A key that is not ours is reported once. */
function payoutOf(key: string, onError: (error: unknown) => void): ReturnType<typeof transactionOf> | undefined {
  try {
    return transactionOf(key);
  } catch (error) {
    onError(error);
    return undefined;
  }
}
