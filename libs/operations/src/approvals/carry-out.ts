import {
  APPROVABLE_OPERATIONS,
  approvable,
  type ApprovableOperationName,
  approvedKey,
  type BankingOperations,
  type Operation,
  OPERATIONS,
  parametersOf,
  Refusal,
  type RequestOptions,
  type RoleName,
  type Scope,
  type UserId,
  type WorkspaceId,
} from '@banking/domain';
import { bind, type Database, DatabaseError, RULE_VIOLATION, sqlStatement } from '@banking/postgres';
import { isTransientFailure, type WorkHandler } from '@banking/work-queue';
import { auditEntry, BY_SYSTEM, noteAudit } from '../audit/audited-call.js';

/** The kind of work that carries out an approved request. */
export const APPROVAL = 'approval';

/** The operations of a request that is carried out. The database lets them change what its approval allows. */
export interface CarryingOut {
  carryingOut(database: Database, approvalId: number): BankingOperations;
}

interface Approved {
  readonly operation: string;
  readonly maker_id: bigint | null;
  readonly input: object;
  readonly digest: string;
  /** Whether a database transaction has carried it out, whose outcome is not written yet. */
  readonly is_carried_out: boolean;
  readonly roles: readonly RoleName[];
}

const READ_APPROVED = sqlStatement<Approved>(
  'read_approved_request',
  `select a.operation, a.maker as maker_id, a.request::jsonb -> 'input' as input, encode(a.digest, 'hex') as digest,
     a.carried_out_in is not null as is_carried_out,
     array(select r.role from workspace_role r join app_user u on u.id = r.user_id
           where r.workspace_id = a.workspace_id and r.user_id = a.maker and u.status = 'completed') as roles
   from approval a where a.workspace_id = $1 and a.id = $2 and a.status = 'approved' and a.outcome is null`,
);

/** A refusal is no outcome of a request that another worker has carried out meanwhile. */
const WRITE_OUTCOME = sqlStatement<{ id: bigint }>(
  'write_approval_outcome',
  `update approval set outcome = $3, outcome_reason = $4, outcome_message = $5, resource_type = $6, resource_id = $7,
     outcome_at = statement_timestamp(), updated_at = statement_timestamp()
   where workspace_id = $1 and id = $2 and outcome is null and ($3 = 'carried_out' or carried_out_in is null)
   returning id`,
);

type Outcome =
  | { readonly kind: 'carried_out'; readonly resourceId?: number | undefined }
  | { readonly kind: 'refused'; readonly refusal: Refusal };

/**
 * Carries out approved requests, with the state of that moment. A refusal is the outcome. The first database transaction that changes
 * something takes the approval, so that a second one changes nothing.
 */
export const approvalHandler = (database: Database, banking: CarryingOut): WorkHandler => ({
  async run({ workspaceId, subjectId }) {
    const operations = banking.carryingOut(database, subjectId);
    for (;;) {
      const approved = await readApproved(database, workspaceId, subjectId);
      // The maker carries out what has a secret.
      if (!approved || approvable(approved.operation)?.isCarriedOutByMaker) return 'done';
      const outcome = await carryOut(operations, workspaceId as WorkspaceId, approved);
      await writeOutcome(database, { workspaceId, approvalId: subjectId, operation: approved.operation }, outcome);
    }
  },
});

const readApproved = (database: Database, workspaceId: number, approvalId: number): Promise<Approved | undefined> =>
  database.read({ workspaces: [workspaceId] }, bind(READ_APPROVED, workspaceId, approvalId));

type Method = (scope: Scope, input: object, options?: RequestOptions) => Promise<unknown>;

/** @throws Refusal `unavailable`, `outcome_unknown` if it must be tried again */
async function carryOut(
  operations: BankingOperations,
  workspaceId: WorkspaceId,
  { operation, maker_id, input, digest, is_carried_out, roles }: Approved,
): Promise<Outcome> {
  if (!approvable(operation)) throw new Error(`the approved operation ${operation} is none that can be approved`);
  const name = operation as ApprovableOperationName;
  const { access, result }: Operation = OPERATIONS[name];
  const isCreation = result === 'created';
  // What it created is found by its key.
  if (is_carried_out && !isCreation) return { kind: 'carried_out', resourceId: namedBy(name, input) };
  try {
    // The maker may have lost the role since.
    if (
      maker_id !== null &&
      Array.isArray(access) &&
      !(access as readonly RoleName[]).some((role) => roles.includes(role))
    )
      throw new Refusal('role_insufficient');
    const scope = { workspaceId, ...(maker_id !== null && { actor: Number(maker_id) as UserId }) };
    const options = isCreation ? { idempotencyKey: approvedKey(digest) } : undefined;
    const made = await (operations[name] as Method)(scope, input, options);
    const created = isCreation ? (made as { readonly resource: { readonly id: number } }).resource.id : undefined;
    return { kind: 'carried_out', resourceId: created ?? namedBy(name, input) };
  } catch (error) {
    if (error instanceof Refusal && !isTransientFailure(error)) return { kind: 'refused', refusal: error };
    if (error instanceof DatabaseError && error.code === RULE_VIOLATION.notApproved) {
      return { kind: 'refused', refusal: new Refusal('approval_changed', undefined, { cause: error }) };
    }
    throw error;
  }
}

/** The id of the path of an operation, which its input has. */
function namedBy(name: ApprovableOperationName, input: object): number | undefined {
  const parameter = parametersOf(OPERATIONS[name].path).at(-1);
  return parameter === undefined ? undefined : (input[parameter as keyof typeof input] as number);
}

/** What the operations of a group make or change, as events name it. */
const RESOURCE_TYPES: Readonly<Partial<Record<string, string>>> = {
  recipients: 'recipient',
  endpoints: 'webhookEndpoint',
  members: 'member',
  serviceAccounts: 'serviceAccount',
  keys: 'key',
};

/** Not a refusal of a request that was carried out meanwhile. */
export async function writeOutcome(
  database: Database,
  { workspaceId, approvalId, operation }: { workspaceId: number; approvalId: number; operation: string },
  outcome: Outcome,
): Promise<void> {
  const { kind } = outcome;
  const refusal = kind === 'refused' ? outcome.refusal : undefined;
  const resourceId = kind === 'carried_out' ? outcome.resourceId : undefined;
  const type = RESOURCE_TYPES[APPROVABLE_OPERATIONS[operation as ApprovableOperationName].group];
  const resource = type !== undefined && resourceId !== undefined ? [type, resourceId] : [null, null];
  const audited = {
    operation: 'carryOutApproval',
    resource: { type: 'approval', id: approvalId },
    reason: refusal?.reason,
  };
  return database.transaction({ workspaces: [workspaceId] }, async (tx) => {
    const [[written]] = await tx.pipeline([
      bind(
        WRITE_OUTCOME,
        workspaceId,
        approvalId,
        kind,
        refusal?.reason ?? null,
        refusal?.message ?? null,
        ...resource,
      ),
    ] as const);
    if (written) await tx.commit([noteAudit([auditEntry(workspaceId, audited, BY_SYSTEM)])]);
  });
}
