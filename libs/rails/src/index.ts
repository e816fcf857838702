/** Payment networks by configuration. */

export { readRails } from './rails-file.js';
export type { RailConfig } from './rail-config.js';
export { Rails } from './rails.js';
export {
  type BankDifferences,
  COUNT_BANK_DIFFERENCES,
  ignoreEntry,
  readReconciledAccounts,
  reconcileStatements,
  type StatementComparison,
} from './iso20022/reconcile-statements.js';
export { type CheckResult, checkConformance } from './conformance.js';
export { sandboxAdapter } from './sandbox-adapter.js';
export {
  BankRequestError,
  type BankRequest,
  FolderBank,
  FolderInUse,
  UnusableFolder,
  requestOfBank,
} from './iso20022/folder-bank/folder-bank.js';
export { Iso20022Rail } from './iso20022/iso20022-rail.js';
export { type FileRailStatus, readFileRailStatus } from './iso20022/file-rail-status.js';
