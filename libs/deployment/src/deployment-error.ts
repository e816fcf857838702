/** A start that cannot continue. Its message names the next step. */
export class DeploymentError extends Error {
  override readonly name = 'DeploymentError';
}
