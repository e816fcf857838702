import { bind, type BoundStatement, sqlStatement } from '@banking/postgres';

/** The groups of operations that change the directory, and the id of what they change in the input of a request. */
const ID_IN_INPUT = { members: '{memberId}', serviceAccounts: '{serviceAccountId}' } as const;

const TAKE_APPROVAL = sqlStatement(
  'take_approval',
  `select take_approval($1, $2, jsonb_build_object('id', $3::bigint), array['id', $4])`,
);

/**
 * For a change of the directory that rules may require approvals of, before it is made. In the database of the workspace, which has its
 * rules: at home, the triggers of the tables know those of its own workspaces only. In one database, they find that it took it.
 *
 * The database rejects it with `RULE_VIOLATION.notApproved`.
 *
 * @param id of what is changed; null for what is new
 */
export const takeApproval = (
  workspaceId: number,
  group: keyof typeof ID_IN_INPUT,
  id: number | null,
): BoundStatement<unknown> => bind(TAKE_APPROVAL, workspaceId, group, id, ID_IN_INPUT[group]);
