import { createHash } from 'node:crypto';
import { type CanonicalValue, canonicalJson } from '@banking/domain/proof';
import {
  bind,
  type Database,
  DatabaseError,
  RULE_VIOLATION,
  type ScopeSettings,
  sqlStatement,
} from '@banking/postgres';
import { ProvisioningError } from './workspaces.js';

/**
 * What operators do to money or to what moves it, and the arguments by which the database recognises it: a guard of each action, in the
 * migrations, compares those that it sees.
 */
export interface OperatorActions {
  readonly fundAccount: {
    readonly accountId: number;
    /** Digits, in minor units. */
    readonly amount: string;
    readonly reference?: string | undefined;
    readonly key?: string | undefined;
  };
  readonly assignDeposit: {
    readonly workspaceId: number;
    readonly depositId: number;
    readonly accountId: number;
    readonly note: string;
  };
  readonly returnDeposit: { readonly workspaceId: number; readonly depositId: number; readonly note: string };
  readonly ignoreEntry: { readonly entryId: number; readonly note: string };
  readonly returnPayout: { readonly workspaceId: number; readonly transactionId: number; readonly note: string };
  readonly submitPayoutAgain: { readonly workspaceId: number; readonly transactionId: number };
  readonly resolveDiscrepancy: {
    readonly workspaceId: number;
    readonly discrepancyId: number;
    readonly resolution: string;
    readonly note?: string | undefined;
  };
  readonly releasePayout: { readonly workspaceId: number; readonly transactionId: number; readonly note: string };
  readonly rejectPayout: { readonly workspaceId: number; readonly transactionId: number; readonly note: string };
  readonly endDecisions: { readonly demandId: number; readonly note: string };
  readonly resumePayouts: { readonly stopId: number };
  readonly resumeOrder: {
    readonly workspaceId: number;
    readonly orderId: number;
    /** The e-mail of the user for whom the order runs. */
    readonly placer?: string | undefined;
  };
}

/** One action with its arguments. */
export type OperatorAction = {
  readonly [A in keyof OperatorActions]: { readonly action: A; readonly arguments: OperatorActions[A] };
}[keyof OperatorActions];

/** An action that an operator requested, and that another one approves. */
export interface OperatorRequest {
  readonly id: number;
  readonly action: string;
  readonly arguments: Readonly<Record<string, CanonicalValue>>;
  /** SHA-256 of action and arguments in canonical JSON, in hexadecimal digits. */
  readonly digest: string;
  readonly status: 'open' | 'expired' | 'done' | 'withdrawn';
  /** The login. */
  readonly requestedBy: string;
  readonly operatingSystemUser: string | null;
  /** RFC 3339, as the other times. */
  readonly requestedAt: string;
  readonly expiresAt: string;
  /** The login that carried it out, or withdrew it. */
  readonly endedBy: string | null;
  readonly endedAt: string | null;
}

interface RequestRow extends Omit<OperatorRequest, 'id' | 'action' | 'arguments'> {
  readonly id: bigint;
  readonly content: string;
  readonly isOwn: boolean;
}

const COLUMNS = `id, content, digest, requested_by as "requestedBy", operating_system_user as "operatingSystemUser",
  rfc3339(requested_at) as "requestedAt", rfc3339(expires_at) as "expiresAt", ended_by as "endedBy", rfc3339(ended_at) as "endedAt",
  case when status = 'open' and expires_at <= statement_timestamp() then 'expired' else status end as status,
  requested_by = session_user as "isOwn"`;

const STORE = sqlStatement<RequestRow>(
  'store_operator_request',
  `insert into operator_request (content, digest, operating_system_user)
   values ($1, $2, nullif(current_setting('app.operating_system_user', true), '')) returning ${COLUMNS}`,
);
const FIND = sqlStatement<RequestRow>('find_operator_request', `select ${COLUMNS} from operator_request where id = $1`);
const LIST = sqlStatement<RequestRow>(
  'list_operator_requests',
  `select ${COLUMNS} from operator_request
   where $1 or status = 'open' and expires_at > statement_timestamp() order by id desc limit $2`,
);
const WITHDRAW = sqlStatement<{ id: bigint }>(
  'withdraw_operator_request',
  'select withdraw_operator_request($1) as id',
);

function requestOf({ id, content, isOwn: _, ...row }: RequestRow): OperatorRequest {
  const { action, arguments: given } = JSON.parse(content) as Pick<OperatorRequest, 'action' | 'arguments'>;
  return { id: Number(id), action, arguments: given, ...row };
}

/** Action and arguments as they are stored and digested. Members that are undefined are left out. */
const contentOf = (action: OperatorAction): string =>
  canonicalJson(JSON.parse(JSON.stringify(action)) as CanonicalValue);

const digestOf = (content: string): string => createHash('sha256').update(content).digest('hex');

/** Stores a request that another operator has 24 hours to approve. @throws CommitInDoubtError */
export async function storeRequest(database: Database, action: OperatorAction): Promise<OperatorRequest> {
  const content = contentOf(action);
  const [[row]] = await database.write({}, [bind(STORE, content, digestOf(content))] as const);
  return requestOf(row!);
}

/** Whether the database has the request. Of several databases, one does. */
export const hasRequest = async (database: Database, id: number): Promise<boolean> =>
  (await database.read({}, bind(FIND, id))) !== undefined;

/** @throws ProvisioningError if there is no such request */
export async function readRequest(database: Database, id: number): Promise<OperatorRequest> {
  return requestOf(await findRequest(database, id));
}

async function findRequest(database: Database, id: number): Promise<RequestRow> {
  const row = await database.read({}, bind(FIND, id));
  if (!row) throw new ProvisioningError(`There is no request ${id}. See banking request list.`);
  return row;
}

const LISTED_MAX = 100;

/** The requests that wait for approval, or all of them, the latest first. At most 100. */
export async function listRequests(
  database: Database,
  { includesEnded = false }: { readonly includesEnded?: boolean } = {},
): Promise<readonly OperatorRequest[]> {
  const [rows] = await database.pipeline({}, [bind(LIST, includesEnded, LISTED_MAX)] as const);
  return rows.map(requestOf);
}

/** Any operator may withdraw a request. @throws ProvisioningError if it is not open */
export async function withdrawRequest(database: Database, id: number): Promise<void> {
  const [withdrawn] = await database.write({}, [bind(WITHDRAW, id)] as const);
  if (withdrawn.length > 0) return;
  const { status } = await findRequest(database, id);
  throw new ProvisioningError(`The request ${id} is ${status}. There is nothing to withdraw.`);
}

/** A request that may be carried out, and the settings of the database transaction that does. */
export interface Approval {
  readonly request: OperatorRequest;
  readonly settings: ScopeSettings;
}

/**
 * Approves a request for a second operator, who states the action again. The database carries it out once, in the database transaction
 * that has the settings, and checks all of this again.
 *
 * @throws ProvisioningError if the request is not open, is of the same login, or is for something else
 */
export async function approveRequest(database: Database, id: number, action: OperatorAction): Promise<Approval> {
  const row = await findRequest(database, id);
  const digest = digestOf(contentOf(action));
  const { status, requestedBy, isOwn } = row;
  if (status !== 'open') throw new ProvisioningError(`The request ${id} is ${status}. See banking request show ${id}.`);
  if (isOwn) {
    throw new ProvisioningError(
      `The login ${requestedBy} made request ${id}. Another operator approves it, with a login of their own.`,
    );
  }
  if (row.digest !== digest) {
    throw new ProvisioningError(
      `The request ${id} is for something else. Compare the arguments: banking request show ${id}.`,
    );
  }
  return { request: requestOf(row), settings: { 'app.operator_request': `${id}:${digest}` } };
}

/** The sentence for an operator if the database refuses an action that no other operator has approved. */
export function explainUnapproved(error: unknown): unknown {
  if (!(error instanceof DatabaseError) || error.code !== RULE_VIOLATION.notApprovedByOperator) return error;
  return new ProvisioningError(`Nothing was done: ${error.message}. See banking request list --all.`, { cause: error });
}
