import { randomBytes } from 'node:crypto';
import { open, readFile, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { syncFolder } from '../durable-files.js';

/**
 * All that the bank remembers. It is one file, which is replaced as a whole, so that a change is there or is not. Amounts are digits in
 * minor units.
 */
export interface BankState {
  /** Random, so that the references of a bank that begins anew are new. */
  readonly id: string;
  /** The last number of a reference or a message. */
  lastNumber: number;
  readonly accounts: AccountState[];
  /** What is in the world outside of the accounts, by currency. With their balances it is always zero. */
  readonly outside: Record<string, string>;
  /** By `MsgId`. */
  readonly messages: Record<string, MessageState>;
  /** The files that were taken from `out`. */
  readonly taken: TakenFile[];
  /** In the order in which they are due. */
  due: DueStep[];
  /** Files that are complete in `ready`, and belong into `in`. */
  ready: string[];
  /** The latest requests that were carried out. */
  handled: string[];
  /** Milliseconds since 1970; undefined without statements at an interval. */
  nextStatementAt?: number | undefined;
}

export interface AccountState {
  readonly id: string;
  readonly isIban: boolean;
  readonly currency: string;
  readonly holder: string;
  readonly bic?: string | undefined;
  balance: string;
  /** Of the last statement. */
  sequence: number;
  closing: string;
  closedOn: string;
  /** Those that no statement has yet. */
  unstated: Entry[];
}

/** What is booked at once on an account. */
export interface Entry {
  /** Of the bank, at most 16 characters. */
  readonly reference: string;
  readonly direction: 'credit' | 'debit';
  readonly amount: string;
  /** ISO 8601 date. */
  readonly on: string;
  readonly isSepa: boolean;
  readonly details: readonly EntryDetail[];
}

export interface EntryDetail {
  readonly amount: string;
  readonly endToEndId?: string | undefined;
  readonly instructionId?: string | undefined;
  readonly uetr?: string | undefined;
  readonly messageId?: string | undefined;
  readonly groupId?: string | undefined;
  /** The payer of a credit, or the payee of a debit. */
  readonly party: {
    readonly name?: string | undefined;
    readonly account?: string | undefined;
    readonly isIban?: boolean;
    readonly bic?: string | undefined;
  };
  readonly remittance: readonly string[];
  readonly creditorReference?: string | undefined;
  readonly returnReason?: string | undefined;
}

export interface MessageState {
  /** Such as `pain.001.001.09`. */
  readonly name: string;
  readonly groups: readonly { readonly id: string; readonly isBatch: boolean }[];
  readonly payments: readonly PaymentState[];
}

export interface PaymentState {
  /** Its place in `groups`. */
  readonly group: number;
  /** Its place in `accounts`. */
  readonly account: number;
  readonly endToEndId: string;
  readonly instructionId?: string | undefined;
  readonly uetr?: string | undefined;
  readonly amount: string;
  readonly isSepa: boolean;
  readonly creditor: EntryDetail['party'];
  readonly remittance: readonly string[];
  readonly creditorReference?: string | undefined;
  isDebited: boolean;
  isReturned: boolean;
}

interface TakenFile {
  readonly name: string;
  /** SHA-256 of its bytes, in hex. */
  readonly digest: string;
  /** Below the folder `bank`. */
  readonly movedTo: string;
}

/** A status that the bank will report. */
export interface DueStep {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly messageId: string;
  readonly message: string;
  /** Of the message, if the report has one. */
  readonly group?: StatusState | undefined;
  /** Of each `PmtInf` with one. */
  readonly groups: readonly (StatusState & { readonly id: string })[];
  readonly payments: readonly (StatusState & { readonly payment: number })[];
  /** Payments that come back. */
  readonly returns: readonly { readonly payment: number; readonly reason: string }[];
}

export interface StatusState {
  readonly status: string;
  readonly reason?: string | undefined;
  readonly text?: string | undefined;
}

const NEW = (): BankState => ({
  id: randomBytes(4).toString('hex').toUpperCase(),
  lastNumber: 0,
  accounts: [],
  outside: {},
  messages: {},
  taken: [],
  due: [],
  ready: [],
  handled: [],
});

/** @throws Error if the file is not of this bank */
export async function loadState(path: string): Promise<BankState> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return NEW();
    throw error;
  }
  return JSON.parse(text) as BankState;
}

export const saveState = (path: string, state: BankState): Promise<void> => writeDurably(path, JSON.stringify(state));

/** The end of the name of a file that is not complete. */
export const PART = '.part';

/** Replaces a file as a whole: a reader sees the one before or this one, also after a loss of power. */
export async function writeDurably(path: string, text: string): Promise<void> {
  const part = join(dirname(path), `.${randomBytes(6).toString('hex')}${PART}`);
  const file = await open(part, 'w');
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(part, path);
  await syncFolder(dirname(path));
}
