import { type AccountId, type CurrencyCode, type MinorUnits, minorUnits, type RecipientId, Refusal, type WorkspaceId } from '@banking/domain'; // prettier-ignore
import { bind, statement, type Database } from '@banking/postgres';

/** Who pays whom, as a payment names them. */
export interface PaymentNames {
  readonly workspaceId: WorkspaceId;
  readonly accountID: AccountId;
  readonly recipientID?: RecipientId | undefined;
}

/** A corridor as far as it bounds a payment. Limits are included, in minor units of `limitCurrency`. */
export interface PaidCorridor {
  readonly id: number;
  readonly enabled: boolean;
  readonly payoutMethod: string;
  readonly limitCurrency: CurrencyCode;
  readonly minimum: MinorUnits;
  readonly maximum: MinorUnits;
  /** The least the banks on the way pass on, in minor units of the recipient's currency. */
  readonly swiftMinimum?: MinorUnits;
}

/** From which currency into which, and over which corridor: none to an account of this service. */
export interface PaymentParties {
  readonly from: CurrencyCode;
  readonly to: CurrencyCode;
  readonly recipient?: { readonly corridor?: PaidCorridor };
}

const FIND_PAYER = statement<{ currency: CurrencyCode; status: string }>(
  'find_payer',
  `select c.code as currency, a.status from account a join currency c on c.id = a.currency_id
   where a.workspace_id = $1 and a.id = $2 and a.kind = 'customer'`,
);

interface PayeeRow {
  readonly currency: CurrencyCode;
  readonly corridor_id: bigint | null;
  readonly enabled: boolean;
  readonly payout_method: string;
  readonly limit_currency: CurrencyCode;
  readonly minimum_amount: bigint;
  readonly maximum_amount: bigint;
  readonly swift_minimum: bigint | null;
}

const FIND_PAYEE = statement<PayeeRow>(
  'find_payee',
  `select c.code as currency, r.corridor_id, k.enabled, k.payout_method, l.code as limit_currency, k.minimum_amount, k.maximum_amount,
          c.swift_minimum_withdrawal_amount as swift_minimum
   from recipient r
   join currency c on c.id = r.currency_id
   left join corridor k on k.id = r.corridor_id
   left join currency l on l.id = k.limit_currency_id
   where r.workspace_id = $1 and r.id = $2 and r.forgotten_at is null`,
);

/**
 * Looks up who pays whom.
 *
 * @param targetCurrency what is paid in, where there is no recipient whose currency says it
 * @throws Refusal `account_not_found`, `account_disabled`, `recipient_invalid`
 */
export async function findParties(
  database: Database,
  { workspaceId, accountID, recipientID }: PaymentNames,
  targetCurrency: CurrencyCode | undefined,
): Promise<PaymentParties> {
  const [[payer], [payee]] = await database.flight({ workspaces: [workspaceId] }, [
    bind(FIND_PAYER, workspaceId, accountID),
    bind(FIND_PAYEE, workspaceId, recipientID),
  ] as const);
  if (!payer) throw new Refusal('account_not_found');
  if (recipientID !== undefined && !payee) throw invalidRecipient('The workspace has no recipient with this id.');
  if (payer.status === 'disabled') throw new Refusal('account_disabled');

  const to = payee?.currency ?? targetCurrency;
  if (to === undefined) throw new Error('a payment is to a recipient or in a currency');
  const corridor = payee && corridorOf(payee);
  return { from: payer.currency, to, ...(payee && { recipient: { ...(corridor && { corridor }) } }) };
}

/** The refusal of a recipient who cannot be paid. */
export function invalidRecipient(message: string): Refusal {
  return new Refusal('recipient_invalid', message, {
    details: [{ path: '/recipientID', reason: 'recipient_invalid', message }],
  });
}

function corridorOf(row: PayeeRow): PaidCorridor | undefined {
  if (row.corridor_id === null) return undefined;
  return {
    id: Number(row.corridor_id),
    enabled: row.enabled,
    payoutMethod: row.payout_method,
    limitCurrency: row.limit_currency,
    minimum: minorUnits(row.minimum_amount),
    maximum: minorUnits(row.maximum_amount),
    ...(row.swift_minimum !== null && { swiftMinimum: minorUnits(row.swift_minimum) }),
  };
}
