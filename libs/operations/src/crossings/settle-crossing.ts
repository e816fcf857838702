import type { Books } from '@banking/ledger';
import type { WorkHandler } from '@banking/work-queue';
import type { CrossingPort } from './crossing-port.js';
import { crossingReader } from './read-crossings.js';
import { OutcomeRecorder } from './record-outcomes.js';

export interface CrossingOptions {
  /** Of the payers. */
  readonly books: Books;
  readonly port: CrossingPort;
}

/**
 * The handler of crossings: submits each payment to the database of its payee until that has an outcome, then records the outcome with the
 * payer. No database transaction is open during the call to the other database, and none is in both, so they cannot wait for each other.
 *
 * The payee's database records a refusal before the money is returned here. So a worker that was overtaken cannot submit the payment
 * again after the return.
 */
export function crossingHandler({ books, port }: CrossingOptions): WorkHandler {
  const read = crossingReader(books.database);
  const recorder = new OutcomeRecorder(books);
  return {
    async run(claim) {
      const { status, ...crossing } = await read(claim);
      if (status !== 'due') return 'done';
      await recorder.record(claim, await port.arrive(crossing));
      return 'done';
    },
  };
}
