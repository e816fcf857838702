export { exportBooks, ExportError } from './export-books.js';
export { type Anchor, AnchorFault, readAnchor } from './read-anchor.js';
export { readPublicKey, keyIdOf, signerWith } from './anchor-key.js';
export { type AnchorComparison, AuditSinceAnchor, SinceAnchor } from './since-anchor.js';
export { type AnchorSigner, readEnds, writeAnchor } from './write-anchor.js';
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
export { type CellBooks, cellBooksOf } from './cells/cell-books.js';
export { CELLS_CHECKS, stepsOverCells, verifyCells } from './cells/verify-cells.js';
