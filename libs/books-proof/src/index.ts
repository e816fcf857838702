export { exportBooks, ExportError } from './export-books.js';
export {
  type Anchor,
  AnchorFault,
  readAnchor,
  readPublicKey,
  keyIdOf,
  signerWith,
  type AnchorSigner,
  readEnds,
  writeAnchor,
} from './anchor.js';
export { type AnchorComparison, AuditSinceAnchor, SinceAnchor } from './since-anchor.js';
export {
  type AuditTrailProof,
  AuditTrailFault,
  type ExportedAuditEvent,
  isAuditLine,
  proveAuditTrail,
} from './prove-audit-trail.js';
export { SINCE_CHECK, verifyDirectorySince, verifySince } from './verify-since.js';
export type { Attention } from './find-attention.js';
export { type DeploymentReport, verifyDeployment } from './verify-deployment.js';
export { type CellBooks, cellBooksOf } from './cells/halves.js';
export { CELLS_CHECKS, closedWorkspaces, stepsOverCells, verifyCells } from './cells/verify-cells.js';
