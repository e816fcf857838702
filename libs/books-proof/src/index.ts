export { exportBooks, ExportError } from './export-books.js';
export type { Attention } from './find-attention.js';
export { type DeploymentReport, verifyDeployment } from './verify-deployment.js';
export { PAYMENT_CHECKS, verifyPayments } from './verify-payments.js';
export type { VerifyOptions } from './verify-ranges.js';
export { DIRECTORY_CHECK, verifyDirectory } from './verify-trails.js';
