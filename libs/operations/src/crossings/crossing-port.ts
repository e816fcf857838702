import type { MinorUnits } from '@banking/domain';

/** A payment as it is submitted to the database of the payee. The two ids and the nonce are its key: the same at every try. */
export interface SubmittedCrossing {
  readonly originWorkspaceId: number;
  readonly originTransactionId: number;
  readonly keyNonce: string;
  /** Of the account that is paid. */
  readonly accountCode: string;
  readonly currencyId: number;
  readonly amount: MinorUnits;
  /** The type and the text of the payer's transfers. */
  readonly type: string;
  readonly description?: string | undefined;
}

/** Whether the account has the money. Either is final: the key has the same outcome at every later call. */
export type ArrivalOutcome = 'accepted' | 'refused';

/** Submits payments to the databases of their payees. */
export interface CrossingPort {
  /**
   * Submits a payment, once or more often.
   *
   * @throws Refusal `unavailable` if a database is away, or the workspace of the payee is being moved; the outcome is unknown
   */
  arrive(crossing: SubmittedCrossing): Promise<ArrivalOutcome>;
  /** How often a database has answered again after it was away. Tries those that are away. Never throws. */
  returns?(): Promise<number>;
}
