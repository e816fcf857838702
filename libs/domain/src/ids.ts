declare const kind: unique symbol;

/** The id of a record of one kind: a whole number from 1 to {@link ID_MAX}. */
type Id<Kind extends string> = number & { readonly [kind]: Kind };

export type AppId = Id<'App'>;
export type UserId = Id<'User'>;
/** Also the value of the Workspace-ID header. */
export type WorkspaceId = Id<'Workspace'>;
export type RoleId = Id<'Role'>;
export type ProductId = Id<'Product'>;
/** The numeric code of ISO 4217: 978 for EUR, 8 for ALL (which ISO writes 008). */
export type CurrencyId = Id<'Currency'>;
export type AccountId = Id<'Account'>;
export type BalanceId = Id<'Balance'>;
export type RecipientId = Id<'Recipient'>;
export type BankId = Id<'Bank'>;
export type BeneficiaryId = Id<'Beneficiary'>;
export type CorridorId = Id<'Corridor'>;
export type TransferId = Id<'Transfer'>;
export type TransactionId = Id<'Transaction'>;
export type RemittanceId = Id<'Remittance'>;
export type RemittanceEventId = Id<'RemittanceEvent'>;
export type OrderId = Id<'Order'>;
export type ExecutionId = Id<'Execution'>;
export type QuoteId = Id<'Quote'>;
export type DepositId = Id<'Deposit'>;
export type ApprovalId = Id<'Approval'>;
export type EventId = Id<'Event'>;
export type AuditEventId = Id<'AuditEvent'>;
export type MemberId = Id<'Member'>;
export type WebhookEndpointId = Id<'WebhookEndpoint'>;
export type WebhookDeliveryId = Id<'WebhookDelivery'>;
export type ServiceAccountId = Id<'ServiceAccount'>;
export type ServiceAccountKeyId = Id<'ServiceAccountKey'>;

/** A plain number as an argument for an id, which is checked at run time. The id of another kind does not compile. */
export type PlainNumber = number & { readonly [kind]?: never };

/** The largest id: 2^53 - 1, the largest integer that every JSON parser reads without loss. */
export const ID_MAX = Number.MAX_SAFE_INTEGER;

const ID = /^[1-9][0-9]{0,15}$/;

/**
 * Reads an id from a path, a query or a header: `parseId<TransferId>('42')`.
 *
 * Each id has one spelling, in ASCII digits without sign, leading zero or space. Returns `undefined` for any other text, so that
 * each caller can choose its refusal.
 */
export function parseId<T extends Id<string>>(text: string): T | undefined {
  if (!ID.test(text)) return undefined;
  const id = Number(text);
  return id <= ID_MAX ? (id as T) : undefined;
}
