import { countDemoReference } from '@banking/operations';
import type { Database } from '@banking/postgres';
import { DeploymentError } from './deployment-error.js';
import type { DeploymentMode } from './deployment-mode.js';

/** Whether reference data with invented figures is loaded and served: by default in a sandbox. */
export const hasDemoReference = ({ isSandbox, hasDemoReference: isStated }: DeploymentMode): boolean =>
  isStated ?? isSandbox;

/**
 * Refuses to serve invented limits and delivery times as if they were those of the deployment. Rows can be there from an older version, or
 * from a time with the other setting.
 *
 * @throws DeploymentError with the change to make
 */
export async function refuseDemoReference(database: Database, mode: DeploymentMode): Promise<void> {
  if (hasDemoReference(mode)) return;
  const { corridors, minimums } = await countDemoReference(database);
  if (corridors + minimums === 0) return;
  throw new DeploymentError(
    `The reference data has ${corridors} corridors and ${minimums} SWIFT minimums that are marked as demo: their figures are invented. ` +
      'Replace or delete them (docs/access.md#demo-reference-data), or set DEMO_REFERENCE=on to serve them.',
  );
}
