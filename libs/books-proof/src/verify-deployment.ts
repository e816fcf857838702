import { CHECKS, INTERWORKSPACE_CHECK, type VerificationReport, verifyBooks } from '@banking/ledger';
import type { Database } from '@banking/postgres';
import { type Attention, type AttentionOptions, findAttention } from './find-attention.js';
import {
  DIRECTORY_CHECK,
  PAYMENT_CHECKS,
  verifyDirectory,
  verifyPayments,
  type VerifyOptions,
} from '@banking/operations/verification';

/** Checks across workspaces, which need all of them. */
const CHECKS_OF_ALL: readonly string[] = [INTERWORKSPACE_CHECK, DIRECTORY_CHECK];

export interface DeploymentReport extends VerificationReport {
  /** The checks that ran, and those skipped because not all workspaces were named, or others are in another cell. */
  readonly checks: readonly string[];
  readonly skippedChecks: readonly string[];
  /** Work for an operator. It is no finding. */
  readonly attention: readonly Attention[];
}

export interface DeploymentVerifyOptions extends VerifyOptions, AttentionOptions {
  /** Whether these are all workspaces of the deployment: only then the checks across workspaces run. */
  readonly isWhole: boolean;
  /**
   * The workspaces whose roles are compared with the trail of the directory, where they are not the same. Of several databases only home
   * has the trail: at home they are all workspaces of the deployment, elsewhere `none`.
   */
  readonly directoryOf?: readonly number[] | 'none';
  /** Whether the database is one of several cells. Payments between workspaces are then verified over all cells, by `verifyCells`. */
  readonly isCell?: boolean;
  /** Called after the books of each workspace. */
  readonly onWorkspace?: (workspaceId: number) => void;
}

/**
 * Verifies the books, the payments and the directory from their rows, and lists the work for operators. Changes nothing.
 * The caller decides how to report findings: this function does not throw for them.
 */
export async function verifyDeployment(
  database: Database,
  workspaceIds: readonly number[],
  options: DeploymentVerifyOptions,
): Promise<DeploymentReport> {
  const { isWhole, isCell = false, directoryOf = workspaceIds } = options;
  const report = await verifyBooks(database, workspaceIds, { ...options, isWhole: isWhole && !isCell });
  const payments = await verifyPayments(database, workspaceIds, options);
  const hasDirectory = isWhole && directoryOf !== 'none';
  const directory = hasDirectory ? await verifyDirectory(database, directoryOf) : [];
  const elsewhere = [...(isCell ? [INTERWORKSPACE_CHECK] : []), ...(hasDirectory ? [] : [DIRECTORY_CHECK])];
  const checksOfAll = CHECKS_OF_ALL.filter((check) => !elsewhere.includes(check));
  return {
    ...report,
    checks: [...CHECKS, ...PAYMENT_CHECKS, ...(isWhole ? checksOfAll : [])],
    skippedChecks: isWhole ? elsewhere.filter((check) => check !== DIRECTORY_CHECK) : CHECKS_OF_ALL,
    findings: [...report.findings, ...payments, ...directory],
    attention: await findAttention(database, workspaceIds, options),
  };
}
