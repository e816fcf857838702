export { exportBooks, ExportError } from './export-books.js';
export { type Anchor, AnchorFault, readAnchor } from './read-anchor.js';
export { readPublicKey, keyIdOf, signerWith } from './anchor-key.js';
export { type AnchorComparison, SinceAnchor } from './since-anchor.js';
export { type AnchorSigner, writeAnchor } from './write-anchor.js';
export type { Attention } from './find-attention.js';
export { type DeploymentReport, verifyDeployment } from './verify-deployment.js';
export { type CellBooks, cellBooksOf } from './cells/cell-books.js';
export { CELLS_CHECKS, stepsOverCells, verifyCells } from './cells/verify-cells.js';
