import { Refusal, type Created, type InternalRecipientWish, type Intent, type Recipient, type UserId, type WorkspaceId } from '@banking/domain'; // prettier-ignore
import { bind, statement, type Database } from '@banking/postgres';
import { recipientRead } from './get-recipient.js';
import { makeOnce } from './idempotency.js';
import { nextRecipient, recordRecipient } from './record-recipient.js';

const FIND_CODE = statement<{ currency_id: number }>(
  'find_account_code',
  'select currency_id from account_code where code = $1',
);

/**
 * The name is the payer's word, never the holder's: a code that was guessed must not tell whose it is.
 *
 * @throws Refusal `recipient_invalid`, and those of `makeOnce`
 */
export function addInternalRecipient(
  database: Database,
  { workspaceId, actor }: { readonly workspaceId: WorkspaceId; readonly actor: UserId | undefined },
  { accountCode, name, alias, saved }: InternalRecipientWish,
  intent: Intent,
): Promise<Created<Recipient>> {
  const note = { ...(alias !== undefined && { alias }), ...(saved !== undefined && { saved }) };
  const content = { accountCode, ...(name !== undefined && { name }), ...note };
  const request = { workspaceId, operation: 'addInternalRecipient', content };
  return makeOnce(database, request, intent, actor, async (tx) => {
    const [[account], [next]] = await tx.flight([bind(FIND_CODE, accountCode), nextRecipient] as const);
    if (!account) throw unknownCode();
    const id = Number(next?.id);
    const shown = { name: name ?? alias ?? accountCode, accountCode, ...note };
    return {
      writes: recordRecipient({ workspaceId, id, ...shown, currencyId: account.currency_id }),
      answer: recipientRead(workspaceId, id),
    };
  });
}

function unknownCode(): Refusal {
  const message = 'No account has this accountCode.';
  return new Refusal('recipient_invalid', message, {
    details: [{ path: '/accountCode', reason: 'account_unknown', message }],
  });
}
