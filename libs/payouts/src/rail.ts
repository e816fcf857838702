import type { MinorUnits } from '@banking/domain';
import type { RailEvent } from './track-remittance.js';

/** What is to arrive, and with whom. */
export interface PaymentContent {
  readonly amount: MinorUnits;
  /** ISO 4217. */
  readonly currency: string;
  readonly creditor: {
    readonly name: string;
    readonly account: string;
    /** Such as `SWIFT` or `IFSC`, and the code itself. */
    readonly routing?: { readonly type: string; readonly code: string } | undefined;
  };
  readonly description?: string | undefined;
  /** The purpose code as it was sent with the order. */
  readonly purpose?: string | undefined;
}

/** Answers what a transaction is to bring to whom. */
export type PaymentReader = (workspaceId: number, transactionId: number) => Promise<PaymentContent>;

/** A payment as a network gets it. */
export interface Payment extends PaymentContent {
  /** The same at every try: a network that is given it again has one payment. */
  readonly key: string;
}

/** Something the network wants us to know of a payment. */
export interface RailWord {
  /** The network's own name for the delivery. */
  readonly id: string;
  readonly key: string;
  readonly event: RailEvent;
}

/**
 * A network outside that moves money. What it throws says nothing about whether it has the payment: ask for it by key. A
 * `WorkError` has a message for operators.
 */
export interface Rail {
  /** Hands a payment over. Answers what the network says of it at once, which may be nothing yet. */
  submit(payment: Payment, signal: AbortSignal): Promise<readonly RailEvent[]>;
  /** What the network has said so far of the payment with this key; undefined when it does not have it. */
  find(key: string, signal: AbortSignal): Promise<readonly RailEvent[] | undefined>;
  /**
   * The next words that have not been acknowledged. They come in no order that means anything, more than once, and as late as they
   * like; to several workers at a time.
   */
  receive(limit: number): Promise<readonly RailWord[]>;
  /** Tells the network that these need not be said again. */
  acknowledge(words: readonly RailWord[]): Promise<void>;
}

/** The key of a payout: its transaction's for ever, whoever tries and however often. */
export function payoutKey(workspaceId: number, transactionId: number): string {
  return `payout-${workspaceId}-${transactionId}`;
}

/** Which transaction a key is of. */
export function transactionOf(key: string): { readonly workspaceId: number; readonly transactionId: number } {
  const [, workspace, transaction] = /^payout-([1-9]\d{0,15})-([1-9]\d{0,15})$/.exec(key) ?? [];
  if (workspace === undefined) throw new Error(`not a key of ours: ${key}`);
  return { workspaceId: Number(workspace), transactionId: Number(transaction) };
}
