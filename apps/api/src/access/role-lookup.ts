import type { Directory, DirectoryUser, Grant, Subject, WorkspaceId } from '@banking/domain';
import { type EnvironmentReader, ExpiringCache } from '@banking/process';

/** A removed role, and the absence of a user, take effect within this time. A new role takes effect at once. */
const TTL_MS = 1_000;
const ENTRIES_MAX = 10_000;

export class RoleLookup {
  private readonly users: ExpiringCache<DirectoryUser | undefined>;

  constructor(
    private readonly directory: Directory,
    nowMs?: () => number,
  ) {
    this.users = new ExpiringCache({ ttlMs: TTL_MS, entriesMax: ENTRIES_MAX, ...(nowMs && { nowMs }) });
  }

  /** The user of a subject if it was looked up within the last second. Undefined if the directory must be read. */
  knownUser(subject: Subject): DirectoryUser | undefined {
    return this.users.peek(keyOf(subject));
  }

  userOf(subject: Subject): Promise<DirectoryUser | undefined> {
    return this.users.get(keyOf(subject), () => this.directory.userOf(subject));
  }

  /** The role of a subject in a workspace, if any. Reads the directory again if the cached user has none. */
  async roleIn(subject: Subject, workspaceId: WorkspaceId): Promise<GrantedRole | undefined> {
    const cached = grantedRole(await this.userOf(subject), workspaceId);
    return cached ?? this.currentRoleIn(subject, workspaceId);
  }

  /** The same from the directory, and not from the cache. */
  async currentRoleIn(subject: Subject, workspaceId: WorkspaceId): Promise<GrantedRole | undefined> {
    const user = await this.users.refresh(keyOf(subject), () => this.directory.userOf(subject, workspaceId));
    return grantedRole(user, workspaceId);
  }
}

export interface GrantedRole extends Pick<Grant, 'role' | 'workspaceId'> {
  readonly actor: DirectoryUser['id'];
}

export function grantedRole(user: DirectoryUser | undefined, workspaceId: WorkspaceId): GrantedRole | undefined {
  const grant = user?.grants.find((candidate) => candidate.workspaceId === workspaceId);
  return user && grant && { actor: user.id, workspaceId, role: grant.role };
}

/** An issuer is a URL or a URN and an e-mail is folded, so neither contains a space. Another e-mail may be another user. */
const keyOf = ({ issuer, subject, email = '' }: Subject) => `${issuer} ${email} ${subject}`;

/**
 * Whether a verified e-mail binds a subject to its user. Otherwise only provisioned subjects are recognised, which is the default
 * outside a sandbox: an identity provider may verify e-mails less well than a bank does.
 */
export function readBinding({ text, flag, mistakes }: EnvironmentReader, isSandbox: boolean): boolean {
  // Local tokens and callers of a gateway have no other identity than their e-mail.
  const hasSubjects = text('UPSTREAM_URL') === undefined && text('OIDC_ISSUER') !== undefined;
  const bindsByEmail = flag('OIDC_BIND_BY_EMAIL', isSandbox || !hasSubjects);
  if (bindsByEmail) return true;
  if (text('UPSTREAM_URL') !== undefined) {
    mistakes.push(
      'OIDC_BIND_BY_EMAIL is off beside UPSTREAM_URL. A gateway recognises users by their verified e-mail only: remove OIDC_BIND_BY_EMAIL.',
    );
  } else if (text('OIDC_ISSUER') === undefined) {
    mistakes.push(
      'OIDC_BIND_BY_EMAIL is off and there is no OIDC_ISSUER. Local tokens are recognised by their e-mail: ' +
        'set OIDC_ISSUER, or remove OIDC_BIND_BY_EMAIL.',
    );
  }
  return false;
}
