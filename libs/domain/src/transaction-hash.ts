import { canonicalJson, type CanonicalValue } from './canonical-json.js';
import {
  ERASABLE_STATEMENTS,
  type ErasableStatements,
  HASHED_STATEMENTS,
  type HashedStatements,
} from './order-statements.js';
import {
  ANY_TEXT,
  CURRENCY,
  HASH,
  ID,
  INSTANT,
  listOf,
  NOT_NEGATIVE,
  optional,
  POSITIVE,
  record,
  SIGNED,
  text,
  WORD,
} from './record.js';
import type { TransferDirection } from './resources/transaction.js';
import type { Timestamp } from './timestamp.js';

/** The version of the hash, which its text states. */
export const HASH_VERSION = 1;

/** One side of the transaction. */
export interface TransferContent {
  readonly id: number;
  readonly accountId: number;
  readonly currencyCode: string;
  readonly direction: TransferDirection;
  readonly type: string;
  /** Digits, in minor units. */
  readonly amount: string;
  /** The digest of the description; see `canonicalPersonal`. */
  readonly descriptionDigest?: string | undefined;
  readonly purpose?: string | undefined;
  /** The fee of the movement, repeated for display: digits, in minor units. */
  readonly feeAmount?: string | undefined;
  /** The recipient. */
  readonly recipientId?: number | undefined;
  /** The digest of the recipient's account and bank; see `canonicalRecipient`. */
  readonly recipientDigest?: string | undefined;
  /** The number of the transfer on its customer account, without gaps. Own accounts have none. */
  readonly accountVersion?: number | undefined;
  /** The balance after the transfer: digits in minor units, with a minus sign below zero. */
  readonly balanceAfter?: string | undefined;
}

const TRANSFER = record<TransferContent>({
  id: ID,
  accountId: ID,
  currencyCode: CURRENCY,
  direction: text(/^(?:debit|credit)$/, 'has a direction other than debit or credit'),
  type: ANY_TEXT,
  amount: POSITIVE,
  descriptionDigest: optional(HASH),
  purpose: optional(ANY_TEXT),
  feeAmount: optional(NOT_NEGATIVE),
  recipientId: optional(ID),
  recipientDigest: optional(HASH),
  accountVersion: optional(ID),
  balanceAfter: optional(SIGNED),
});

/** SHA-256 in hex of the latest transaction of an account, `''` before its first. */
export const HEAD = text(/^(?:[0-9a-f]{64})?$/);

/** The end of one account's chain before this transaction. */
export interface ChainLink {
  readonly accountId: number;
  /** SHA-256 in hex of the latest transaction of the account, `''` before its first. */
  readonly hash: string;
}

const LINK = record<ChainLink>({ accountId: ID, hash: HEAD });

/**
 * The content that a transaction's hash covers: the time of booking, its transfers, the previous hash of each account, and the order, the
 * conversion and the details of recipients, by their digests.
 * It excludes the status and the time that change, so the hash is permanent.
 */
export interface TransactionContent {
  readonly workspaceId: number;
  readonly transactionId: number;
  /** When it was booked: in UTC with six fractional digits. */
  readonly createdAt: Timestamp;
  /** The transaction that this one reverses. */
  readonly returnOf?: number | undefined;
  /** The digest of the order that it carries out; see `canonicalOrder`. */
  readonly orderDigest?: string | undefined;
  /** The digest of its conversion; see `canonicalConversion`. */
  readonly conversionDigest?: string | undefined;
  readonly transfers: readonly TransferContent[];
  /** One entry for each customer account of the transaction. Own accounts have no chain. */
  readonly previous: readonly ChainLink[];
}

/** The form of the content of a transaction: transfers are sorted by id, links by the id of their account. */
export const TRANSACTION_CONTENT = record<TransactionContent>(
  {
    workspaceId: ID,
    transactionId: ID,
    createdAt: INSTANT,
    returnOf: optional(ID),
    orderDigest: optional(HASH),
    conversionDigest: optional(HASH),
    transfers: listOf(TRANSFER, ({ id }) => id),
    previous: listOf(LINK, ({ accountId }) => accountId),
  },
  {
    constants: {
      values: { hashVersion: HASH_VERSION },
      fault: 'has a hash of a version that this program does not know',
    },
  },
);

/**
 * The text that is hashed: RFC 8785 JSON of the version and exactly the fields above, with transfers sorted by id and links by account id.
 * Undefined fields are omitted. Fields of other names are ignored.
 */
export const canonicalTransaction = TRANSACTION_CONTENT.write;

/** The hash of a transaction: SHA-256 of its canonical text in UTF-8, 64 hex digits. Also works in a browser. */
export async function transactionHash(content: TransactionContent): Promise<string> {
  return digestOf(canonicalTransaction(content));
}

/** SHA-256 of a text in UTF-8, 64 hex digits. Also works in a browser. */
export async function digestOf(text: string): Promise<string> {
  const digest = await globalThis.crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** A random UUID without hyphens, drawn for the personal texts of one record and erased with them. */
const SALT = text<string>(/^[0-9a-f]{32}$/);

/**
 * The text whose SHA-256 covers personal texts: RFC 8785 JSON of an array of their salt and of the texts. Without the salt, a guess of the
 * texts cannot be compared with the digest. So they can be erased, and the hashes that cover the digest stay valid.
 */
const canonicalPersonal = (salt: string, ...texts: readonly CanonicalValue[]): string =>
  canonicalJson([salt, ...texts]);

/** The personal texts of a recipient. A line of an export is without them once they were erased. */
export interface RecipientPerson {
  readonly salt: string;
  readonly name: string;
  readonly accountCode: string;
}

export const RECIPIENT_PERSON = record<RecipientPerson>({ salt: SALT, name: ANY_TEXT, accountCode: ANY_TEXT });

/** The text whose SHA-256 is the `personDigest` of a recipient. */
export const canonicalPerson = ({ salt, name, accountCode }: RecipientPerson): string =>
  canonicalPersonal(salt, name, accountCode);

/** The description of a transfer. A line of an export is without it once it was erased. */
export interface TransferText {
  readonly transferId: number;
  readonly salt: string;
  readonly description: string;
}

export const TRANSFER_TEXT = record<TransferText>({ transferId: ID, salt: SALT, description: ANY_TEXT });

/** The text whose SHA-256 is the `descriptionDigest` of a transfer. */
export const canonicalDescription = ({ salt, description }: Omit<TransferText, 'transferId'>): string =>
  canonicalPersonal(salt, description);

/** The free texts of an order. A line of an export is without them once they were erased. */
export interface OrderTexts extends ErasableStatements {
  readonly salt: string;
}

export const ORDER_TEXTS = record<OrderTexts>({ salt: SALT, ...ERASABLE_STATEMENTS });

/** The text whose SHA-256 is the `textsDigest` of an order. A missing text is `null`. */
export const canonicalOrderTexts = ({ salt, description, metadata }: OrderTexts): string =>
  canonicalPersonal(salt, description ?? null, metadata === undefined ? null : { ...metadata });

/** The text whose SHA-256 is the `digest` of an approval: of its request in canonical JSON. */
export const canonicalRequest = ({ salt, text }: { readonly salt: string; readonly text: string }): string =>
  canonicalPersonal(salt, text);

/** The details of a recipient that a transaction covers by their digest. None of them ever changes. */
export interface HashedRecipient {
  readonly id: number;
  /** The digest of its personal texts; see `canonicalPerson`. */
  readonly personDigest: string;
  readonly currencyCode: string;
  /** Of an international recipient. */
  readonly corridorId?: number | undefined;
  /** The bank of an international recipient. */
  readonly routingCodeType?: string | undefined;
  readonly routingCode?: string | undefined;
}

export const HASHED_RECIPIENT = record<HashedRecipient>({
  id: ID,
  personDigest: HASH,
  currencyCode: CURRENCY,
  corridorId: optional(ID),
  routingCodeType: optional(ANY_TEXT),
  routingCode: optional(ANY_TEXT),
});

/** The text whose SHA-256 is the `recipientDigest` of a transfer: RFC 8785 JSON of exactly these fields. */
export const canonicalRecipient = HASHED_RECIPIENT.write;

/** The conversion of a transaction, which it covers by its digest. */
export interface HashedConversion {
  readonly quoteId?: number | undefined;
  readonly sourceCurrencyCode: string;
  /** Digits, in minor units. */
  readonly sourceAmount: string;
  readonly targetCurrencyCode: string;
  readonly targetAmount: string;
  readonly rate: string;
  readonly rateSource: string;
  /** In UTC with six fractional digits. */
  readonly rateAsOf: Timestamp;
  readonly rounding: string;
  /** Digits, in parts of a minor unit of the target currency. */
  readonly remainderNumerator: string;
  readonly remainderDenominator: string;
  readonly fixedSide: string;
}

export const HASHED_CONVERSION = record<HashedConversion>({
  quoteId: optional(ID),
  sourceCurrencyCode: CURRENCY,
  sourceAmount: POSITIVE,
  targetCurrencyCode: CURRENCY,
  targetAmount: POSITIVE,
  rate: WORD,
  rateSource: ANY_TEXT,
  rateAsOf: INSTANT,
  rounding: WORD,
  remainderNumerator: SIGNED,
  remainderDenominator: SIGNED,
  fixedSide: WORD,
});

/** The text whose SHA-256 is the `conversionDigest` of a transaction: RFC 8785 JSON of exactly these fields. */
export const canonicalConversion = HASHED_CONVERSION.write;

/** The fields of an order as it was placed, which each of its transactions covers by their digest. */
export interface HashedOrder extends HashedStatements {
  readonly id: number;
  readonly accountId: number;
  readonly recipientId: number;
  /** Digits, in minor units. */
  readonly amount: string;
  readonly type: string;
  readonly repeatUnit?: string | undefined;
  /** As it was sent, cut to microseconds. */
  readonly startAt?: string | undefined;
  /** In UTC with six fractional digits. */
  readonly stopAt?: string | undefined;
  readonly quoteId?: number | undefined;
  /** SHA-256 in hex of the request that was approved; see `Approval`. */
  readonly approvalDigest?: string | undefined;
  /** The digest of its free texts; see `canonicalOrderTexts`. */
  readonly textsDigest?: string | undefined;
}

export const HASHED_ORDER = record<HashedOrder>({
  id: ID,
  accountId: ID,
  recipientId: ID,
  amount: POSITIVE,
  type: text(/^[a-z]+$/),
  ...HASHED_STATEMENTS,
  repeatUnit: optional(ANY_TEXT),
  startAt: optional(ANY_TEXT),
  stopAt: optional(ANY_TEXT),
  quoteId: optional(ID),
  textsDigest: optional(HASH),
  approvalDigest: optional(HASH),
});

/** The text whose SHA-256 is the `orderDigest` of a transaction: RFC 8785 JSON of exactly these fields. */
export const canonicalOrder = HASHED_ORDER.write;
