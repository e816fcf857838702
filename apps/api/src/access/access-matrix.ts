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

/** From the lowest to the highest: a role includes the rights of those before it. */
const RANKS: readonly RoleName[] = ['member', 'admin'];

export function isRole(access: Access): access is RoleName {
  return access !== 'public' && access !== 'user';
}

export function suffices(role: RoleName, needed: RoleName): boolean {
  return RANKS.indexOf(role) >= RANKS.indexOf(needed);
}
