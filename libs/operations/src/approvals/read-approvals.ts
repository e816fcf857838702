import {
  ADMINISTRATORS_GROUPS,
  type Approval,
  type ApprovalDecision,
  type ApprovalId,
  type ApprovalName,
  type ApprovalOutcome,
  type ApprovalQuery,
  type ApprovalStatus,
  type OrderId,
  type Page,
  type UserId,
  type WorkspaceId,
} from '@banking/domain';
import { bind, sqlStatement } from '@banking/postgres';
import { listPage } from '../lists/list-page.js';
import { pageByClass, type PagedList } from '../lists/paged-list.js';
import { column, type Columns, type RowOf, selected, sqlOf, timestampOf, withoutNulls } from '../resources/columns.js';
import { pageOfColumns, type Reading, readResource, type ResourceQuery, type RowFacts } from '../resources/reading.js';

type DecisionRow = readonly [
  userId: number,
  decision: string,
  comment: string | null,
  roles: readonly string[],
  at: string,
];

const APPROVAL_COLUMNS = {
  id: column<bigint | number>('id'),
  version: column<number>('version'),
  status: column<ApprovalStatus>('status'),
  operation: column<string>('operation'),
  operations: column<string>('operations'),
  request: column<string>('request'),
  digest: sqlOf<string>((a) => `encode(${a}.digest, 'hex')`),
  requirements: column<Approval['requirements']>('requirements'),
  makerId: column<bigint | number | null>('maker'),
  orderId: column<bigint | number | null>('order_id'),
  outcome: column<string | null>('outcome'),
  outcomeReason: column<string | null>('outcome_reason'),
  outcomeMessage: column<string | null>('outcome_message'),
  resourceType: column<string | null>('resource_type'),
  resourceId: column<bigint | number | null>('resource_id'),
  outcomeAt: column<string | null>('outcome_at'),
  createdAt: column<string>('created_at'),
  updatedAt: column<string>('updated_at'),
  expiresAt: column<string>('expires_at'),
  decisions: sqlOf<readonly DecisionRow[] | null>(
    (
      a,
    ) => `(select json_agg(json_build_array(d.user_id, d.decision, d.comment, d.roles, d.created_at) order by d.created_at, d.user_id)
       from approval_decision d where d.workspace_id = ${a}.workspace_id and d.approval_id = ${a}.id)`,
  ),
} satisfies Columns;

type ApprovalRow = RowOf<typeof APPROVAL_COLUMNS>;

/** The parts of the stored text that a resource shows. */
interface StoredRequest {
  readonly input: Approval['input'];
  readonly shown: Approval['shown'];
}

function composeApproval(row: ApprovalRow): Approval {
  const { input, shown } = JSON.parse(row.request) as StoredRequest;
  return withoutNulls<Approval>({
    id: Number(row.id) as ApprovalId,
    version: row.version,
    status: row.status,
    operation: row.operation,
    operations: row.operations,
    input: namedAsInBodies(input),
    shown,
    digest: row.digest,
    requirements: row.requirements,
    makerID: row.makerId === null ? null : (Number(row.makerId) as UserId),
    orderID: row.orderId === null ? null : (Number(row.orderId) as OrderId),
    decisions: (row.decisions ?? []).map(composeDecision),
    outcome: outcomeOf(row),
    createdAt: timestampOf(row.createdAt),
    updatedAt: timestampOf(row.updatedAt),
    expiresAt: timestampOf(row.expiresAt),
  });
}

/** Parameters of a path are named `accountId`, and a body has `accountID`. */
const namedAsInBodies = (input: Approval['input']): Approval['input'] =>
  Object.fromEntries(Object.entries(input).map(([name, value]) => [name.replace(/Id$/, 'ID'), value]));

const composeDecision = ([userId, decision, comment, roles, at]: DecisionRow): ApprovalDecision =>
  withoutNulls<ApprovalDecision>({
    userID: userId as UserId,
    decision,
    comment,
    roles,
    decidedAt: timestampOf(at),
  });

function outcomeOf(row: ApprovalRow): ApprovalOutcome | null {
  const { outcome: status, outcomeAt: at, outcomeReason: reason, outcomeMessage: message } = row;
  if (status === null || at === null) return null;
  const { resourceType: type, resourceId: id } = row;
  return withoutNulls<ApprovalOutcome>({
    status,
    reason,
    message,
    resource: type === null ? null : { type, id: Number(id) },
    at: timestampOf(at),
  });
}

/**
 * The condition on a row of `approval` that it is shown to a user; `$1` is the workspace. Roles are read once for a statement. The deployment
 * itself, which is no user, sees all.
 */
export const isShownTo = (approval: string, user: string): string =>
  `(${approval}.operations <> all('{${ADMINISTRATORS_GROUPS.join()}}') or ${user}::bigint is null or ${approval}.maker = ${user}::bigint
    or (jsonb_path_query_array(${approval}.requirements, '$[*].roles[*]') || '["admin"]') ?| (select deciding_roles($1, ${user}::bigint, '{}')))`;

const GET_APPROVAL = sqlStatement<ApprovalRow>(
  'get_approval',
  `select ${selected(APPROVAL_COLUMNS, 't')} from approval t
   where t.workspace_id = $1 and t.id = $2 and ${isShownTo('t', '$3')}`,
);

/** @param reader to whom it must be shown; without one, it is read as it is */
export const approvalQuery = (
  workspaceId: number,
  approvalId: number,
  reader?: UserId,
): ResourceQuery<ApprovalRow, Approval> => ({
  bound: bind(GET_APPROVAL, workspaceId, approvalId, reader ?? null),
  compose: (_, row) => composeApproval(row),
});

/** @throws Refusal `approval_not_found` also for one of another workspace, and for one that is not shown to the reader */
export async function getApproval(
  reading: Reading,
  workspaceId: WorkspaceId,
  { approvalId }: ApprovalName,
  reader: UserId | undefined,
): Promise<Approval> {
  return readResource(reading, workspaceId, approvalQuery(workspaceId, approvalId, reader), 'approval_not_found');
}

const APPROVALS: PagedList<RowFacts, Approval> = {
  name: 'list_approvals',
  table: 'approval',
  indexes: [{ where: 'l.id >= 1' }],
  classes: { status: 'text' },
  filters: { reader: (user) => isShownTo('l', user) },
  page: pageByClass,
  items: pageOfColumns(APPROVAL_COLUMNS, composeApproval),
};

/** @throws Refusal `limit_invalid`, `cursor_invalid` */
export const listApprovals = (
  reading: Reading,
  workspaceId: WorkspaceId,
  { limit, cursor, status }: ApprovalQuery,
  reader: UserId | undefined,
): Promise<Page<Approval>> => listPage(reading, APPROVALS, { workspaceId, limit, cursor, reader, filters: { status } });
