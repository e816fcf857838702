import type { PostalAddress } from '@banking/payouts';

/** What a network carries: payouts that agree with all that is given. */
export interface Served {
  readonly payoutMethod?: string;
  /** ISO 3166-1 alpha-2. */
  readonly countries?: readonly string[];
  /** ISO 4217. */
  readonly currencies?: readonly string[];
}

/** The address of an account holder, in the elements of ISO 20022 `PostalAddress`. */
export interface HolderAddress extends PostalAddress {
  /** ISO 3166-1 alpha-2. */
  readonly country: string;
}

/** A bank account that payments are made from. */
export interface BankAccount {
  readonly currency: string;
  /** The IBAN, or the number as the bank writes it. */
  readonly id: string;
  readonly isIban: boolean;
  readonly bic: string;
  readonly holder: string;
  readonly holderAddress?: HolderAddress | undefined;
  /** The code of the account of a customer, the operator's own, that gets deposits which name no other. */
  readonly suspenseAccount?: string | undefined;
}

/** A payment network of a bank adapter over HTTP. */
export interface HttpRailConfig {
  readonly name: string;
  readonly kind: 'http';
  /** Undefined for all in the currencies of the accounts. */
  readonly serves?: readonly Served[] | undefined;
  readonly accounts: readonly BankAccount[];
  readonly url: string;
  /** An absolute path. */
  readonly tokenFile: string;
  readonly timeoutMs?: number;
  /** Whether the adapter moves no money. */
  readonly isTestMode: boolean;
}

/** Files of ISO 20022 in a folder that a client of the bank empties and fills. */
export interface FileRailConfig {
  readonly name: string;
  readonly kind: 'iso20022';
  /** Undefined for all in the currencies of the accounts. */
  readonly serves?: readonly Served[] | undefined;
  readonly accounts: readonly BankAccount[];
  /** An absolute path: `out`, `in`, `done` and `refused` are in it, and our own `ready` and `sent`. */
  readonly folder: string;
  /** Whether the bank moves no money. */
  readonly isTestMode: boolean;
  /** What differs from `DEFAULT_DIALECT`. */
  readonly dialect?: Partial<BankDialect> | undefined;
}

/** The messages of payments that are written. */
export const PAYMENT_MESSAGES = ['pain.001.001.09', 'pain.001.001.03'] as const;

/** How one bank wants its files. */
export interface BankDialect {
  readonly message: (typeof PAYMENT_MESSAGES)[number];
  /** Until when, on a bank day, a file is executed on the same day. The time is `hh:mm`, the zone a name of the IANA database. */
  readonly cutOff: { readonly time: string; readonly timeZone: string };
  /** Days without payments by currency, besides weekends and, for EUR, the closing days of T2. ISO 8601. */
  readonly holidays: Readonly<Record<string, readonly string[]>>;
  /** How long the first payment of a file waits for others. */
  readonly closeAfterSeconds: number;
  /** The payments of a file at most. */
  readonly paymentsMax: number;
  /** Whether a payment without the BIC of the creditor's bank is refused. */
  readonly bicRequired: boolean;
  /** One entry on the statement for all payments of a file; undefined leaves it to the bank. */
  readonly batchBooking: boolean | undefined;
  /** `hybrid` has the street in a line of text, beside town and country. */
  readonly addressForm: 'structured' | 'hybrid';
  /** `CreDtTm`: with the offset of the zone of the cut-off, in UTC, or in that zone without an offset. */
  readonly creationTime: 'offset' | 'utc' | 'local';
}

/** The cut-off is earlier than that of most banks, so that a date is not too early: state that of the bank. */
export const DEFAULT_DIALECT: BankDialect = {
  message: 'pain.001.001.09',
  cutOff: { time: '13:00', timeZone: 'UTC' },
  holidays: {},
  closeAfterSeconds: 30,
  paymentsMax: 1_000,
  bicRequired: false,
  batchBooking: undefined,
  addressForm: 'structured',
  creationTime: 'offset',
};

export const dialectOf = ({ dialect }: FileRailConfig): BankDialect => ({ ...DEFAULT_DIALECT, ...dialect });

interface SandboxRailConfig {
  readonly name: string;
  readonly kind: 'sandbox';
  /** Undefined for all. */
  readonly serves?: readonly Served[] | undefined;
}

export type RailConfig = HttpRailConfig | FileRailConfig | SandboxRailConfig;
