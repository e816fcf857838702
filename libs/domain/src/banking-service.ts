import type { Created, RequestOptions } from './idempotency.js';
import type { NoInput, Operation, OPERATIONS } from './operations.js';
import type { Scope } from './scope.js';

type MethodOf<O> =
  O extends Operation<infer Takes, infer Gives, infer Result>
    ? Result extends 'created'
      ? (scope: Scope, input: Takes, options?: RequestOptions) => Promise<Created<Gives>>
      : object extends Takes
        ? (scope: Scope, input?: [keyof Takes] extends [never] ? NoInput : Takes) => Promise<Gives>
        : (scope: Scope, input: Takes) => Promise<Gives>
    : never;

/**
 * The methods of the port, one for each row of {@link OPERATIONS}.
 *
 * @throws Refusal the refusals of the row, and those of its access, its body, its page and its idempotency key. From another deployment
 *   also `route_not_found`, if it lacks the operation or is no sandbox. Any other error is unexpected.
 */
export type BankingOperations = { readonly [Name in keyof typeof OPERATIONS]: MethodOf<(typeof OPERATIONS)[Name]> };

/**
 * The port. It has two implementations: our own books, in one database or several, and another deployment of the same interface. A class,
 * because it is the injection token at run time.
 */
export class BankingService extends (class {} as new () => BankingOperations) {
  constructor(operations: BankingOperations) {
    super();
    Object.assign(this, operations);
  }
}
