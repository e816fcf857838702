import { canonicalItems, canonicalJson, canonicalMembers, ifDefined } from './canonical-json.js';
import type { Timestamp } from './timestamp.js';
import type { TransferDirection } from './resources/transaction.js';

/** The version of the hash, which its text states. */
export const HASH_VERSION = 1;

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

/** One side of the transaction. */
export interface TransferContent {
  readonly id: number;
  readonly accountId: number;
  readonly currencyCode: string;
  readonly direction: TransferDirection;
  readonly type: string;
  /** Digits, in minor units. */
  readonly amount: string;
  readonly description?: string | undefined;
  readonly purpose?: string | undefined;
  /** The fee of the movement, repeated for display: digits, in minor units. */
  readonly feeAmount?: string | undefined;
  /** The recipient. */
  readonly recipientId?: number | undefined;
  /** The digest of the recipient's name, account and bank; see `canonicalRecipient`. */
  readonly recipientDigest?: string | undefined;
  /** The number of the transfer on its customer account, without gaps. Own accounts have none. */
  readonly accountVersion?: number | undefined;
  /** The balance after the transfer: digits in minor units, with a minus sign below zero. */
  readonly balanceAfter?: string | undefined;
}

/** The end of one account's chain before this transaction. */
export interface ChainLink {
  readonly accountId: number;
  /** SHA-256 in hex of the latest transaction of the account, `''` before its first. */
  readonly hash: string;
}

const transfersText = canonicalItems(
  canonicalMembers<TransferContent>({
    ...{ id: canonicalJson, accountId: canonicalJson, currencyCode: canonicalJson },
    ...{ direction: canonicalJson, type: canonicalJson, amount: canonicalJson },
    ...{ description: ifDefined, purpose: ifDefined, feeAmount: ifDefined },
    ...{ recipientId: ifDefined, recipientDigest: ifDefined, accountVersion: ifDefined, balanceAfter: ifDefined },
  }),
);

const linksText = canonicalItems(canonicalMembers<ChainLink>({ accountId: canonicalJson, hash: canonicalJson }));

const transactionText = canonicalMembers<TransactionContent & { readonly hashVersion: number }>({
  ...{ hashVersion: canonicalJson, workspaceId: canonicalJson, transactionId: canonicalJson },
  ...{ createdAt: canonicalJson, returnOf: ifDefined, orderDigest: ifDefined, conversionDigest: ifDefined },
  transfers: (transfers) => transfersText(transfers.toSorted((left, right) => left.id - right.id)),
  previous: (links) => linksText(links.toSorted((left, right) => left.accountId - right.accountId)),
});

/**
 * The text that is hashed: RFC 8785 JSON of the version and exactly the fields above, with transfers sorted by id and links by account id.
 * Undefined fields are omitted. Fields of other names are ignored.
 */
export const canonicalTransaction = (content: TransactionContent): string =>
  transactionText({ ...content, hashVersion: HASH_VERSION });

/** The hash of a transaction: SHA-256 of its canonical text in UTF-8, 64 hex digits. Also works in a browser. */
export async function transactionHash(content: TransactionContent): Promise<string> {
  return digestOf(canonicalTransaction(content));
}

/** SHA-256 of a text in UTF-8, 64 hex digits. Also works in a browser. */
export async function digestOf(text: string): Promise<string> {
  const digest = await globalThis.crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** The details of a recipient that a transaction covers by their digest. None of them ever changes. */
export interface HashedRecipient {
  readonly id: number;
  readonly name: string;
  readonly accountCode: string;
  readonly currencyCode: string;
  /** Of an international recipient. */
  readonly corridorId?: number | undefined;
  /** The bank of an international recipient. */
  readonly routingCodeType?: string | undefined;
  readonly routingCode?: string | undefined;
}

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
  readonly rateAsOf: string;
  readonly rounding: string;
  /** Digits, in parts of a minor unit of the target currency. */
  readonly remainderNumerator: string;
  readonly remainderDenominator: string;
  readonly fixedSide: string;
}

/** The fields of an order as it was placed, which each of its transactions covers by their digest. */
export interface HashedOrder {
  readonly id: number;
  readonly accountId: number;
  readonly recipientId: number;
  /** Digits, in minor units. */
  readonly amount: string;
  readonly type: string;
  readonly description?: string | undefined;
  readonly purposeCode?: string | undefined;
  readonly repeatUnit?: string | undefined;
  readonly repeatValue?: number | undefined;
  /** As it was sent. */
  readonly startAt?: string | undefined;
  /** In UTC with six fractional digits. */
  readonly stopAt?: string | undefined;
  readonly quoteId?: number | undefined;
  readonly externalReference?: string | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
}

/** The text whose SHA-256 is the `recipientDigest` of a transfer: RFC 8785 JSON of exactly these fields. */
export const canonicalRecipient = canonicalMembers<HashedRecipient>({
  ...{ id: ifDefined, name: ifDefined, accountCode: ifDefined, currencyCode: ifDefined },
  ...{ corridorId: ifDefined, routingCodeType: ifDefined, routingCode: ifDefined },
});

/** The text whose SHA-256 is the `conversionDigest` of a transaction: RFC 8785 JSON of exactly these fields. */
export const canonicalConversion = canonicalMembers<HashedConversion>({
  ...{ sourceCurrencyCode: canonicalJson, sourceAmount: canonicalJson, targetCurrencyCode: canonicalJson },
  ...{ targetAmount: canonicalJson, rate: canonicalJson, rateSource: canonicalJson, rateAsOf: canonicalJson },
  ...{ rounding: canonicalJson, remainderNumerator: canonicalJson, remainderDenominator: canonicalJson },
  ...{ fixedSide: canonicalJson, quoteId: ifDefined },
});

/** The text whose SHA-256 is the `orderDigest` of a transaction: RFC 8785 JSON of exactly these fields. */
export const canonicalOrder = canonicalMembers<HashedOrder>({
  ...{ id: canonicalJson, accountId: canonicalJson, recipientId: canonicalJson, amount: canonicalJson },
  ...{ type: canonicalJson, description: ifDefined, purposeCode: ifDefined, repeatUnit: ifDefined },
  ...{
    repeatValue: ifDefined,
    startAt: ifDefined,
    stopAt: ifDefined,
    quoteId: ifDefined,
    externalReference: ifDefined,
  },
  metadata: (metadata) => metadata && canonicalJson({ ...metadata }),
});
