import type { MinorUnits, RecipientId, TransactionId } from '@banking/domain';
import { decide, lockAndRead, preparePosting, requirePosted, write, type Leg, type Proposal } from '@banking/ledger';
import { readRecipientDigest } from '../payments/read-recipient-digest.js';
import { openTracking, recordEvent, sandboxMessage } from '@banking/payouts';
import { recordTransfer, type DemoAccount, type DemoBank } from './demo-bank.js';
import type { NetworkEvent } from './orders.js';

export interface DemoPayment {
  readonly from: DemoAccount;
  readonly recipientId: RecipientId;
  readonly amount: MinorUnits;
  readonly description: string;
  readonly purpose?: string;
}

/**
 * Books payments without orders, as version 1.0 made them. The port cannot: it makes an order for each payment, and a worker would
 * finish the payment that has to stay pending. The documented ids are those of demo data without these orders.
 */
export class DemoBookings {
  constructor(private readonly bank: DemoBank) {}

  /** Account to account in one workspace: completed at once, without a fee. */
  async payInternally(step: string, payment: DemoPayment, to: DemoAccount): Promise<void> {
    const { from, amount, description } = payment;
    const leg = { currencyId: from.currencyId, amount, type: 'internal', description };
    await this.book(step, payment, 'completed', (recipient) => [
      { ...leg, account: from.id, direction: 'debit', ...recipient },
      { ...leg, account: to.id, direction: 'credit' },
    ]);
  }

  /** A tracked payment abroad with its fee, and the events of the network about it. */
  async payOut(
    step: string,
    payment: DemoPayment,
    feeAmount: MinorUnits,
    events: readonly NetworkEvent[],
  ): Promise<TransactionId> {
    const { from, amount, description, purpose } = payment;
    const { currencyId } = from;
    const leg = { currencyId, amount, type: 'payout' };
    const feeLeg = { currencyId, amount: feeAmount, type: 'fee', description: 'Transfer fee' };
    const { transactionId } = await this.book(step, payment, 'pending', (recipient) => [
      { ...leg, account: from.id, direction: 'debit', description, purpose, feeAmount, ...recipient },
      { ...leg, account: 'settlement', direction: 'credit' },
      { ...feeLeg, account: from.id, direction: 'debit', ...recipient },
      { ...feeLeg, account: 'fees', direction: 'credit' },
    ]);
    for (const [index, [status, reasonCode]] of events.entries()) {
      const message = sandboxMessage(status, reasonCode);
      const event = { providerEvent: `demo-${index + 1}`, status, reasonCode, message };
      // The books record an event once for its id, so a later start does not repeat it.
      await recordEvent(this.bank.books, from.workspaceId, transactionId, event);
    }
    return transactionId as TransactionId;
  }

  /** Posts a transaction once. The step of the demo data is the transfer of the first leg. */
  private async book(
    step: string,
    { from: { workspaceId, id: accountId }, recipientId }: DemoPayment,
    status: 'completed' | 'pending',
    legsOf: (recipient: Pick<Leg, 'recipientId' | 'recipientDigest'>) => readonly Leg[],
  ) {
    const { books } = this.bank;
    const before = await this.bank.findTransfer(step);
    if (before) return before;
    const recipientDigest = await readRecipientDigest(books.database, { workspaceId, accountId, recipientId });
    const legs = legsOf({ recipientId, recipientDigest });
    const proposal: Proposal = { entries: [{ workspaceId, status, legs }] };
    const posting = await preparePosting(books, [proposal]);
    return books.database.transaction({ workspaces: posting.workspaces }, async (tx) => {
      const { context } = await lockAndRead(tx, posting);
      const posted = requirePosted(decide(context, proposal));
      const { id: transactionId, transfers } = posted[0]!;
      const made = { transactionId, transferId: transfers[0]!.id };
      const tracking = status === 'pending' ? openTracking([{ workspaceId, transactionId }]) : [];
      await write(tx, posted, [...tracking, ...recordTransfer(step, made)]);
      return made;
    });
  }
}
