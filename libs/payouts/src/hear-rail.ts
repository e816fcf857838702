import { Refusal } from '@banking/domain';
import type { Books } from '@banking/ledger';
import { bind, statement } from '@banking/postgres';
import { PAYOUT } from './open-payouts.js';
import { transactionOf, type Rail, type RailWord } from './rail.js';
import { recordEvent } from './track-remittance.js';

export interface HearingOptions {
  readonly books: Books;
  readonly rail: Rail;
  /** Told of a word that could not be recorded; for the log. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

const WORDS_MAX = 100;

const MAKE_DUE = statement(
  'make_payout_due',
  `update work set due_at = clock_timestamp()
   where workspace_id = $1 and kind = '${PAYOUT}' and subject_id = $2 and parked_at is null`,
);

/**
 * Records what the network has to say, a chore of the worker. Each word is acknowledged when it is in the database, so none is lost;
 * heard twice, it is recorded once. One that cannot be recorded holds nobody up: its payout is due again, and whoever takes that up
 * asks the network by key, tries again, and in the end has it parked with the reason.
 *
 * @throws Refusal `unavailable` when the database cannot be reached; what was not acknowledged comes again.
 */
export async function hearRail({ books, rail, onError = () => undefined }: HearingOptions): Promise<number> {
  const words = await rail.receive(WORDS_MAX);
  const heard: RailWord[] = [];
  try {
    for (const word of words) {
      await record(books, word, onError);
      heard.push(word);
    }
  } finally {
    if (heard.length > 0) await rail.acknowledge(heard);
  }
  return words.length;
}

async function record(books: Books, { key, event }: RailWord, onError: (error: unknown) => void): Promise<void> {
  try {
    const { workspaceId, transactionId } = transactionOf(key);
    try {
      await recordEvent(books, workspaceId, transactionId, event);
    } catch (error) {
      if (isUnavailable(error)) throw error;
      onError(error);
      await books.database.flight({ workspaces: [workspaceId] }, [bind(MAKE_DUE, workspaceId, transactionId)]);
    }
  } catch (error) {
    if (isUnavailable(error)) throw error;
    onError(error);
  }
}

function isUnavailable(error: unknown): boolean {
  return error instanceof Refusal && error.reason === 'unavailable';
}
