import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { parseId, Refusal, type DirectoryUser, type RoleName, type Subject, type WorkspaceId } from '@banking/domain';
import { ACCESS, isRole, type OperationId, suffices } from './matrix.js';
import type { CalledRequest, Caller } from './caller.js';
import { JSON_ONLY, preferredType } from '../http/accept.js';
import { Callers } from './callers.js';
import { bearerToken, headerLines } from './credentials.js';
import { RateLimit } from './rate-limit.js';
import { CredentialError, TokenVerifier } from './token-verifier.js';

/** Under this key a route says which operation it is. */
export const OPERATION = 'operation';

/** Under this key one says in which media types it answers, where JSON is not the only one. */
export const ANSWERS_IN = 'answersIn';

/** Lets a request through to its controller only as a checked Caller: credential, then rate, then workspace and role. */
@Injectable()
export class AccessGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly verifier: TokenVerifier,
    private readonly callers: Callers,
    private readonly rateLimit: RateLimit,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const operation = this.reflector.get<OperationId | undefined>(OPERATION, context.getHandler());
    if (operation === undefined || !Object.hasOwn(ACCESS, operation)) {
      throw new Error(`${context.getClass().name}.${context.getHandler().name} does not say which operation it is`);
    }
    const access = ACCESS[operation];
    if (access === 'public') return true;

    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest & CalledRequest>();
    request.operation = operation;
    const { subject, user } = await this.authenticate(request);
    request.userId = user.id;
    const named = isRole(access) ? headerLines(request, 'workspace-id') : undefined;
    this.rateLimit.take(http.getResponse<FastifyReply>(), rateKeyOf(user, named?.[0]));
    const offered = this.reflector.get<readonly string[] | undefined>(ANSWERS_IN, context.getHandler());
    if (offered) varyByAccept(http.getResponse<FastifyReply>());
    if (preferredType(request.headers.accept, offered ?? JSON_ONLY) === undefined) throw new Refusal('not_acceptable');
    const scope = isRole(access) ? await this.authorize(subject, workspaceIdOf(named), access) : { actor: user.id };
    request.caller = made({ ...scope, requestId: request.id, signal: request.deadline });
    return true;
  }

  /** @throws Refusal `not_authenticated`; why goes to the log, not to the caller */
  private async authenticate(request: FastifyRequest): Promise<{ subject: Subject; user: DirectoryUser }> {
    try {
      const subject = await this.verifier.subjectOf(bearerToken(request));
      const user = await this.callers.userOf(subject);
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
    const user = await this.callers.userIn(subject, workspaceId);
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
