import {
  Refusal,
  type AddInternalRecipientInput,
  type Created,
  type RequestOptions,
  type Recipient,
  type UserId,
  type WorkspaceId,
} from '@banking/domain';
import { bind, sqlStatement } from '@banking/postgres';
import type { Reading } from '../resources/reading.js';
import { recipientQuery } from './get-recipient.js';
import { createOnce } from '../idempotency/create-once.js';
import { nextRecipient, recordRecipient } from './insert-recipient.js';

const FIND_CODE = sqlStatement<{ currency_id: number }>(
  'find_account_code',
  'select currency_id from account_code where code = $1',
);

/**
 * The name comes from the payer, never from the holder: a guessed code must not reveal whose account it is.
 *
 * @throws Refusal `recipient_invalid`, and those of `createOnce`
 */
export function addInternalRecipient(
  reading: Reading,
  { workspaceId, actor }: { readonly workspaceId: WorkspaceId; readonly actor: UserId | undefined },
  { accountCode, name, alias, saved }: AddInternalRecipientInput,
  options: RequestOptions,
): Promise<Created<Recipient>> {
  const note = { ...(alias !== undefined && { alias }), ...(saved !== undefined && { saved }) };
  const content = { accountCode, ...(name !== undefined && { name }), ...note };
  const request = { workspaceId, operation: 'addInternalRecipient', content };
  return createOnce(reading, request, options, actor, async (tx) => {
    const [[account], [next]] = await tx.pipeline([bind(FIND_CODE, accountCode), nextRecipient] as const);
    if (!account) throw unknownCode();
    const id = Number(next?.id);
    const shown = { name: name ?? alias ?? accountCode, accountCode, ...note };
    return {
      writes: recordRecipient({ workspaceId, id, ...shown, currencyId: account.currency_id }),
      resource: recipientQuery(workspaceId, id),
    };
  });
}

function unknownCode(): Refusal {
  const message = 'No account has this accountCode.';
  return new Refusal('recipient_invalid', message, {
    details: [{ path: '/accountCode', reason: 'account_unknown', message }],
  });
}
