import {
  Directory,
  foldEmail,
  type AppId,
  type DirectoryUser,
  type RoleName,
  type Subject,
  type UserId,
  type WorkspaceId,
} from '@banking/domain';
import { bind, sqlStatement, type Database } from '@banking/postgres';

/** Finds the user and sets the user of this database transaction, so that row-level security shows the user's roles. */
const RECOGNISE = sqlStatement<{ id: bigint }>(
  'recognise_user',
  `select user_id as id, set_config('app.user', user_id::text, true) as scoped
   from user_identity where issuer = $1 and subject = $2`,
);

/** Grants count only for a user whose status is `completed`. */
const GRANTS = sqlStatement<{ workspace_id: bigint; role: RoleName; app_id: bigint }>(
  'grants_of_user',
  `select r.workspace_id, r.role, w.app_id
   from workspace_role r
   join workspace w on w.id = r.workspace_id
   join app_user u on u.id = r.user_id
   where u.id = nullif(current_setting('app.user', true), '')::bigint and u.status = 'completed'
   order by r.workspace_id`,
);

/** Changes nothing if the user has another subject of this issuer, or the subject is bound to another user. */
const BIND_SUBJECT = sqlStatement<{ user_id: bigint | null }>(
  'bind_subject',
  'select bind_subject($1, $2, $3) as user_id',
);

/** The directory of users and grants in PostgreSQL. */
export class LedgerDirectory extends Directory {
  /** @param options.bindsByEmail whether a subject that is not known is bound to the user with its verified e-mail. Default true */
  constructor(
    private readonly database: Database,
    private readonly options: { readonly bindsByEmail?: boolean } = {},
  ) {
    super();
  }

  async userOf(subject: Subject): Promise<DirectoryUser | undefined> {
    const known = await this.recognise(subject);
    const email = subject.email === undefined ? undefined : foldEmail(subject.email);
    const { bindsByEmail = true } = this.options;
    if (known || email === undefined || !bindsByEmail) return known;
    // No `write`: if the outcome is unknown, the request has changed nothing else, and the next request binds again.
    await this.database.pipeline({}, [bind(BIND_SUBJECT, subject.issuer, subject.subject, email)]);
    return this.recognise(subject);
  }

  private async recognise({ issuer, subject }: Subject): Promise<DirectoryUser | undefined> {
    const [[user], grants] = await this.database.pipeline({}, [
      bind(RECOGNISE, issuer, subject),
      bind(GRANTS),
    ] as const);
    if (!user) return undefined;
    return {
      id: Number(user.id) as UserId,
      grants: grants.map(({ workspace_id, role, app_id }) => ({
        workspaceId: Number(workspace_id) as WorkspaceId,
        role,
        appId: Number(app_id) as AppId,
      })),
    };
  }
}
