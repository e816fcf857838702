import { tracingChannel } from 'node:diagnostics_channel';
import type { MinorUnits, PayeeVerificationResult } from '@banking/domain';
import type { Chore } from '@banking/work-queue';
import type { Outgoing } from './open-payouts.js';

/** An address in elements. Its country is beside it. */
export interface PostalAddress {
  readonly streetName?: string | undefined;
  readonly buildingNumber?: string | undefined;
  readonly postCode?: string | undefined;
  readonly townName: string;
}

/** The amount that arrives, and its creditor. */
export interface PaymentContent {
  readonly amount: MinorUnits;
  /** ISO 4217. */
  readonly currency: string;
  readonly creditor: {
    readonly name: string;
    readonly account: string;
    /** Such as `SWIFT` or `IFSC`, and the code itself. */
    readonly routing?: { readonly type: string; readonly code: string } | undefined;
    /** As the recipient has it. */
    readonly address?: string | undefined;
    /** Of the address: ISO 3166-1 alpha-2. */
    readonly country?: string | undefined;
    /** Where the account is: ISO 3166-1 alpha-2. */
    readonly bankCountry?: string | undefined;
    /** The address in the elements of ISO 20022 `PostalAddress`, where the recipient has it so. */
    readonly postalAddress?: PostalAddress | undefined;
  };
  readonly description?: string | undefined;
  /** The purpose code of the order. */
  readonly purpose?: string | undefined;
  /** Of the corridor, such as `SWIFT` or `LOCAL`. */
  readonly payoutMethod?: string | undefined;
}

/** Reads the payment of a transaction. */
export type PaymentReader = (workspaceId: number, transactionId: number) => Promise<PaymentContent>;

/** An account that a payer knows, and the name of its holder. */
export interface Payee extends Pick<PaymentContent['creditor'], 'name' | 'account' | 'routing' | 'bankCountry'> {
  /** ISO 4217, of payments to it. */
  readonly currency: string;
}

/** Whether the holder has that name. */
export interface PayeeVerification {
  readonly result: PayeeVerificationResult;
  /** With `close_match` only: the name of the holder. */
  readonly name?: string | undefined;
}

/** Asks the network of a destination about a payee. Undefined if no network that answers serves it. */
export type VerifyPayee = (
  destination: PayoutDestination,
  payee: Payee,
  signal: AbortSignal,
) => Promise<PayeeVerification | undefined>;

/** A payment as it is submitted to a network. */
export interface Payment extends PaymentContent {
  /** The same at every try, so that a network that receives it twice has one payment. */
  readonly key: string;
}

/** An event of a payment as the network delivers it. */
export interface DeliveredRailEvent {
  /** The network's id of the delivery. */
  readonly id: string;
  readonly key: string;
  readonly event: RailEvent;
  /** What the network has, if it says so with its events. An event of another amount than that of the books is not recorded. */
  readonly content?: Pick<FoundPayment, 'amount' | 'currency'> | undefined;
}

/** A payment as the network has it. */
export interface FoundPayment {
  readonly amount: MinorUnits;
  /** ISO 4217. */
  readonly currency: string;
  /** The events so far, the earliest first. */
  readonly events: readonly RailEvent[];
}

/** A payment as the network lists it. */
export interface SubmittedPayment extends FoundPayment {
  readonly key: string;
  /** When the network accepted it: RFC 3339. */
  readonly acceptedAt: string;
}

/** What decides which payment network carries a payout. */
export interface PayoutDestination {
  /** ISO 3166-1 alpha-2. */
  readonly country: string;
  /** ISO 4217, of the amount that arrives. */
  readonly currency: string;
  /** Of the corridor, such as `SWIFT` or `LOCAL`. */
  readonly payoutMethod: string;
}

/** Which payment network carries a payout. A payout keeps its network for ever. */
export interface RailRouting {
  /** The names of the networks. */
  readonly names: readonly string[];
  /** The name of the network; undefined if none serves the destination: nothing is debited then. */
  railFor(destination: PayoutDestination): string | undefined;
  /** Whether that network takes no payment without the town of the creditor. Recipients need one then. */
  needsPostalAddress(destination: PayoutDestination): boolean;
  /** Why that network can carry no payment to the creditor, in words for customers; undefined if it can. */
  faultOf(destination: PayoutDestination, creditor: PaymentContent['creditor']): string | undefined;
}

/** The payment networks that a process calls, by name. */
export type OpenRails = ReadonlyMap<string, Rail>;

/** A deployment without a payment network. */
export const NO_RAILS: RailRouting = {
  names: [],
  railFor: () => undefined,
  needsPostalAddress: () => false,
  faultOf: () => undefined,
};

/**
 * A payment network. After an error the network may have the payment: find it by key. A `WorkError` has a message for operators.
 */
export interface Rail {
  /** Submits a payment. Returns the events that the network reports at once, which may be none yet. */
  submit(payment: Payment, signal: AbortSignal): Promise<readonly RailEvent[]>;
  /**
   * The payment with this key; undefined when the network does not have it. At least the delivered events that are not acknowledged are
   * with it, so that a worker records again what could not be recorded.
   */
  find(key: string, signal: AbortSignal): Promise<FoundPayment | undefined>;
  /**
   * A page of the payments that the network accepted since a time (RFC 3339), in the order of their keys. The next page begins after
   * the last key of this one; an empty page is the end.
   */
  listSubmitted(since: string, afterKey: string | undefined, signal: AbortSignal): Promise<readonly SubmittedPayment[]>;
  /**
   * The next events that are not acknowledged: in any order, more than once, at any time, and to several workers at a time.
   *
   * A network that several databases share delivers the events of all workspaces to each of their workers. A worker leaves those of other
   * databases unacknowledged. Where there are many, let the network select them by the workspace in the key.
   */
  receive(
    limit: number,
    signal?: AbortSignal,
    onError?: (error: unknown) => void,
  ): Promise<readonly DeliveredRailEvent[]>;
  /** Acknowledges events, so that the network does not deliver them again. */
  acknowledge(events: readonly DeliveredRailEvent[]): Promise<void>;
  /** Whether an account belongs to a name. Left out by a network that cannot tell; undefined if its bank cannot. */
  verifyPayee?(payee: Payee, signal: AbortSignal): Promise<PayeeVerification | undefined>;
  /** What a worker does for the network besides, such as writing files. */
  readonly chores?: readonly Chore[] | undefined;
}

/** An event of a payout that a network reported. */
export interface RailEvent {
  /** The provider's own id of the event. With the same status it is recorded once; with another it is an event of its own. */
  readonly providerEvent: string;
  /** ISO 20022 payment status, such as `ACSP`, `ACCC`, `RJCT`. */
  readonly status: string;
  /** The network's reason code, unchanged, such as `G000` or `AC04`. */
  readonly reasonCode?: string | undefined;
  readonly message?: string | undefined;
  /** With `RJCT`: the bank has the money again. It goes back to the customer, also after the payment had arrived. */
  readonly isReturn?: boolean | undefined;
}

/**
 * Whether a status says that a payment has arrived: at the bank of the creditor (`ACSC`) or on the account (`ACCC`). After both, only
 * a return brings the money back.
 */
export const isArrival = (status: string): boolean => status === 'ACCC' || status === 'ACSC';

/** An event with the payout that it belongs to. */
export interface PayoutEvent extends Outgoing {
  readonly event: RailEvent;
}

/** A call of the payment network, from its beginning to its response. Its error is in `error`. See `channels.ts` of `@banking/postgres`. */
export interface NetworkMessage {
  /** The name of the network. */
  readonly rail: string;
  readonly operation: 'submit' | 'find' | 'receive' | 'acknowledge' | 'verify';
  /** Ends the call. The call took too long if it is aborted at the end. */
  readonly signal?: AbortSignal | undefined;
}

export const networkChannel = tracingChannel<unknown, NetworkMessage>('banking:payouts:network');

/** Calls the network. */
export function traceNetwork<T>(message: NetworkMessage, call: () => Promise<T>): Promise<T> {
  return networkChannel.hasSubscribers ? networkChannel.tracePromise(call, message) : call();
}
