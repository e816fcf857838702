import {
  type BeneficiaryData,
  type Created,
  type PlainNumber,
  type Recipient,
  type RecipientId,
  Refusal,
  type RequestOptions,
} from '@banking/domain';
import type { PayeeVerification, VerifyPayee } from '@banking/payouts';
import { bind, type Database, sqlStatement } from '@banking/postgres';
import type { InTurn } from '@banking/process';
import type { AuditedCall } from '../audit/audited-call.js';
import { createOnce, findReplay } from '../idempotency/create-once.js';
import type { Reading } from '../resources/reading.js';
import { recipientQuery } from './recipients.js';

/** For the answer of the network. */
const TIMEOUT_MS = 5_000;

/** How many recipients a workspace may verify in an hour. A recipient that is verified again counts once. */
export const VERIFIED_PER_HOUR = 100;

interface PayeeRow {
  readonly name: string;
  /** Of an international recipient. */
  readonly data: BeneficiaryData | null;
  readonly country: string | null;
  readonly currency: string;
  readonly payoutMethod: string | null;
}

const FIND_PAYEE = sqlStatement<PayeeRow>(
  'find_payee_to_verify',
  `select r.name, n.data, k.destination_country as country, c.code as currency, k.payout_method as "payoutMethod"
   from recipient r
   join currency c on c.id = r.currency_id
   left join corridor k on k.id = r.corridor_id
   left join lateral beneficiary_of(r.workspace_id, r.id) n on true
   where r.workspace_id = $1 and r.id = $2 and r.forgotten_at is null`,
);

/** The requests of a workspace are counted one after another. */
const LOCK_COUNT = sqlStatement(
  'lock_recipient_verifications',
  `select pg_advisory_xact_lock(hashtextextended(jsonb_build_array('recipient verifications', $1::bigint)::text, 0))`,
);

const COUNT_ASKED = sqlStatement<{ asked: number; oldest_for_s: number | null }>(
  'count_recipient_verifications',
  `select count(*)::int as asked, ceil(extract(epoch from min(verification_asked_at) + interval '1 hour' - statement_timestamp()))::int as oldest_for_s
   from recipient where workspace_id = $1 and verification_asked_at > statement_timestamp() - interval '1 hour' and id <> $2`,
);

const NOTE_ASKED = sqlStatement<{ id: bigint }>(
  'note_recipient_verification',
  `update recipient set verification_asked_at = statement_timestamp()
   where workspace_id = $1 and id = $2 and forgotten_at is null returning id`,
);

const STORE_VERIFICATION = sqlStatement(
  'store_recipient_verification',
  `update recipient set verification = $3, verified_name = $4, verified_at = statement_timestamp(), updated_at = statement_timestamp()
   where workspace_id = $1 and id = $2 and forgotten_at is null`,
);

const LOCK_RECIPIENT = sqlStatement<{ id: bigint }>(
  'lock_recipient_to_verify',
  'select id from recipient where workspace_id = $1 and id = $2 and forgotten_at is null for no key update',
);

/**
 * Asks the network of a recipient whether its account belongs to its name, and stores the result with the time. The result is
 * `not_possible` for an account of this service, if the network cannot tell, and if it does not answer within 5 seconds.
 *
 * @param services.verifyPayee asks the network; without one, no result is possible
 * @throws Refusal `recipient_not_found`, `rate_limited` if the workspace has verified 100 other recipients in the last hour, so that
 *   names of strangers cannot be collected, and those of `createOnce`
 */
export async function verifyRecipient(
  reading: Reading,
  { verifyPayee, inTurn }: { readonly verifyPayee: VerifyPayee | undefined; readonly inTurn: InTurn },
  caller: AuditedCall,
  recipientId: RecipientId | PlainNumber,
  options: RequestOptions,
): Promise<Created<Recipient>> {
  const { workspaceId } = caller;
  const { database } = reading;
  const request = { workspaceId, operation: `verifyRecipient/${recipientId}`, content: {} };
  const reads = [bind(FIND_PAYEE, workspaceId, recipientId)] as const;
  const { replay, rows } = await findReplay<Recipient, typeof reads>(database, request, options, reads);
  if (replay) return replay;
  const [[payee]] = rows;
  if (!payee) throw new Refusal('recipient_not_found');
  await inTurn(`verifications ${workspaceId}`, () => countRequest(database, workspaceId, recipientId));
  // Outside of any database transaction, because a network may be slow.
  const { result, name } = await answerAbout(payee, verifyPayee);
  return createOnce(reading, request, options, caller, async (tx) => {
    const [[current]] = await tx.pipeline([bind(LOCK_RECIPIENT, workspaceId, recipientId)] as const);
    if (!current) throw new Refusal('recipient_not_found');
    return {
      writes: [bind(STORE_VERIFICATION, workspaceId, recipientId, result, name ?? null)],
      audited: { type: 'recipient', id: Number(recipientId) },
      resource: recipientQuery(workspaceId, recipientId),
    };
  });
}

/** Before the network is asked, so that a request without an answer counts too. @throws Refusal `rate_limited`, `recipient_not_found` */
async function countRequest(database: Database, workspaceId: number, recipientId: number): Promise<void> {
  await database.transaction({ workspaces: [workspaceId] }, async (tx) => {
    const [, [count]] = await tx.pipeline([
      bind(LOCK_COUNT, workspaceId),
      bind(COUNT_ASKED, workspaceId, recipientId),
    ] as const);
    if ((count?.asked ?? 0) >= VERIFIED_PER_HOUR) {
      const message = `The workspace has verified ${VERIFIED_PER_HOUR} recipients in the last hour.`;
      throw new Refusal('rate_limited', message, { retryAfterSeconds: Math.max(1, count?.oldest_for_s ?? 1) });
    }
    const [noted] = await tx.commit([bind(NOTE_ASKED, workspaceId, recipientId)] as const);
    if (noted.length === 0) throw new Refusal('recipient_not_found');
  });
}

/** The channel of the network has its failures. */
async function answerAbout(
  { name, data, country, currency, payoutMethod }: PayeeRow,
  verify: VerifyPayee | undefined,
): Promise<PayeeVerification> {
  if (!verify || !data || country === null || payoutMethod === null) return { result: 'not_possible' };
  const { routingCodeType1: type, routingCodeValue1: code, beneficiaryAccountNumber: account = '' } = data;
  const routing = type !== undefined && code !== undefined ? { type, code } : undefined;
  const payee = { name, account, routing, bankCountry: country, currency };
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  // A network may ignore the signal.
  const late = new Promise<undefined>((resolve) => signal.addEventListener('abort', () => resolve(undefined)));
  const asked = verify({ country, currency, payoutMethod }, payee, signal).catch(() => undefined);
  return (await Promise.race([asked, late])) ?? { result: 'not_possible' };
}
