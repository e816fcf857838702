import { type ApprovalGroup, type ApprovalRequirement, Refusal } from '@banking/domain';
import { canonicalJson, canonicalRequest, type CanonicalValue } from '@banking/domain/proof';
import { digestNow, newSalt } from '@banking/ledger';
import { bind, type BoundStatement, byteaOf, sqlStatement } from '@banking/postgres';

/** A request that waits for approvals, before it is stored. */
interface WaitingRequest {
  readonly id: number;
  readonly workspaceId: number;
  readonly maker: number | undefined;
  readonly operation: string;
  readonly group: ApprovalGroup;
  readonly input: object;
  readonly shown: object;
  readonly requirements: readonly ApprovalRequirement[];
  /** The order that waits. */
  readonly orderId?: number | undefined;
}

/** A request with the text that is approved, and its salted digest in hex. */
export interface ApprovalRequest extends WaitingRequest {
  readonly text: string;
  readonly salt: string;
  readonly digest: string;
}

/** A value without undefined members, as JSON has it. */
const asJson = (value: object): CanonicalValue => JSON.parse(JSON.stringify(value)) as CanonicalValue;

/** The input of a request as it is stored, to compare it with that of another. */
export const canonicalInput = (input: object): string => canonicalJson(asJson(input));

/** The id is in the text, so that an approval is of one request and of no other with the same content. */
export function approvalRequest(request: WaitingRequest): ApprovalRequest {
  const { id, workspaceId, maker, operation, input, shown, orderId } = request;
  const text = canonicalJson({
    approvalID: id,
    workspaceID: workspaceId,
    operation,
    ...(maker !== undefined && { makerID: maker }),
    ...(orderId !== undefined && { orderID: orderId }),
    input: asJson(input),
    shown: asJson(shown),
  });
  const salt = newSalt();
  return { ...request, text, salt, digest: digestNow(canonicalRequest({ salt, text })) };
}

const REQUEST_APPROVAL = sqlStatement(
  'request_approval',
  `insert into approval (workspace_id, id, operation, operations, request, request_salt, digest, requirements, maker, order_id)
   values ($1, $2, $3, $4, $5, $6, $7, $8::jsonb, $9, $10)`,
);

/** The database rejects it with `RULE_VIOLATION.notApproved` unless it has all requirements of the rules in force. */
export const requestApproval = (request: ApprovalRequest): BoundStatement<unknown> => {
  const { workspaceId, id, operation, group, text, salt, digest, requirements, maker, orderId } = request;
  const values = [
    workspaceId,
    id,
    operation,
    group,
    text,
    byteaOf(salt),
    byteaOf(digest),
    JSON.stringify(requirements),
  ];
  return bind(REQUEST_APPROVAL, ...values, maker ?? null, orderId ?? null);
};

interface NextApproval {
  readonly id: bigint;
  readonly is_approvable: boolean;
}

const NEXT_APPROVAL = sqlStatement<NextApproval>(
  'next_approval',
  `select nextval('approval_id_seq') as id, is_approvable($1, $2::jsonb, makers_of($1, $3::bigint)) as is_approvable`,
);

/** The id of the next approval of a maker, and whether enough others may give it. */
export const nextApproval = (
  workspaceId: number,
  requirements: readonly ApprovalRequirement[],
  maker: number | undefined,
): BoundStatement<NextApproval> =>
  bind(NEXT_APPROVAL, workspaceId, JSON.stringify(requirements), maker === undefined ? null : maker);

/** @throws Refusal `approval_impossible` */
export function approvalId(next: NextApproval | undefined): number {
  if (!next?.is_approvable) throw new Refusal('approval_impossible');
  return Number(next.id);
}
