import { Refusal, type AccountId, type Order, type OrderId, type OrderWish, type QuoteId, type RecipientId, type TransferAmount, type UserId, type WorkspaceId } from '@banking/domain'; // prettier-ignore
import type { Books } from '@banking/ledger';
import { bind, statement } from '@banking/postgres';
import { cancelOrder } from '../cancel-order.js';
import { createQuote } from '../create-quote.js';
import { OrderDesk } from '../orders/order-desk.js';
import { DEMO_RATES } from '../rates/demo-rate-source.js';
import type { DemoAccount } from './accounts.js';
import type { DemoMovement } from './movements.js';
import { madeBefore, note } from './world.js';

/** How long the quote holds, in seconds: as long as any other. */
const QUOTE_VALID_S = 300;

const PAUSE = statement(
  'pause_demo_order',
  `update customer_order set paused_at = statement_timestamp(), pause_reason = 'placer_without_role'
   where workspace_id = $1 and id = $2 and status = 'active'`,
);

type Wish = Omit<OrderWish, 'accountId'>;

/** Places orders as the api does. The step is the key of its order too, so a start that was cut short places none twice. */
export class DemoOrders {
  private readonly desk: OrderDesk;

  constructor(private readonly books: Books) {
    this.desk = new OrderDesk(books, DEMO_RATES);
  }

  /** An instant order at a quote. Answers what it moved, for its network to be heard. */
  async payAtQuote(step: string, from: DemoAccount, wish: Wish): Promise<DemoMovement> {
    const transactionStep = `transaction of ${step}`;
    const transferId = await madeBefore(this.books.database, step);
    if (transferId !== undefined) {
      return { transferId, transactionId: (await madeBefore(this.books.database, transactionStep))! };
    }
    const quoteID = await this.quote(step, from, wish);
    const order = await this.place(step, from, { ...wish, quoteID }).catch((refusal: unknown) => {
      // A start that was cut short between the two, and came again when the quote was over.
      if (!(refusal instanceof Refusal && refusal.reason === 'quote_expired')) throw refusal;
      return this.place(step, from, wish);
    });
    const transaction = order.edges.executions?.[0]?.edges.transaction;
    const transfer = transaction?.edges?.transfers?.[0];
    if (!transaction || !transfer) throw new Error('an instant order has moved nothing');
    const notes = [note(transactionStep, transaction.id), note(step, transfer.id)];
    await this.books.database.flight({}, notes);
    return { transactionId: transaction.id, transferId: transfer.id };
  }

  /** An order for later, once. */
  async placeOnce(step: string, from: DemoAccount, wish: Wish): Promise<OrderId> {
    const before = await madeBefore(this.books.database, step);
    if (before !== undefined) return before as OrderId;
    const { id } = await this.place(step, from, wish);
    await this.books.database.flight({}, [note(step, id)]);
    return id;
  }

  async cancelOnce(step: string, from: DemoAccount, orderId: OrderId): Promise<void> {
    if ((await madeBefore(this.books.database, step)) !== undefined) return;
    const name = { accountId: from.id as AccountId, orderId };
    await cancelOrder(this.books.database, scopeOf(from), name).catch((refusal: unknown) => {
      // Cancelled by a start that was cut short before it could say so.
      if (!(refusal instanceof Refusal && refusal.reason === 'order_not_cancellable')) throw refusal;
    });
    await this.books.database.flight({}, [note(step, orderId)]);
  }

  /** An order of a user who has no role, paused already. */
  async pauseOnce(step: string, from: DemoAccount, wish: Wish, placer: UserId): Promise<void> {
    const { database } = this.books;
    if ((await madeBefore(database, step)) !== undefined) return;
    const whole = { ...wish, accountId: from.id as AccountId };
    const { workspaceId } = scopeOf(from);
    const { resource } = await this.desk.place({ workspaceId, actor: placer }, whole, { idempotencyKey: keyOf(step) });
    await database.flight({ workspaces: [workspaceId] }, [
      bind(PAUSE, workspaceId, resource.id),
      note(step, resource.id),
    ]);
  }

  private async place(step: string, from: DemoAccount, wish: Wish): Promise<Order> {
    const whole = { ...wish, accountId: from.id as AccountId };
    return (await this.desk.place(scopeOf(from), whole, { idempotencyKey: keyOf(step) })).resource;
  }

  private async quote(step: string, from: DemoAccount, { recipientID, amount }: Wish): Promise<QuoteId> {
    const wish = { accountID: from.id as AccountId, recipientID, amount };
    const terms = { rates: DEMO_RATES, validS: QUOTE_VALID_S };
    const intent = { idempotencyKey: keyOf(step) };
    return (await createQuote(this.books.database, scopeOf(from), wish, intent, terms)).resource.id;
  }
}

/** So far ahead that nothing of them runs while somebody looks. */
export async function makeLaterOrders(
  orders: DemoOrders,
  from: DemoAccount,
  recipientId: number,
  withoutRole: number,
): Promise<void> {
  const rent = { recipientID: recipientId as RecipientId, amount: '150000' as TransferAmount, purposeCode: 'IR001' };
  await orders.placeOnce('more orders:monthly', from, {
    ...rent,
    type: 'recurring',
    description: 'Float for the rent',
    repeatUnit: 'monthly',
    repeatValue: 1,
    startAt: '2099-01-31T09:00:00+01:00',
  });
  const once = { ...rent, type: 'scheduled', description: 'Float for the new year', startAt: '2099-12-31T12:00:00Z' } as const; // prettier-ignore
  await orders.placeOnce('more orders:scheduled', from, once);
  const mistake = await orders.placeOnce('more orders:cancelled', from, { ...once, description: 'Placed by mistake' });
  await orders.cancelOnce('more cancellations:cancelled', from, mistake);
  const paused = { ...once, description: 'Float that Cy placed' };
  await orders.pauseOnce('more orders:paused', from, paused, withoutRole as UserId);
}

const scopeOf = ({ workspaceId }: DemoAccount) => ({ workspaceId: workspaceId as WorkspaceId, actor: undefined });
const keyOf = (step: string) => `demo-${step.replace(/[^a-z]+/gi, '-')}`;
