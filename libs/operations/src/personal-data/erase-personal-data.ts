import { bind, type BoundStatement, type Database, sqlStatement } from '@banking/postgres';
import { type Actor, actAs, emailOf } from '../provisioning/workspaces.js';
import { BEGINNING, type PersonalDataPosition, positionOf } from './position.js';
import type { PersonalDataRetention } from './unused-personal-data.js';

/**
 * Whose personal data: a recipient, the payer of a deposit, a request for approvals that is of no recipient, invitations to one address
 * that no user has accepted, or a user.
 */
export interface PersonalDataSubject {
  readonly subject: 'recipient' | 'payer' | 'approval' | 'invitation' | 'user';
  /** Of the recipient, the deposit, the approval, the member that one of the invitations is, or the user. */
  readonly id: number;
  /** Of the recipient, the deposit or the approval. */
  readonly workspaceId?: number | undefined;
}

/** Why personal data have to be kept. */
export type ReasonToKeep =
  | 'order_active'
  | 'payment_pending'
  | 'discrepancy_open'
  | 'deposit_open'
  | 'entry_open'
  | 'within_retention'
  | 'approval_open'
  | 'has_recipient'
  | 'invitation_open'
  | 'has_roles';

/** How many rows of each table were erased. */
export type ErasedRows = Readonly<Record<string, number>>;

interface ErasureRow extends PersonalDataPosition {
  readonly reasons: readonly ReasonToKeep[] | null;
  readonly erased: ErasedRows | null;
}

const ERASE = sqlStatement<ErasureRow>(
  'erase_personal_data',
  'select part, after_id, reasons, erased from erase_personal_data($1, $2, $3, $4, $5, $6, $7, $8)',
);

/** Payments, orders or requests of one page, and rows of each table, in one database transaction. */
const ROWS_MAX = 500;

export interface Erasure {
  /** How long payments are kept; the database keeps them for a year at least outside a sandbox. */
  readonly retention: Pick<PersonalDataRetention, 'paymentsKeptDays'>;
  /** Counts and changes nothing. */
  readonly isDryRun: boolean;
  readonly operator: Actor;
}

/** What came of an erasure. */
export interface ErasureOutcome {
  /** Why the data have to be kept. Undefined if they need not. */
  readonly kept?: readonly ReasonToKeep[];
  /** Nothing if nothing was left. Of data that have to be kept: what was erased before a reason came up. */
  readonly erased: ErasedRows;
}

/**
 * Makes the personal data of a subject pseudonyms, a page at a time, and archives a recipient first. Books, hashes and proofs stay valid.
 *
 * @returns undefined if there is no such subject
 * @throws Refusal `unavailable`: what was erased before stays so, and another call goes on
 */
export async function erasePersonalData(
  database: Database,
  named: PersonalDataSubject,
  { retention, isDryRun, operator }: Erasure,
): Promise<ErasureOutcome | undefined> {
  const erased: Record<string, number> = {};
  let position = BEGINNING;
  do {
    const [, [row]] = await database.write(scopeOf(named), [
      actAs(operator),
      bind(
        ERASE,
        ...[named.subject, named.workspaceId ?? null, named.id],
        ...[retention.paymentsKeptDays, ROWS_MAX, isDryRun, ...positionOf(position)],
      ) as BoundStatement<ErasureRow>,
    ] as const);
    if (!row?.reasons) return undefined;
    if (row.reasons.length > 0) return { kept: row.reasons, erased };
    for (const [table, count] of Object.entries(row.erased ?? {})) erased[table] = (erased[table] ?? 0) + count;
    position = row;
  } while (position.part !== null);
  return { erased };
}

const scopeOf = ({ workspaceId }: PersonalDataSubject) =>
  workspaceId === undefined ? {} : { workspaces: [workspaceId] };

const PERSONAL_DATA = sqlStatement<PersonalDataPosition & { readonly held: readonly PersonalDataRow[] }>(
  'personal_data_of',
  // Of an array of jsonb, the driver would parse the elements as texts.
  'select part, after_id, to_jsonb(held) as held from personal_data_of($1, $2, $3, $4, $5, $6)',
);

/** A row that holds personal data, as it is stored but for salts. */
export interface PersonalDataRow {
  readonly table: string;
  readonly row: Readonly<Record<string, unknown>>;
}

/** All rows that hold personal data of a subject, a page at a time. No row if there is no such subject. @throws Refusal `unavailable` */
export async function* personalDataPages(
  database: Database,
  named: PersonalDataSubject,
): AsyncGenerator<readonly PersonalDataRow[], void, undefined> {
  let position = BEGINNING;
  do {
    const [[row]] = await database.pipeline(scopeOf(named), [
      bind(PERSONAL_DATA, ...[named.subject, named.workspaceId ?? null, named.id, ROWS_MAX], ...positionOf(position)),
    ] as const);
    if (row!.held.length > 0) yield row!.held;
    position = row!;
  } while (position.part !== null);
}

const FIND_USER = sqlStatement<{ id: bigint }>(
  'find_user_of_email',
  `select id from (
     select u.id, 1 as place from app_user u where u.email = $1
     union all
     select (l.record ->> 'id')::bigint, 2 from directory_change l where l.relation = 'app_user' and l.personal ->> 'email' = $1) f
   order by place, id desc limit 1`,
);

const FIND_INVITATION = sqlStatement<{ id: bigint }>(
  'find_invitation_of_email',
  'select id from invitation_to($1) as id where id is not null',
);

const ADDRESSES = sqlStatement<{ addresses: readonly string[] }>(
  'addresses_of_user',
  'select addresses_of_user($1) as addresses',
);

/** A person of the directory. */
export interface Person {
  /** The user, or the invitations to the e-mail. Undefined if there is neither. */
  readonly subject: PersonalDataSubject | undefined;
  /** The e-mails that the person has and had. */
  readonly addresses: readonly string[];
}

/**
 * The user that has an e-mail, or had it last; without one, the invitations to it. In the database of the directory.
 *
 * @param named the id of a user, or an e-mail
 * @throws ProvisioningError if it is no e-mail
 */
export async function findPerson(directory: Database, named: number | string): Promise<Person> {
  if (typeof named === 'number') return personOf(directory, named, []);
  const email = emailOf(named);
  const [[user], [invitation]] = await directory.pipeline({}, [
    bind(FIND_USER, email),
    bind(FIND_INVITATION, email),
  ] as const);
  if (user) return personOf(directory, Number(user.id), [email]);
  return { subject: invitation && { subject: 'invitation', id: Number(invitation.id) }, addresses: [email] };
}

async function personOf(directory: Database, user: number, named: readonly string[]): Promise<Person> {
  const [[row]] = await directory.pipeline({}, [bind(ADDRESSES, user)] as const);
  return { subject: { subject: 'user', id: user }, addresses: [...new Set([...named, ...row!.addresses])] };
}

const REQUESTS_NAMING = sqlStatement<{ workspace_id: bigint; id: bigint }>(
  'requests_naming',
  'select workspace_id, id from requests_naming($1)',
);

/** The requests of a database to invite or change a member that name one of these e-mails. */
export async function requestsNaming(
  database: Database,
  addresses: readonly string[],
): Promise<readonly PersonalDataSubject[]> {
  const [rows] = await database.pipeline({}, [bind(REQUESTS_NAMING, [...addresses])] as const);
  return rows.map(({ workspace_id: workspaceId, id }) => ({
    subject: 'approval',
    id: Number(id),
    workspaceId: Number(workspaceId),
  }));
}
