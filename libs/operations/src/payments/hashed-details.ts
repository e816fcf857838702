import {
  canonicalConversion,
  canonicalOrder,
  canonicalRecipient,
  type HashedConversion,
  type HashedOrder,
  type HashedRecipient,
} from '@banking/domain/proof';
import { digestNow } from '@banking/ledger';
import type { PaymentFacts } from './payment-facts.js';

/** The details of a recipient as they were read. The fields never change, so no lock is needed. */
export function recipientOf(id: number, facts: PaymentFacts): HashedRecipient {
  return {
    id,
    name: facts.recipient_name,
    accountCode: facts.recipient_account_code,
    currencyCode: facts.recipient_currency,
    corridorId: facts.corridor_id === null ? undefined : Number(facts.corridor_id),
    routingCodeType: facts.routing_code_type ?? undefined,
    routingCode: facts.routing_code ?? undefined,
  };
}

export const digestOfRecipient = (recipient: HashedRecipient): string => digestNow(canonicalRecipient(recipient));
export const digestOfConversion = (conversion: HashedConversion): string => digestNow(canonicalConversion(conversion));
export const digestOfOrder = (order: HashedOrder): string => digestNow(canonicalOrder(order));
