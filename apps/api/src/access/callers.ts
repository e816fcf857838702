import type { Directory, DirectoryUser, Subject, WorkspaceId } from '@banking/domain';
import { Remember } from './remember.js';

/** A role that was taken away, and a user who was not there, count for at most this long; a role that was given counts at once. */
const REMEMBERED_MS = 1_000;
const REMEMBERED_MAX = 10_000;

/** Which user a subject is, asked of the directory and remembered for a moment. */
export class Callers {
  private readonly users = new Remember<DirectoryUser | undefined>(REMEMBERED_MS, REMEMBERED_MAX);

  constructor(private readonly directory: Directory) {}

  userOf(subject: Subject, wanted?: WorkspaceId): Promise<DirectoryUser | undefined> {
    return this.users.get(keyOf(subject), () => this.directory.userOf(subject, wanted));
  }

  /** The user as the directory has them now, when what is remembered lacks the workspace. */
  async userIn(subject: Subject, workspaceId: WorkspaceId): Promise<DirectoryUser | undefined> {
    const user = await this.userOf(subject);
    if (user?.grants.some((grant) => grant.workspaceId === workspaceId)) return user;
    this.users.forget(keyOf(subject));
    return this.userOf(subject, workspaceId);
  }
}

/** An issuer is a URL or a URN and an e-mail is folded, so neither holds a space. Another e-mail may be another user. */
const keyOf = ({ issuer, subject, email = '' }: Subject) => `${issuer} ${email} ${subject}`;
