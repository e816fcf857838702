import { Refusal, type RefusalReason } from '@banking/domain';

/** A refusal for one field of the request, which its `details` name. @param message by default that of the reason */
export function refusedField(field: string, reason: RefusalReason, message = new Refusal(reason).message): Refusal {
  return new Refusal(reason, message, { details: [{ path: `/${field}`, reason, message }] });
}

export const refusedQuote = (reason: 'quote_unusable' | 'quote_used' | 'quote_expired', message?: string): Refusal =>
  refusedField('quoteID', reason, message);

export const referenceReused = (): Refusal => refusedField('externalReference', 'external_reference_reused');
