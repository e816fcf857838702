/** What a network carries: payouts that agree with all that is given. */
export interface Served {
  readonly payoutMethod?: string;
  /** ISO 3166-1 alpha-2. */
  readonly countries?: readonly string[];
  /** ISO 4217. */
  readonly currencies?: readonly string[];
}

/** A bank account that payments are made from. */
export interface BankAccount {
  readonly currency: string;
  /** The IBAN, or the number as the bank writes it. */
  readonly id: string;
  readonly isIban: boolean;
  readonly bic: string;
  readonly holder: string;
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
  /** An absolute path: `out`, `in`, `done` and `refused` are in it. */
  readonly folder: string;
  /** Whether the bank moves no money. */
  readonly isTestMode: boolean;
}

interface SandboxRailConfig {
  readonly name: string;
  readonly kind: 'sandbox';
  /** Undefined for all. */
  readonly serves?: readonly Served[] | undefined;
}

export type RailConfig = HttpRailConfig | SandboxRailConfig;
