import {
  Refusal,
  type AddInternalRecipientInput,
  type Created,
  type RequestOptions,
  type Recipient,
} from '@banking/domain';
import { bind, sqlStatement } from '@banking/postgres';
import type { AuditedCall } from '../audit/audited-call.js';
import type { Reading } from '../resources/reading.js';
import { recipientQuery } from './get-recipient.js';
import { createOnce } from '../idempotency/create-once.js';
import { nextRecipient, recordRecipient } from './insert-recipient.js';

const FIND_CODE = sqlStatement<{ currency_id: number }>(
  'find_account_code',
  'select currency_id from account_code where code = $1',
);

/** Finds the currency of an account of another database. Undefined if none has the code. */
export type CurrencyElsewhere = (accountCode: string) => Promise<number | undefined>;

/**
 * Adds a recipient by the code of an account. Another database is asked only for a code that is unknown here, and outside of a database
 * transaction.
 *
 * The name comes from the payer, never from the holder: a guessed code must not reveal whose account it is.
 *
 * @throws Refusal `recipient_invalid`, `unavailable` if the other database is away, and those of `createOnce`
 */
export async function addInternalRecipient(
  reading: Reading,
  caller: AuditedCall,
  input: AddInternalRecipientInput,
  options: RequestOptions,
  currencyElsewhere?: CurrencyElsewhere,
): Promise<Created<Recipient>> {
  try {
    return await addWithCurrency(reading, caller, input, options);
  } catch (error) {
    if (!currencyElsewhere || !isUnknownCode(error)) throw error;
    const currencyId = await currencyElsewhere(input.accountCode);
    if (currencyId === undefined) throw error;
    return addWithCurrency(reading, caller, input, options, currencyId);
  }
}

/** @param currencyElsewhere the currency if the account is in another database */
function addWithCurrency(
  reading: Reading,
  caller: AuditedCall,
  { accountCode, name, alias, saved }: AddInternalRecipientInput,
  options: RequestOptions,
  currencyElsewhere?: number,
): Promise<Created<Recipient>> {
  const { workspaceId } = caller;
  const note = { ...(alias !== undefined && { alias }), ...(saved !== undefined && { saved }) };
  const content = { accountCode, ...(name !== undefined && { name }), ...note };
  const request = { workspaceId, operation: 'addInternalRecipient', content };
  return createOnce(reading, request, options, caller, async (tx) => {
    const [[account], [next]] = await tx.pipeline([bind(FIND_CODE, accountCode), nextRecipient] as const);
    const currencyId = account?.currency_id ?? currencyElsewhere;
    if (currencyId === undefined) throw unknownCode();
    const id = Number(next?.id);
    const shown = { name: name ?? alias ?? accountCode, accountCode, ...note };
    return {
      writes: recordRecipient({ workspaceId, id, ...shown, currencyId }),
      audited: { type: 'recipient', id },
      resource: recipientQuery(workspaceId, id),
    };
  });
}

const ACCOUNT_UNKNOWN = 'account_unknown';

const isUnknownCode = (error: unknown): boolean =>
  error instanceof Refusal && error.details?.some(({ reason }) => reason === ACCOUNT_UNKNOWN) === true;

function unknownCode(): Refusal {
  const message = 'No account has this accountCode.';
  return new Refusal('recipient_invalid', message, {
    details: [{ path: '/accountCode', reason: ACCOUNT_UNKNOWN, message }],
  });
}
