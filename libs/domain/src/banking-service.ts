import type { Created, RequestOptions } from './idempotency.js';
import type { NoInput, Operation, OPERATIONS } from './operations.js';
import type { Scope } from './scope.js';

type MethodOf<O, CreationOptions, OfCreation, Rest extends readonly unknown[]> =
  O extends Operation<infer Takes, infer Gives, infer Result>
    ? Result extends 'created'
      ? (scope: Scope, input: Takes, options?: CreationOptions) => Promise<Created<Gives> & OfCreation>
      : object extends Takes
        ? (scope: Scope, input?: [keyof Takes] extends [never] ? NoInput : Takes, ...rest: Rest) => Promise<Gives>
        : (scope: Scope, input: Takes, ...rest: Rest) => Promise<Gives>
    : never;

/**
 * A method for each row of {@link OPERATIONS}.
 *
 * `CreationOptions` are the options of a method that creates something, `OfCreation` is what its result has besides, and `Rest` are the
 * further parameters of all others.
 */
export type OperationMethods<CreationOptions, OfCreation, Rest extends readonly unknown[]> = {
  readonly [Name in keyof typeof OPERATIONS]: MethodOf<(typeof OPERATIONS)[Name], CreationOptions, OfCreation, Rest>;
};

/**
 * The methods of the port.
 *
 * @throws Refusal the refusals of the row, and those of its access, its body, its page and its idempotency key. From another deployment
 *   also `route_not_found`, if it lacks the operation or is no sandbox. Any other error is unexpected.
 */
export type BankingOperations = OperationMethods<RequestOptions, unknown, []>;

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
