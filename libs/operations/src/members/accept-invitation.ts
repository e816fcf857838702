import {
  type AppId,
  foldEmail,
  type InvitationAcceptance,
  type JoinedMember,
  Refusal,
  type Scope,
  type Subject,
  type Workspace,
} from '@banking/domain';
import { bind, type Database, sqlStatement } from '@banking/postgres';
import { callerOf } from '../audit/audited-call.js';
import { hashOfCode } from './invitation-code.js';
import { composeMember, MEMBER_COLUMNS, type MemberRow } from './members.js';

/** Sets the scope of the database transaction to the workspace that is joined. */
const ACCEPT = sqlStatement<{ workspace_id: bigint | null }>(
  'accept_invitation',
  `select (accept_invitation($1, $2, $3, $4, $5)).workspace_id`,
);

/** Of the workspace that was just joined, which alone is in the scope. */
const JOINED = sqlStatement<MemberRow & { workspace: Workspace & { readonly appId: AppId } }>(
  'joined_member',
  `select ${MEMBER_COLUMNS}, json_build_object('id', w.id, 'name', w.name, 'type', w.type, 'createdAt', rfc3339(w.created_at),
     'updatedAt', rfc3339(w.updated_at)) as workspace
   from user_identity i join member t on t.user_id = i.user_id join workspace w on w.id = t.workspace_id
   where i.issuer = $1 and i.subject = $2
     and t.workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[])`,
);

/**
 * Accepts an invitation for the subject of the caller, who becomes a user if need be. A repeated call returns the same.
 *
 * @throws Refusal `invitation_not_found`: also for an expired or used code, for a caller with another verified e-mail, and if the invited
 *   address is that of another user
 */
export async function acceptInvitation(
  database: Database,
  { actor, requestId, origin }: Scope,
  subject: Subject,
  { code }: InvitationAcceptance,
): Promise<JoinedMember> {
  // One that cannot be of a user is another one too.
  const email = subject.email === undefined ? undefined : (foldEmail(subject.email) ?? subject.email);
  const caller = JSON.stringify(callerOf({ workspaceId: 0 as never, actor, requestId, origin }));
  const [, [joined]] = await database.write({ user: actor }, [
    bind(ACCEPT, hashOfCode(code), subject.issuer, subject.subject, email, caller),
    bind(JOINED, subject.issuer, subject.subject),
  ] as const);
  if (!joined) throw new Refusal('invitation_not_found');
  return { ...composeMember(joined), edges: { workspace: joined.workspace } };
}
