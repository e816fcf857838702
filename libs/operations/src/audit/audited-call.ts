import type { Origin, Scope, UserId, WorkspaceId } from '@banking/domain';

/** The workspace and the actor of a change, and what the audit trail says of the call. */
export interface AuditedCall extends Pick<Scope, 'requestId' | 'origin'> {
  readonly workspaceId: WorkspaceId;
  readonly actor: UserId | undefined;
}

/** The longest text of a credential or of an operator that is stored. */
const TEXT_MAX = 255;

/** PostgreSQL stores no NUL and no lone surrogate in JSON, and a reader could not see other control characters. */
const NOT_STORED = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}]/gu;

const stored = (text: string | undefined): string | undefined =>
  text === undefined || text === '' ? undefined : text.slice(0, TEXT_MAX).replace(NOT_STORED, '\ufffd');

/** The actor as it is stored. Without a user and an operator, the service itself acts. */
function actorOf(actor: UserId | undefined, origin: Origin | undefined): Readonly<Record<string, unknown>> {
  const { operator } = origin ?? {};
  if (operator) {
    return { type: 'operator', name: stored(operator.name), operatingSystemUser: stored(operator.operatingSystemUser) };
  }
  if (actor === undefined) return SYSTEM;
  return {
    type: 'user',
    issuer: stored(origin?.issuer),
    subject: stored(origin?.subject),
    tokenId: stored(origin?.tokenId),
    clientId: stored(origin?.clientId),
  };
}

const SYSTEM = { type: 'system' } as const;

/** Who called and from where, as a part of an entry. */
export const callerOf = ({ actor, requestId, origin }: AuditedCall): Readonly<Record<string, unknown>> => ({
  userId: actor,
  actor: actorOf(actor, origin),
  requestId: stored(requestId),
  sourceAddress: stored(origin?.sourceAddress),
});

/** A worker or the service itself, as a part of an entry. */
export const BY_SYSTEM: Readonly<Record<string, unknown>> = { actor: SYSTEM };
