export {
  migrateDeployment,
  missingMigrations,
  planDeployment,
  type SchemaSettings,
  needsOwnConnection,
} from './migrate-deployment.js';
export * from './open-deployment.js';
export { prepareReferenceAt } from './prepare-reference.js';
export { describeLeftServers, explainFailure, isOperatorError } from './explain-failure.js';
export { RELEASE } from './release.js';
export { addCell } from './cells/add-cell.js';
export { abandonMove, moveWorkspace } from './cells/move-workspace.js';
export { archiveWorkspace } from './cells/remove-rows.js';
export type { CellAccess } from './cells/move-record.js';
export { type CellPlace, Cells, settingsOf, CellsBankingService } from './cells/cells.js';
export { CellsDirectory, HomeOrCopies } from './cells/cells-directory.js';
export { addressOf } from './cells/subscription.js';
export { ensureEmbeddedCells } from './cells/ensure-embedded-cells.js';
export { type CellSchema, migrateCells, planCells } from './cells/migrate-cells.js';
export {
  accountCodes,
  closedHere,
  describeUnserved,
  PLACES_CHECK,
  reserveKnownCode,
  unservedWorkspaces,
  untilOpen,
} from './cells/places.js';
export { CopiesComparison } from './cells/copies-comparison.js';
export { compareCopy, COPY_CHECK, describeLost, inDatabase, slotOfCopy } from './cells/compare-copy.js';
export { sumOfWork, VerificationOverCells } from './cells/verify-over-cells.js';
