import { type Operation, type OperationName, OPERATIONS } from './operations.js';
import { type OperationScope, SERVICE_ACCOUNT_ROLES } from './resources/service-account.js';

const segmentsOf = (path: string): string[] => path.split('/').slice(1);

/** The segments of paths that name a list whose members have ids, such as `orders` of `/orders/{orderId}`. */
const LISTS: ReadonlySet<string> = new Set(
  Object.values(OPERATIONS).flatMap(({ path }) =>
    segmentsOf(path).filter((_, index, segments) => /^\{\w+Id\}$/.test(segments[index + 1] ?? '')),
  ),
);

/** The last list of the path, or its first segment if that is no list. */
function resourceOf(path: string): string {
  const segments = segmentsOf(path);
  const [first = ''] = segments;
  return LISTS.has(first) ? segments.findLast((segment) => LISTS.has(segment))! : first;
}

function actionOf({ method, result }: Pick<Operation, 'method' | 'result'>): 'read' | 'create' | 'update' | 'delete' {
  if (method === 'GET') return 'read';
  if (method === 'DELETE') return 'delete';
  return result === 'created' ? 'create' : 'update';
}

const scopeOf = (operation: Pick<Operation, 'method' | 'path' | 'result'>): OperationScope =>
  `${resourceOf(operation.path)}:${actionOf(operation)}`;

const SCOPES = Object.fromEntries(
  Object.entries(OPERATIONS).map(([name, operation]) => [name, scopeOf(operation)]),
) as Readonly<Record<OperationName, OperationScope>>;

/** The scope that an operation needs, derived from its row: the resource of its path and what its method does with it. */
export const scopeOfOperation = (name: OperationName): OperationScope => SCOPES[name];

/** Every scope, in the order of the operations. */
export const OPERATION_SCOPES: readonly OperationScope[] = [...new Set(Object.values(SCOPES))];

/** The scopes that a service account may have: none of approving, of administering, or of what a sandbox alone has. */
export const SERVICE_ACCOUNT_SCOPES: readonly OperationScope[] = OPERATION_SCOPES.filter(
  (scope) =>
    !scope.startsWith('sandbox:') &&
    Object.entries(OPERATIONS).some(
      ([name, { access }]: [string, Operation]) =>
        SCOPES[name as OperationName] === scope &&
        (access === 'user' || SERVICE_ACCOUNT_ROLES.some((role) => access.includes(role))),
    ),
);

/** Whether a text is a scope of this service. */
export const isOperationScope = (text: string): text is OperationScope =>
  (OPERATION_SCOPES as readonly string[]).includes(text);
