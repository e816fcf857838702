import {
  BankingService,
  type BankingOperations,
  eachOperation,
  type OperationName,
  OPERATIONS,
  type Scope,
} from '@banking/domain';
import type { Cells, CellUse } from './cells.js';
import type { HomeOrCopies } from './cells-directory.js';

type Method = (scope: Scope, ...rest: readonly unknown[]) => Promise<unknown>;

/** The implementation of the port on all databases: each call goes to the cell of its workspace, other calls go to home. */
export class CellsBankingService extends BankingService {
  constructor(
    home: HomeOrCopies<{ readonly banking: BankingService }>,
    cells: Pick<Cells<CellUse & { readonly banking: BankingService }>, 'inCellOf'>,
  ) {
    const methodOf = (name: OperationName): Method => {
      const methodIn = (use: { readonly banking: BankingService }) => use.banking[name] as Method;
      // What a person joins is written at home.
      if (OPERATIONS[name].access === 'subject') return (...args) => home.write((use) => methodIn(use)(...args));
      if (OPERATIONS[name].access === 'user') return (...args) => home.read((use) => methodIn(use)(...args));
      return async (...args) => {
        const [{ workspaceId }] = args;
        if (workspaceId === undefined) throw new Error('the scope lacks a workspace');
        return cells.inCellOf(workspaceId, (use) => methodIn(use)(...args));
      };
    };
    super(eachOperation(methodOf) as BankingOperations);
  }
}
