import type { Database } from '@banking/postgres';
import { digestOfRecipient, recipientOf } from './hashed-details.js';
import { type NamedPayment, readPaymentFacts } from './payment-facts.js';

/** The digest of a recipient for a payment that is booked without an order. The recipient must exist. */
export async function readRecipientDigest(
  database: Database,
  payment: NamedPayment & { readonly recipientId: number },
): Promise<string> {
  const [facts] = await readPaymentFacts(database, [payment], false);
  if (!facts?.recipient_kind) throw new Error(`there is no recipient ${payment.recipientId}`);
  return digestOfRecipient(recipientOf(payment.recipientId, facts));
}
