import {
  Refusal,
  type AddInternationalRecipientInput,
  type Created,
  type RequestOptions,
  type Recipient,
  type RefusalDetail,
} from '@banking/domain';
import { bankOf, checkBeneficiaryTexts, checkRecipient } from '@banking/reference';
import { corridorChoice, corridorsRead, schemasOf } from './corridor-schemas.js';
import type { AuditedCall } from '../audit/audited-call.js';
import type { Reading } from '../resources/reading.js';
import { recipientQuery } from './get-recipient.js';
import { createOnce } from '../idempotency/create-once.js';
import { nextRecipient, recordRecipient } from './insert-recipient.js';

/**
 * Checks the details against the schemas that `listRecipientSchemas` returns. A closed corridor accepts recipients: it may be open at the
 * time of a payment. The texts are checked before the key, which has a hash of them.
 *
 * @throws Refusal `corridor_not_found`, `recipient_invalid`, and those of `createOnce`
 */
export async function addInternationalRecipient(
  reading: Reading,
  caller: AuditedCall,
  { countryCode, currencyCode, payoutMethod, data, alias, saved }: AddInternationalRecipientInput,
  options: RequestOptions,
): Promise<Created<Recipient>> {
  refuseFaults(checkBeneficiaryTexts(data));
  const { workspaceId } = caller;
  const query = { countryCode, currencyCode, payoutMethod };
  const note = { ...(alias !== undefined && { alias }), ...(saved !== undefined && { saved }) };
  const request = { workspaceId, operation: 'addInternationalRecipient', content: { ...query, data, ...note } };
  return createOnce(reading, request, options, caller, async (tx) => {
    const choice = corridorChoice(query);
    if (!choice) throw new Refusal('corridor_not_found');
    const [corridors, [next]] = await tx.pipeline([corridorsRead(choice), nextRecipient] as const);
    refuseFaults(checkRecipient(schemasOf(choice, corridors), data));

    const corridor = corridors.find((row) => row.beneficiary_account_type === data.beneficiaryAccountType);
    if (!corridor || !next) throw new Error('the corridor of the checked details is missing');
    const id = Number(next.id);
    const { beneficiaryName: name = '', beneficiaryAccountNumber: accountCode = '' } = data;
    const swiftCode = bankOf(data.routingCodeType1 ?? '', data.routingCodeValue1 ?? '')?.swiftCode;
    const abroad = { corridorId: Number(corridor.id), data, swiftCode };
    const currencyId = corridor.destination_currency_id;
    return {
      writes: recordRecipient({ workspaceId, id, name, accountCode, ...note, currencyId, abroad }),
      audited: { type: 'recipient', id },
      resource: recipientQuery(workspaceId, id),
    };
  });
}

function refuseFaults(details: readonly RefusalDetail[]): void {
  if (details.length === 0) return;
  throw new Refusal('recipient_invalid', details.length === 1 ? details[0]?.message : undefined, { details });
}
