import { type Operation, type OperationAccess, type OperationName, OPERATIONS, type RoleName } from '@banking/domain';

/** Who may call an operation, as in the table of operations; `public`: every client. */
export type Access = 'public' | OperationAccess;

type Row = Pick<Operation, 'result' | 'refusals' | 'hasBody'> & { readonly access: Access };

/** Outside of the published interface. */
const HEALTH = {
  getLiveness: { access: 'public', result: 'record', refusals: [] },
  getReadiness: { access: 'public', result: 'record', refusals: ['unavailable'] },
} as const satisfies Record<string, Row>;

export type OperationId = OperationName | keyof typeof HEALTH;

/** All operations, for the access check and the documentation. An operation without a row cannot be called. */
export const ROWS: Readonly<Record<OperationId, Row>> = { ...OPERATIONS, ...HEALTH };

/** Whether an operation belongs to a workspace, and its access is the list of roles in it that may call it. */
export function needsRole(access: Access): access is readonly RoleName[] {
  return typeof access !== 'string';
}

export function suffices(roles: readonly RoleName[], needed: readonly RoleName[]): boolean {
  return roles.some((role) => needed.includes(role));
}
