import { tracingChannel } from 'node:diagnostics_channel';
import type { Timestamp } from '@banking/domain';
import { bind, type Database, sqlStatement } from '@banking/postgres';
import { type Claim, holdWork, OutageError } from '@banking/work-queue';
import { payoutKey, uetrOf } from './open-payouts.js';
import type { PaymentContent, PaymentReader } from './rail.js';

/** What a hook decides of a payout. */
export type Decision = 'approve' | 'hold' | 'reject';

/** The answer of a hook. */
export interface HookAnswer {
  readonly decision: Decision;
  /** For operators. Customers do not see it. */
  readonly reason?: string | undefined;
}

/** Why a hook has not answered, for operators: "it answered 500". It has nothing of the body. */
export interface NoAnswer {
  readonly failure: string;
}

/** Who pays. */
export interface Payer {
  readonly accountId: number;
  readonly orderId?: number | undefined;
  /** When the payout was made. */
  readonly createdAt: Timestamp;
}

/** Reads the payer of a payout. */
export type PayerReader = (workspaceId: number, transactionId: number) => Promise<Payer>;

/** A question about a payout: the same id and the same content at every try. */
export interface DecisionQuestion {
  /** Letters, digits and hyphens. */
  readonly id: string;
  /** When the payout was made. */
  readonly timestamp: Timestamp;
  readonly data: {
    readonly workspaceID: number;
    readonly accountID: number;
    readonly orderID?: number | undefined;
    readonly transactionID: number;
    /** What arrives, in minor units. */
    readonly amount: string;
    /** ISO 4217. */
    readonly currency: string;
    readonly corridor: {
      readonly country?: string | undefined;
      readonly currency: string;
      readonly payoutMethod?: string | undefined;
    };
    readonly payee: PaymentContent['creditor'];
    readonly purpose?: string | undefined;
    readonly description?: string | undefined;
  };
}

/** Decides payouts before they are submitted. */
export interface DecisionHook {
  /** The answer, or why there is none that can be used. Rejects only for a fault of the caller. */
  ask(question: DecisionQuestion, signal: AbortSignal): Promise<HookAnswer | NoAnswer>;
}

/** What decides payouts that need a decision. */
export interface PayoutDecisions {
  /** Without one, such payouts wait. */
  readonly hook?: DecisionHook | undefined;
  readonly readPayer: PayerReader;
}

/** A question to the hook, from its beginning to its end. */
export interface DecisionMessage {
  readonly result?: HookAnswer | NoAnswer | undefined;
}

export const decisionChannel = tracingChannel<unknown, DecisionMessage>('banking:payouts:decision');

/** A payout of which a hook is asked. */
interface Asked {
  readonly claim: Claim;
  readonly keyNonce: string;
  readonly readPayment: PaymentReader;
}

/**
 * Asks the hook about a payout, and stores the answer under the claim. Without an answer nothing is stored, and it is asked again later.
 *
 * @throws OutageError without an answer, which delays the payout and uses no try
 * @throws LostClaimError or its SQLSTATE if another worker has the payout or an operator has decided; nothing was stored
 */
export async function askHook(
  database: Database,
  hook: DecisionHook,
  readPayer: PayerReader,
  { claim, keyNonce, readPayment }: Asked,
  signal: AbortSignal,
): Promise<void> {
  const { workspaceId, subjectId: transactionId } = claim;
  const [payment, payer] = await Promise.all([
    readPayment(workspaceId, transactionId),
    readPayer(workspaceId, transactionId),
  ]);
  const key = payoutKey({ workspaceId, transactionId, nonce: keyNonce });
  const question = questionOf(key, { workspaceId, transactionId }, payment, payer);
  const ask = () => hook.ask(question, signal);
  const answer = await (decisionChannel.hasSubscribers ? decisionChannel.tracePromise(ask, {}) : ask());
  if ('failure' in answer) throw new OutageError(`the decision hook gave no decision: ${answer.failure}`);
  await database.transaction({ workspaces: [workspaceId] }, (tx) =>
    tx.commit([
      holdWork(claim),
      bind(STORE_DECISION, workspaceId, transactionId, answer.decision, answer.reason ?? null),
    ]),
  );
}

const STORE_DECISION = sqlStatement(
  'store_payout_decision',
  'insert into payout_decision (workspace_id, transaction_id, decision, reason) values ($1, $2, $3, $4)',
);

/** The id is made of the key of the payout, which has random bits: after a restore, a new payout has a question of its own. */
function questionOf(
  key: string,
  { workspaceId, transactionId }: { readonly workspaceId: number; readonly transactionId: number },
  { amount, currency, creditor, description, purpose, payoutMethod }: PaymentContent,
  { accountId, orderId, createdAt }: Payer,
): DecisionQuestion {
  return {
    id: `decision-${uetrOf(key)}`,
    timestamp: createdAt,
    data: {
      ...{ workspaceID: workspaceId, accountID: accountId, orderID: orderId, transactionID: transactionId },
      ...{ amount: amount.toString(), currency, corridor: { country: creditor.bankCountry, currency, payoutMethod } },
      ...{ payee: creditor, purpose, description },
    },
  };
}
