import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  type DirectoryUser,
  isKeyText,
  type Operation,
  type OperationAccess,
  type OperationName,
  OPERATIONS,
  type OperationScope,
  type Origin,
  parseId,
  Refusal,
  type RoleName,
  type Scope,
  scopeOfOperation,
  type Subject,
  type UserId,
  type WorkspaceId,
} from '@banking/domain';
import { headerLines, JSON_ONLY, preferredType } from '../http/request-head.js';
import { pageRows } from '../http/paged-reads.js';
import type { KeyCheck } from './key-check.js';
import { type RateLimit, requestsOfPage } from './rate-limit.js';
import { grantedRoles, type GrantedRoles, type RoleLookup, suffices } from './role-lookup.js';
import { challengeOf, satisfies, type SignIn, type StepUps } from './step-up.js';
import { CredentialError, type TokenVerifier } from './token-verifier.js';

/** Who may call an operation, as in the table of operations; `public`: every client. */
type Access = 'public' | OperationAccess;

type Row = Pick<Operation, 'method' | 'result' | 'refusals' | 'hasBody'> & { readonly access: Access };

/** Outside of the published interface. */
const HEALTH = {
  getLiveness: { method: 'GET', access: 'public', result: 'record', refusals: [] },
  getReadiness: { method: 'GET', access: 'public', result: 'record', refusals: ['unavailable'] },
} as const satisfies Record<string, Row>;

export type OperationId = OperationName | keyof typeof HEALTH;

/** All operations, for the access check and the documentation. An operation without a row cannot be called. */
export const ROWS: Readonly<Record<OperationId, Row>> = { ...OPERATIONS, ...HEALTH };

/** Whether an operation belongs to a workspace, and its access is the list of roles in it that may call it. */
export function needsRole(access: Access): access is readonly RoleName[] {
  return typeof access !== 'string';
}

declare const checked: unique symbol;

/**
 * A Scope whose access has been checked. The access check makes it, and controllers pass nothing else to the port. An operation that is open
 * to persons who are no users takes a Scope instead, which may have no actor.
 */
export type Caller = Scope & {
  readonly actor: UserId;
  readonly workspaceId?: WorkspaceId;
  readonly roles?: readonly RoleName[];
  readonly [checked]: true;
};

export const CalledBy = createParamDecorator((_: unknown, context: ExecutionContext): Caller => {
  const { caller } = context.switchToHttp().getRequest<FastifyRequest>();
  if (!caller) throw new Error('no caller: the operation is public, or its access was not checked');
  // Only the access check below sets it.
  return caller as Caller;
});

/** Checks the access of a held request again. @throws Refusal if the caller may not call the operation any more */
export async function confirmAccess({ confirmAccess: confirm }: FastifyRequest): Promise<void> {
  if (!confirm) throw new Error('the operation does not declare that its requests are held');
  return confirm();
}

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
  /** Of an implementation with service accounts. */
  readonly keys?: Pick<KeyCheck, 'userOf'>;
  readonly rateLimit: RateLimit;
  /** The operations that need more than a valid token. Default: none. */
  readonly stepUps?: StepUps;
}

/** A verified credential: whose it is, and what it allows of what the user may do. */
interface Authenticated {
  readonly subject: Subject;
  readonly user: DirectoryUser | undefined;
  readonly origin: Origin | undefined;
  /** Undefined for everything. */
  readonly scopes: readonly OperationScope[] | undefined;
  /** Empty for a key, which no person signs in for. */
  readonly signIn: SignIn;
}

/**
 * Authorizes every request from its head alone, in this order: credential, rate limit, media type of the response, workspace, role, scope,
 * sign-in.
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
  async admit(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { operation, mediaTypes, holdMs } = request.routeOptions.config;
    if (operation === PUBLIC_PAGE) return;
    if (operation === undefined || !Object.hasOwn(ROWS, operation)) {
      throw new Error(`${request.method} ${request.routeOptions.url} does not declare its operation`);
    }
    const access = ROWS[operation].access;
    if (access === 'public') return;

    request.operation = operation;
    const { subject, user, origin, scopes, signIn } = await this.authenticate(request, access === 'subject');
    if (user) request.userId = user.id;
    request.origin = {
      issuer: origin?.issuer,
      subject: origin?.subject,
      tokenId: origin?.tokenId,
      clientId: origin?.clientId,
      keyId: origin?.keyId,
      sourceAddress: request.sourceAddress,
    };
    const named = needsRole(access) ? headerLines(request, 'workspace-id') : undefined;
    const grant = user?.grants.find(({ workspaceId }) => String(workspaceId) === named?.[0]);
    if (grant) request.memberOf = grant.workspaceId;
    // A user has one count for each workspace in which they have a role, and one for all other requests. So has a subject without a user.
    const count = requestsOfPage(pageRows(request));
    this.dependencies.rateLimit.take(
      reply,
      `${user?.id ?? `${subject.issuer} ${subject.subject}`}/${grant?.workspaceId ?? ''}`,
      count,
    );
    if (mediaTypes) varyByAccept(reply);
    if (preferredType(request.headers.accept, mediaTypes ?? JSON_ONLY) === undefined)
      throw new Refusal('not_acceptable');
    let granted: GrantedRoles | undefined;
    if (needsRole(access)) {
      const workspaceId = workspaceIdOf(named);
      granted = grantedRoles(user, workspaceId);
      if (!granted || !suffices(granted.roles, access)) {
        granted = await this.dependencies.roles.rolesIn(subject, workspaceId, access);
      }
      if (granted) request.memberOf = workspaceId;
      granted = sufficient(granted, access);
      if (holdMs !== undefined) {
        request.confirmAccess = async () =>
          void sufficient(await this.dependencies.roles.currentRolesIn(subject, workspaceId), access);
      }
    } else if (access === 'subject' && origin?.keyId !== undefined) {
      // A key is of a program: as a person, it would count as an administrator or an approver, with no one behind it.
      throw new Refusal('role_insufficient');
    }
    requireScope(reply, scopes, operation as OperationName);
    this.requireSignIn(reply, signIn, operation as OperationName);
    // The only place that makes a Caller. Field by field, as it is made for each request.
    request.caller = {
      actor: granted?.actor ?? user?.id,
      subject: access === 'subject' ? subject : undefined,
      workspaceId: granted?.workspaceId,
      roles: granted?.roles,
      requestId: request.id,
      origin: request.origin,
      signal: request.deadline,
    } as Caller;
  }

  /** @throws Refusal `step_up_required`, whose challenge names the sign-in (RFC 9470) */
  private requireSignIn(reply: FastifyReply, signIn: SignIn, name: OperationName): void {
    const stepUp = this.dependencies.stepUps?.get(name);
    if (stepUp === undefined || satisfies(stepUp, signIn, Math.floor(Date.now() / 1000))) return;
    reply.header('www-authenticate', challengeOf(stepUp));
    throw new Refusal('step_up_required');
  }

  /**
   * @param isOpen whether the subject need not be that of a user
   * @throws Refusal `not_authenticated`, whose reason goes to the log only
   */
  private async authenticate(request: FastifyRequest, isOpen: boolean): Promise<Authenticated> {
    const { verifier, roles, keys } = this.dependencies;
    try {
      const token = bearerToken(request);
      if (keys && isKeyText(token)) {
        const { subject, user, key } = await keys.userOf(token, request.sourceAddress);
        return { subject, user, origin: { keyId: key.id }, scopes: key.scopes, signIn: {} };
      }
      // What was looked up a moment ago is used without waiting: each wait costs a turn of the microtask queue.
      const subject = verifier.verifiedSubject?.(token) ?? (await verifier.subjectOf(token));
      const user = roles.knownUser(subject) ?? (await roles.userOf(subject));
      if (!user && !isOpen) throw new CredentialError('unknown_user');
      // The request may make the subject a user, whose next request follows at once.
      if (!user) roles.omit(subject);
      return { subject, user, origin: verifier.originOf?.(token), scopes: subject.scopes, signIn: subject };
    } catch (error) {
      if (!(error instanceof CredentialError)) throw error;
      request.credentialFault = error.fault;
      throw new Refusal('not_authenticated', undefined, { cause: error });
    }
  }
}

/** @throws Refusal `workspace_forbidden` whether or not the workspace exists; `role_insufficient` */
function sufficient(granted: GrantedRoles | undefined, needed: readonly RoleName[]): GrantedRoles {
  if (!granted) throw new Refusal('workspace_forbidden');
  if (!suffices(granted.roles, needed)) throw new Refusal('role_insufficient');
  return granted;
}

/** @throws Refusal `scope_insufficient`, whose challenge names the scope (RFC 6750, section 3) */
function requireScope(reply: FastifyReply, scopes: readonly OperationScope[] | undefined, name: OperationName): void {
  if (scopes === undefined) return;
  const needed = scopeOfOperation(name);
  if (scopes.includes(needed)) return;
  reply.header('www-authenticate', `Bearer error="insufficient_scope", scope="${needed}"`);
  throw new Refusal('scope_insufficient');
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
