import { BankingService, type BankingOperations, OPERATION_NAMES, OPERATIONS, type Scope } from '@banking/domain';
import { callCell } from './call-cell.js';
import type { HomeOrCopies } from './cells-directory.js';
import type { Places } from './places.js';

type Method = (scope: Scope, ...rest: readonly unknown[]) => Promise<unknown>;
type Methods = Readonly<Record<string, Method>>;

/** The implementation of the port on several databases: each call goes to the cell of its workspace, other calls go to home. */
export class CellsBankingService extends BankingService {
  /** @param bankingOf the implementation on the database of a cell, by its number; throws `unavailable` while it is away */
  constructor(home: HomeOrCopies<BankingService>, bankingOf: (cellNumber: number) => BankingService, places: Places) {
    const methodOf = (name: keyof BankingOperations): Method => {
      const call = (banking: BankingService, args: Parameters<Method>) =>
        (banking as unknown as Methods)[name]!(...args);
      if (OPERATIONS[name].access === 'user') return (...args) => home.read((banking) => call(banking, args));
      return async (...args) => {
        const [{ workspaceId }] = args;
        if (workspaceId === undefined) throw new Error('the scope lacks a workspace');
        return callCell(places, workspaceId, async (cellNumber) => call(bankingOf(cellNumber), args));
      };
    };
    const methods = Object.fromEntries(OPERATION_NAMES.map((name) => [name, methodOf(name)]));
    super(methods as unknown as BankingOperations);
  }
}
