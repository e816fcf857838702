import { OPERATION_NAMES, type OperationAccess, type OperationName, OPERATIONS, type RoleName } from '@banking/domain';

/** Who may call an operation, as in the table of operations; `public`: every client. */
export type Access = 'public' | OperationAccess;

const HEALTH = { getLiveness: 'public', getReadiness: 'public' } as const;

export type OperationId = OperationName | keyof typeof HEALTH;

/** The access matrix, for the access check and the documentation. An operation without a row cannot be called. */
export const ACCESS: Readonly<Record<OperationId, Access>> = {
  ...(Object.fromEntries(OPERATION_NAMES.map((name) => [name, OPERATIONS[name].access])) as Record<
    OperationName,
    OperationAccess
  >),
  ...HEALTH,
};

/** From the lowest to the highest: a role includes the rights of those before it. */
const RANKS: readonly RoleName[] = ['member', 'admin'];

export function isRole(access: Access): access is RoleName {
  return access !== 'public' && access !== 'user';
}

export function suffices(role: RoleName, needed: RoleName): boolean {
  return RANKS.indexOf(role) >= RANKS.indexOf(needed);
}
