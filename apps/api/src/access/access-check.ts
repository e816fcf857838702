import type { FastifyReply, FastifyRequest } from 'fastify';
import { type DirectoryUser, parseId, Refusal, type RoleName, type Subject, type WorkspaceId } from '@banking/domain';
import { headerLines, JSON_ONLY, preferredType } from '../http/request-head.js';
import { pageRows } from '../http/paged-reads.js';
import { isRole, type OperationId, ROWS, suffices } from './access-matrix.js';
import type { CalledRequest, Caller } from './caller.js';
import { type RateLimit, requestsOfPage } from './rate-limit.js';
import { type GrantedRole, grantedRole, type RoleLookup } from './role-lookup.js';
import { CredentialError, type TokenOrigin, type TokenVerifier } from './token-verifier.js';

/** The scheme is case-insensitive (RFC 9110, section 11.1), the token is a b64token (RFC 6750, section 2.1). */
const BEARER = /^bearer +([A-Za-z0-9._~+/-]+=*)$/i;

/** @throws CredentialError unless the request has exactly one bearer token */
export function bearerToken(request: FastifyRequest): string {
  const values = headerLines(request, 'authorization');
  if (values.length !== 1) {
    throw new CredentialError(values.length === 0 ? 'missing' : 'repeated');
  }
  const token = BEARER.exec(values[0] ?? '')?.[1];
  if (token === undefined) throw new CredentialError('malformed');
  return token;
}

/** The declaration of a route that is not an operation: the documentation page and the OpenAPI document, which are public. */
export const PUBLIC_PAGE = 'page';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The operation of the route. A route without one cannot be called. */
    operation?: OperationId | typeof PUBLIC_PAGE;
    /** The media types of the response, if JSON is not the only one. */
    mediaTypes?: readonly string[];
  }
}

interface AccessCheckDependencies {
  readonly verifier: Pick<TokenVerifier, 'subjectOf'> & Partial<Pick<TokenVerifier, 'verifiedSubject' | 'originOf'>>;
  readonly roles: RoleLookup;
  readonly rateLimit: RateLimit;
}

type Request = FastifyRequest & CalledRequest;

/**
 * Authorizes every request from its head alone, in this order: credential, rate limit, media type of the response, workspace, role.
 * This is a Fastify hook (`onRequest`) and no Nest guard: guards run after the body was read, and the body of a refused
 * caller must not be read.
 */
export class AccessCheck {
  constructor(private readonly dependencies: AccessCheckDependencies) {}

  /**
   * Sets the checked Caller of the request, unless the route is public.
   *
   * @throws Refusal if the caller may not call the operation
   * @throws Error if the route does not declare its operation
   */
  async admit(request: Request, reply: FastifyReply): Promise<void> {
    const { operation, mediaTypes, holdMs } = request.routeOptions.config;
    if (operation === PUBLIC_PAGE) return;
    if (operation === undefined || !Object.hasOwn(ROWS, operation)) {
      throw new Error(`${request.method} ${request.routeOptions.url} does not declare its operation`);
    }
    const access = ROWS[operation].access;
    if (access === 'public') return;

    request.operation = operation;
    const { subject, user, origin } = await this.authenticate(request);
    request.userId = user.id;
    request.origin = {
      issuer: origin?.issuer,
      subject: origin?.subject,
      tokenId: origin?.tokenId,
      clientId: origin?.clientId,
      sourceAddress: request.sourceAddress,
    };
    const named = isRole(access) ? headerLines(request, 'workspace-id') : undefined;
    const grant = user.grants.find(({ workspaceId }) => String(workspaceId) === named?.[0]);
    if (grant) request.memberOf = grant.workspaceId;
    // A user has one count for each workspace in which they have a role, and one for all other requests.
    const count = requestsOfPage(pageRows(request));
    this.dependencies.rateLimit.take(reply, `${user.id}/${grant?.workspaceId ?? ''}`, count);
    if (mediaTypes) varyByAccept(reply);
    if (preferredType(request.headers.accept, mediaTypes ?? JSON_ONLY) === undefined)
      throw new Refusal('not_acceptable');
    let granted: GrantedRole | undefined;
    if (isRole(access)) {
      const workspaceId = workspaceIdOf(named);
      granted = grantedRole(user, workspaceId) ?? (await this.dependencies.roles.roleIn(subject, workspaceId));
      if (granted) request.memberOf = workspaceId;
      granted = sufficient(granted, access);
      if (holdMs !== undefined) {
        request.confirmAccess = async () =>
          void sufficient(await this.dependencies.roles.currentRoleIn(subject, workspaceId), access);
      }
    }
    // The only place that makes a Caller. Field by field, as it is made for each request.
    request.caller = {
      actor: granted?.actor ?? user.id,
      workspaceId: granted?.workspaceId,
      role: granted?.role,
      requestId: request.id,
      origin: request.origin,
      signal: request.deadline,
    } as Caller;
  }

  /** @throws Refusal `not_authenticated`, whose reason goes to the log only */
  private async authenticate(
    request: Request,
  ): Promise<{ subject: Subject; user: DirectoryUser; origin: TokenOrigin | undefined }> {
    const { verifier, roles } = this.dependencies;
    try {
      const token = bearerToken(request);
      // What was looked up a moment ago is used without waiting: each wait costs a turn of the microtask queue.
      const subject = verifier.verifiedSubject?.(token) ?? (await verifier.subjectOf(token));
      const user = roles.knownUser(subject) ?? (await roles.userOf(subject));
      if (!user) throw new CredentialError('unknown_user');
      return { subject, user, origin: verifier.originOf?.(token) };
    } catch (error) {
      if (!(error instanceof CredentialError)) throw error;
      request.credentialFault = error.fault;
      throw new Refusal('not_authenticated', undefined, { cause: error });
    }
  }
}

/** @throws Refusal `workspace_forbidden` whether or not the workspace exists; `role_insufficient` */
function sufficient(granted: GrantedRole | undefined, needed: RoleName): GrantedRole {
  if (!granted) throw new Refusal('workspace_forbidden');
  if (!suffices(granted.role, needed)) throw new Refusal('role_insufficient');
  return granted;
}

/** For caches between the client and the service. Keeps a `Vary` that is already set, such as `Origin`. */
function varyByAccept(reply: FastifyReply): void {
  const vary = reply.getHeader('vary');
  reply.header('vary', vary === undefined ? 'Accept' : `${String(vary)}, Accept`);
}

/** @throws Refusal `workspace_id_required`, `header_repeated`, `workspace_id_invalid` */
function workspaceIdOf(values: readonly string[] | undefined): WorkspaceId {
  if (!values || values.length === 0) throw new Refusal('workspace_id_required');
  if (values.length > 1) throw new Refusal('header_repeated', 'Send the header workspace-id once.');
  const id = parseId<WorkspaceId>(values[0] ?? '');
  if (id === undefined) throw new Refusal('workspace_id_invalid');
  return id;
}
