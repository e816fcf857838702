import {
  ANY_TEXT,
  CURRENCY,
  HASH,
  ID,
  INSTANT,
  LineFault,
  listOf,
  type Members,
  membersOf,
  nested,
  optional,
  record,
  type RecordFormat,
  SIGNED,
  text,
  whole,
  WORD,
} from './record.js';
import type { Timestamp } from './timestamp.js';
import {
  HASHED_CONVERSION,
  HASHED_ORDER,
  HASHED_RECIPIENT,
  type HashedConversion,
  type HashedOrder,
  type HashedRecipient,
  HEAD,
  ORDER_TEXTS,
  type OrderTexts,
  RECIPIENT_PERSON,
  type RecipientPerson,
  TRANSACTION_CONTENT,
  type TransactionContent,
  TRANSFER_TEXT,
  type TransferText,
} from './transaction-hash.js';

/** The format and version in the first line. */
export const EXPORT_FORMAT = 'banking-export';
export const EXPORT_VERSION = 1;

const COUNT = whole();

/** Without control characters, because `banking prove` prints it to a terminal. */
const NAME = text(/^\P{Cc}*$/u);

/** The first line. No hash covers its name and time. */
export interface ExportHeader {
  readonly workspace: { readonly id: number; readonly name: string };
  /** The instant of the exported state. */
  readonly exportedAt: Timestamp;
  /** The number of following lines of each kind. */
  readonly accounts: number;
  readonly transactions: number;
}

const HEADER = record<ExportHeader>(
  {
    workspace: nested(record<ExportHeader['workspace']>({ id: ID, name: NAME })),
    exportedAt: INSTANT,
    accounts: COUNT,
    transactions: COUNT,
  },
  {
    constants: {
      values: { format: EXPORT_FORMAT, formatVersion: EXPORT_VERSION },
      fault: `is not the header of ${EXPORT_FORMAT} version ${EXPORT_VERSION}`,
    },
  },
);

/** An account with its claimed final state. These lines follow the first, in the order of their ids. */
export interface ExportedAccount {
  readonly id: number;
  /** `customer`, or the purpose of an own account of the bank: `settlement`, `fees`, `fx`, `interworkspace`. */
  readonly kind: string;
  readonly currencyCode: string;
  /** Credits less debits: digits in minor units, with a minus sign below zero. */
  readonly balance: string;
  /** The number of transfers of a customer account; 0 on own accounts. */
  readonly version: number;
  /** The hash of the latest transaction of a customer account; `''` before its first and on own accounts. */
  readonly head: string;
}

const ACCOUNT = record<ExportedAccount>({
  id: ID,
  kind: text(/^[a-z]+$/),
  currencyCode: CURRENCY,
  balance: SIGNED,
  version: COUNT,
  head: HEAD,
});

/** A transaction. It follows all earlier transactions of its customer accounts. */
export interface ExportedTransaction {
  /** The hashed content. Its text in the line is exactly the hashed text. */
  readonly content: TransactionContent;
  readonly hash: string;
  /** The descriptions of its transfers, but for those that were erased. */
  readonly descriptions?: readonly TransferText[] | undefined;
  /** Not covered by the hash, because it changes after the money moved. The same applies to the time. */
  readonly status: string;
  readonly updatedAt: Timestamp;
}

const TRANSACTION = record<ExportedTransaction>({
  content: nested(TRANSACTION_CONTENT),
  hash: HASH,
  descriptions: optional(listOf(TRANSFER_TEXT, ({ transferId }) => transferId)),
  status: WORD,
  updatedAt: INSTANT,
});

/** A recipient. These lines follow the accounts, in the order of their ids. */
export interface ExportedRecipient {
  readonly content: HashedRecipient;
  /** Its name and account. Missing once they were erased. */
  readonly person?: RecipientPerson | undefined;
  /** SHA-256 of the text of `content` in the line. Its transfers contain it. */
  readonly digest: string;
}

const RECIPIENT = record<ExportedRecipient>({
  content: nested(HASHED_RECIPIENT),
  person: optional(nested(RECIPIENT_PERSON)),
  digest: HASH,
});

/**
 * An order. Scheduled and recurring orders follow the recipients, each with its executions without a transaction. An instant order
 * follows its transaction.
 */
export interface ExportedOrder {
  readonly content: HashedOrder;
  /** Its free texts. Missing without any, and once they were erased. */
  readonly texts?: OrderTexts | undefined;
  /** SHA-256 of the text of `content` in the line. Its transactions contain it. */
  readonly digest: string;
  /** Not covered by a hash, as of when it was read. */
  readonly status: string;
  readonly createdAt: Timestamp;
}

const ORDER = record<ExportedOrder>({
  content: nested(HASHED_ORDER),
  texts: optional(nested(ORDER_TEXTS)),
  digest: HASH,
  status: text(/^(?:active|completed|cancelled|failed)$/),
  createdAt: INSTANT,
});

/** A run of an order. It follows its transaction, and its order if that is instant. Without a transaction, it follows its order. */
export interface ExportedExecution {
  readonly id: number;
  readonly orderId: number;
  readonly sequence: number;
  /** Not covered by a hash, as of when it was read. The same applies to the other fields, except the two ids. */
  readonly status: string;
  readonly scheduledAt: Timestamp;
  readonly failureCode?: string | undefined;
  readonly transactionId?: number | undefined;
  /** With a transaction only. */
  readonly executedAt?: Timestamp | undefined;
}

const EXECUTION = record<ExportedExecution>(
  {
    id: ID,
    orderId: ID,
    sequence: ID,
    status: text(/^(?:scheduled|pending|completed|failed|cancelled)$/),
    scheduledAt: INSTANT,
    failureCode: optional(ANY_TEXT),
    transactionId: optional(ID),
    executedAt: optional(INSTANT),
  },
  {
    fault({ status, failureCode, transactionId, executedAt }) {
      if ((status === 'failed') !== (failureCode !== undefined)) {
        return status === 'failed' ? 'has a failed execution without failureCode' : 'has failureCode without a failure';
      }
      if ((transactionId === undefined) === (executedAt === undefined)) return undefined;
      return `has ${executedAt === undefined ? 'transactionId without executedAt' : 'executedAt without transactionId'}`;
    },
  },
);

/** The conversion of a transaction. It follows its transaction. */
export interface ExportedConversion {
  readonly content: HashedConversion;
  /** SHA-256 of the text of `content` in the line. Its transaction contains it. */
  readonly digest: string;
  readonly transactionId: number;
}

const CONVERSION = record<ExportedConversion>({
  content: nested(HASHED_CONVERSION),
  digest: HASH,
  transactionId: ID,
});

/** An event of the payment network. It follows its transaction. No hash covers it, as of when it was read. */
export interface ExportedEvent {
  readonly id: number;
  readonly transactionId: number;
  readonly providerEvent: string;
  readonly status: string;
  readonly reasonCode?: string | undefined;
  readonly message?: string | undefined;
  readonly createdAt: Timestamp;
}

const EVENT = record<ExportedEvent>({
  id: ID,
  transactionId: ID,
  providerEvent: ANY_TEXT,
  status: ANY_TEXT,
  reasonCode: optional(ANY_TEXT),
  message: optional(ANY_TEXT),
  createdAt: INSTANT,
});

/** The kinds of lines besides accounts and transactions, as the last line counts them. */
export const DETAILS = ['recipients', 'orders', 'executions', 'conversions', 'events'] as const;

/** The last line. Without it, the export is incomplete. */
export interface ExportEnd extends Readonly<Record<(typeof DETAILS)[number], number>> {
  readonly accounts: number;
  readonly transactions: number;
  readonly transfers: number;
}

const END = record<ExportEnd>({
  ...{ accounts: COUNT, transactions: COUNT, transfers: COUNT },
  ...{ recipients: COUNT, orders: COUNT, executions: COUNT, conversions: COUNT, events: COUNT },
});

/** The lines by the name of their only member. */
const LINES = {
  ...{ header: HEADER, account: ACCOUNT, transaction: TRANSACTION, recipient: RECIPIENT, order: ORDER },
  ...{ execution: EXECUTION, conversion: CONVERSION, event: EVENT, end: END },
} as const;

/** One line of an export. Its only member names its kind. */
export type ExportLine =
  | { readonly header: ExportHeader }
  | { readonly account: ExportedAccount }
  | { readonly recipient: ExportedRecipient }
  | { readonly order: ExportedOrder }
  | { readonly transaction: ExportedTransaction }
  | { readonly execution: ExportedExecution }
  | { readonly conversion: ExportedConversion }
  | { readonly event: ExportedEvent }
  | { readonly end: ExportEnd };

const formatOf = (kind: string) => LINES[kind as keyof typeof LINES] as RecordFormat<unknown>;

/** Writes a line of an export in its only form, RFC 8785 JSON, without the line feed. */
export function exportLine(line: ExportLine): string {
  const [[kind, value] = ['', undefined]] = Object.entries(line);
  return `{"${kind}":${formatOf(kind).write(value)}}`;
}

/**
 * Reads a line of an export strictly: it must have every field, each of its type, no other field, and the canonical form. So two
 * readers cannot read the same line differently.
 *
 * @throws LineFault
 */
export function readExportLine(text: string): ExportLine {
  const members = parsed(text);
  const kind = Object.keys(LINES).find((name) => Object.hasOwn(members, name));
  if (kind === undefined) throw new LineFault('is none of the lines of an export');
  const line = { [kind]: formatOf(kind).read(membersOf(members[kind], kind)) } as ExportLine;
  if (exportLine(line) !== text) {
    throw new LineFault('has a field that is not known, or is not RFC 8785 JSON with transfers and links in id order');
  }
  return line;
}

function parsed(text: string): Members {
  try {
    return membersOf(JSON.parse(text), 'the line');
  } catch (error) {
    if (error instanceof SyntaxError) throw new LineFault('is not JSON');
    throw error;
  }
}
