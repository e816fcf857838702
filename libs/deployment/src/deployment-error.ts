/** A start that cannot go on. Its message says what to do. */
export class DeploymentError extends Error {
  override readonly name = 'DeploymentError';
}
