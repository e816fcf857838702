import type { FastifyReply, FastifyRequest } from 'fastify';
import { parseId, Refusal, type DirectoryUser, type RoleName, type Subject, type WorkspaceId } from '@banking/domain';
import { JSON_ONLY, preferredType } from '../http/accept.js';
import type { CalledRequest, Caller } from './caller.js';
import type { Callers } from './callers.js';
import { bearerToken, headerLines } from './credentials.js';
import { ACCESS, isRole, type OperationId, suffices } from './matrix.js';
import type { RateLimit } from './rate-limit.js';
import { CredentialError, type TokenVerifier } from './token-verifier.js';

/** What the docs page and the document declare in place of an operation: they are public. */
export const PUBLIC_PAGE = 'page';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Which operation the route is. A route without it cannot be called. */
    operation?: OperationId | typeof PUBLIC_PAGE;
    /** In which media types the route answers, if JSON is not the only one. */
    answersIn?: readonly string[];
  }
}

interface Parts {
  readonly verifier: Pick<TokenVerifier, 'subjectOf'>;
  readonly callers: Callers;
  readonly rateLimit: RateLimit;
}

type Request = FastifyRequest & CalledRequest;

/**
 * Checks the caller of every request from its head alone, in this order: credential, rate, media type of the answer, workspace, role.
 * Nest's guards run after the body was read, so this is a hook of Fastify (`onRequest`).
 */
export class AccessCheck {
  constructor(private readonly parts: Parts) {}

  /**
   * Leaves a checked Caller on the request, unless the route is public.
   *
   * @throws Refusal if the caller may not call the operation
   * @throws Error if the route does not declare its operation
   */
  async admit(request: Request, reply: FastifyReply): Promise<void> {
    const { operation, answersIn } = request.routeOptions.config;
    if (operation === PUBLIC_PAGE) return;
    if (operation === undefined || !Object.hasOwn(ACCESS, operation)) {
      throw new Error(`${request.method} ${request.routeOptions.url} does not declare its operation`);
    }
    const access = ACCESS[operation];
    if (access === 'public') return;

    request.operation = operation;
    const { subject, user } = await this.authenticate(request);
    request.userId = user.id;
    const named = isRole(access) ? headerLines(request, 'workspace-id') : undefined;
    this.parts.rateLimit.take(reply, rateKeyOf(user, named?.[0]));
    if (answersIn) varyByAccept(reply);
    if (preferredType(request.headers.accept, answersIn ?? JSON_ONLY) === undefined)
      throw new Refusal('not_acceptable');
    const scope = isRole(access) ? await this.authorize(subject, workspaceIdOf(named), access) : { actor: user.id };
    request.caller = made({ ...scope, requestId: request.id, signal: request.deadline });
  }

  /** @throws Refusal `not_authenticated`; the log says why, the response does not */
  private async authenticate(request: Request): Promise<{ subject: Subject; user: DirectoryUser }> {
    const { verifier, callers } = this.parts;
    try {
      const subject = await verifier.subjectOf(bearerToken(request));
      const user = await callers.userOf(subject);
      if (!user)
        throw new CredentialError('the token is good, but its subject is no user of ours, nor free to become one');
      return { subject, user };
    } catch (error) {
      if (!(error instanceof CredentialError)) throw error;
      throw new Refusal('not_authenticated', undefined, { cause: error });
    }
  }

  /** @throws Refusal `workspace_forbidden` whether or not the workspace exists; `role_insufficient` */
  private async authorize(subject: Subject, workspaceId: WorkspaceId, needed: RoleName): Promise<CheckedScope> {
    const user = await this.parts.callers.userIn(subject, workspaceId);
    const grant = user?.grants.find((candidate) => candidate.workspaceId === workspaceId);
    if (!user || !grant) throw new Refusal('workspace_forbidden');
    if (!suffices(grant.role, needed)) throw new Refusal('role_insufficient');
    return { actor: user.id, workspaceId, role: grant.role };
  }
}

/** For whoever keeps answers on the way; what varies by the origin already goes on doing so. */
function varyByAccept(reply: FastifyReply): void {
  const vary = reply.getHeader('vary');
  reply.header('vary', vary === undefined ? 'Accept' : `${String(vary)}, Accept`);
}

/** A user is counted for each workspace they have a role in; naming others gains nothing. */
function rateKeyOf({ id, grants }: DirectoryUser, named: string | undefined): string {
  const grant = grants.find(({ workspaceId }) => String(workspaceId) === named);
  return `${id}/${grant?.workspaceId ?? ''}`;
}

type CheckedScope = Pick<Caller, 'actor' | 'workspaceId' | 'role'>;

/** The one place where a Caller comes into being. */
const made = (scope: CheckedScope & Pick<Caller, 'requestId' | 'signal'>) => scope as Caller;

/** @throws Refusal `workspace_id_required`, `workspace_id_invalid` */
function workspaceIdOf(values: readonly string[] | undefined): WorkspaceId {
  if (!values || values.length === 0) throw new Refusal('workspace_id_required');
  const id = values.length === 1 ? parseId<WorkspaceId>(values[0] ?? '') : undefined;
  if (id === undefined) throw new Refusal('workspace_id_invalid');
  return id;
}
