import { Refusal, type RecipientId, type UserId, type WorkspaceId } from '@banking/domain';
import { bind, statement, type Database } from '@banking/postgres';

/** The row stays for the transfers that name it; a trigger keeps it as it is from then on. */
const FORGET_RECIPIENT = statement<{ id: bigint }>(
  'forget_recipient',
  `update recipient set forgotten_at = statement_timestamp(), updated_at = statement_timestamp()
   where workspace_id = $1 and id = $2 and forgotten_at is null
   returning id`,
);

/** @throws Refusal `recipient_not_found` also when it was forgotten before */
export async function forgetRecipient(
  database: Database,
  { workspaceId, actor }: { readonly workspaceId: WorkspaceId; readonly actor: UserId | undefined },
  recipientId: RecipientId,
): Promise<void> {
  const scope = { workspaces: [workspaceId], ...(actor !== undefined && { user: actor }) };
  const [forgotten] = await database.write(scope, [bind(FORGET_RECIPIENT, workspaceId, recipientId)] as const);
  if (forgotten.length === 0) throw new Refusal('recipient_not_found');
}
