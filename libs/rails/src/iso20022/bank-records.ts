import type { MinorUnits } from '@banking/domain';

/**
 * What the messages of a bank's file say, in the order of the file. A reader yields them one after another, so that a file of any size is
 * read in bounded memory.
 */
export type BankRecord = MessageRecord | StatusRecord | StatementRecord | EntryRecord;

/** The beginning of a message. */
export interface MessageRecord {
  readonly kind: 'message';
  /** Such as `pain.002.001.10`. */
  readonly message: string;
  readonly messageId: string;
}

/** A status of payments of ours (`pain.002`). */
export interface StatusRecord {
  readonly kind: 'status';
  /** The message of ours that it is about. */
  readonly originalMessageId: string;
  /**
   * Of one payment; undefined for a status of the whole group or of a `PmtInf`, which holds for each of its payments that the message does
   * not name. Those are known at the end of the message.
   */
  readonly endToEndId?: string | undefined;
  /** Of one payment that the message names by it only. */
  readonly uetr?: string | undefined;
  readonly paymentInformationId?: string | undefined;
  /** ISO 20022 ExternalPaymentTransactionStatus1Code; undefined for a payment that is named without one. */
  readonly status?: string | undefined;
  readonly reasonCode?: string | undefined;
  readonly reasonText?: string | undefined;
}

/** A statement or a notification of one bank account: its entries follow. */
export interface StatementRecord {
  readonly kind: 'statement';
  /** Only a `statement` (`camt.053`) has balances that are reconciled. */
  readonly form: 'statement' | 'notification' | 'report';
  readonly id: string;
  /** As the bank numbers it. */
  readonly sequence?: string | undefined;
  readonly account: BankAccountName;
  /** Booked balances (`OPBD` or `PRCD`, `CLBD`): the earliest and the latest. */
  readonly opening?: StatedBalance | undefined;
  readonly closing?: StatedBalance | undefined;
}

export interface StatedBalance {
  /** In minor units; below zero for a debit balance. */
  readonly amount: bigint;
  /** ISO 4217. */
  readonly currency: string;
  /** ISO 8601 date. */
  readonly date: string;
}

/** How a file names one of our accounts. */
interface BankAccountName {
  readonly iban?: string | undefined;
  readonly other?: string | undefined;
  readonly currency?: string | undefined;
}

/** An entry of the statement before it, or one detail of an entry that stands for several payments. */
export interface EntryRecord {
  readonly kind: 'entry';
  readonly direction: 'credit' | 'debit';
  readonly amount: MinorUnits;
  /** ISO 4217. */
  readonly currency: string;
  readonly status: 'pending' | 'booked';
  readonly isReversal: boolean;
  /** ISO 8601 dates. */
  readonly bookedOn?: string | undefined;
  readonly valueOn?: string | undefined;
  /** Where in the file it is, in words for operators. */
  readonly place: string;
  /** What makes it the same entry in another file of the same account, within 200 characters. See `entry-identity.ts`. */
  readonly identity: string;
  readonly endToEndId?: string | undefined;
  readonly uetr?: string | undefined;
  /** `AcctSvcrRef`: of the detail, or of an entry that stands for one payment. */
  readonly bankReference?: string | undefined;
  /** `AcctSvcrRef` of the entry, on each detail of an entry that stands for several payments, and on their total. */
  readonly batchReference?: string | undefined;
  /** On the total of several payments whose details this file does not give: how many they are. */
  readonly batchCount?: number | undefined;
  readonly creditorReference?: string | undefined;
  readonly remittance?: string | undefined;
  /** The payer of a credit, or the payee of a debit. */
  readonly party: EntryParty;
  /** `RtrInf/Rsn`, or `NARR` if a return has no code. */
  readonly returnReason?: string | undefined;
}

export interface EntryParty {
  readonly name?: string | undefined;
  readonly account?: string | undefined;
  readonly bank?: string | undefined;
}

/**
 * A file of a bank that is not read. The message says what is wrong in words for operators. It quotes nothing of the file but the reference and
 * the amount of an entry: what payers wrote is not for logs.
 */
export class BankFileError extends Error {
  override readonly name = 'BankFileError';

  /** @param endsEarly whether the file may be complete later, because its sender still writes it */
  constructor(
    message: string,
    readonly endsEarly = false,
  ) {
    super(message);
  }
}
