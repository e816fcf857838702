import {
  type Anchor,
  type AnchorComparison,
  AnchorFault,
  AuditSinceAnchor,
  type AuditTrailProof,
  readAnchor,
  SinceAnchor,
} from '@banking/books-proof';
import type { ExportProof } from '@banking/domain/proof';
import { publicKeyOf } from './key-files.js';
import { print, printJson } from './print.js';
import { provenFile, readLines } from './proven-file.js';
import { Refused } from './refused.js';

/** Faults of one file that are printed. */
const FAULTS_MAX = 20;

/** The result for one file. A file that is no valid export has no proof. */
interface Result {
  readonly file: string;
  readonly proof?: ExportProof;
  readonly compared?: AnchorComparison;
  readonly audit?: AuditTrailProof;
  readonly faults: readonly string[];
}

/**
 * Proves exports of books and of audit trails, and that each contains what was there at the anchor. Prints every export.
 *
 * @throws Refused with all faults: an invalid anchor or export, a head that is not on its chain, a workspace without heads
 */
export async function proveSince(
  files: readonly string[],
  anchorFile: string,
  publicKeyFile: string,
  isJson: boolean,
): Promise<void> {
  const anchor = await verifiedAnchor(anchorFile, publicKeyFile);
  const results: Result[] = [];
  for (const file of files) results.push(await compared(file, anchor));
  const exported = new Set(results.map(({ proof }) => proof?.workspace.id));
  const trails = new Set(results.map(({ audit }) => audit?.workspaceId));
  const notProved = [...anchor.workspaces.keys()].filter((id) => !exported.has(id));
  const notCompared = [...anchor.audits.keys()].filter((id) => !trails.has(id));
  const { anchoredAt, keyId } = anchor;
  if (isJson) {
    const exports = results.map(({ file, proof, compared: comparison, audit, faults }) => ({
      file,
      ...(audit ? { auditTrail: audit } : { workspace: proof?.workspace, exportedAt: proof?.exportedAt }),
      ...(comparison && { unchanged: comparison.unchanged, opened: comparison.opened }),
      faults,
    }));
    printJson({ anchor: { anchoredAt, keyId }, exports, notProved, auditTrailsNotCompared: notCompared });
  } else {
    results.forEach((result) => printResult(result, anchor));
    if (notProved.length > 0) {
      print(`Not proved, because no export was given: workspace ${notProved.join(', workspace ')}.`);
    }
    if (notCompared.length > 0) {
      print(
        `Audit trail not compared, because no file of banking audit export was given: workspace ${notCompared.join(', workspace ')}.`,
      );
    }
  }
  const faults = results.flatMap((result) => result.faults.map((fault) => `${result.file}: ${fault}`));
  if (faults.length > 0) throw new Refused(faults.join('\n'));
}

/** Reads an anchor. @throws Refused if it is not valid, or not signed with the key */
export async function verifiedAnchor(file: string, publicKeyFile: string): Promise<Anchor> {
  const publicKey = await publicKeyOf(publicKeyFile);
  try {
    return await readLines(file, (lines) => readAnchor(lines, publicKey));
  } catch (error) {
    if (error instanceof AnchorFault) throw new Refused(`The file ${file} is not a valid anchor: ${error.message}.`);
    throw error;
  }
}

async function compared(file: string, anchor: Anchor): Promise<Result> {
  const since = new SinceAnchor(anchor);
  const auditSince = new AuditSinceAnchor(anchor);
  try {
    const proven = await provenFile(file, { onHead: since.take, onEntry: auditSince.take });
    if (proven.kind === 'audit') {
      const fault = auditSince.faultOf(proven.proof);
      return { file, audit: proven.proof, faults: fault === undefined ? [] : [fault] };
    }
    const comparison = since.compare(proven.proof);
    return { file, proof: proven.proof, compared: comparison, faults: faultsOf(proven.proof, comparison, anchor) };
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return { file, faults: [error.message] };
  }
}

function faultsOf({ workspace, exportedAt }: ExportProof, comparison: AnchorComparison, anchor: Anchor): string[] {
  if (!comparison.isAnchored) return [`The anchor has no heads of workspace ${workspace.id}, so nothing is proved.`];
  const { faults } = comparison;
  if (faults.length === 0) return [];
  const isOlder = Date.parse(exportedAt) < Date.parse(anchor.anchoredAt);
  return [
    ...faults.slice(0, FAULTS_MAX),
    ...(faults.length > FAULTS_MAX ? [`${faults.length - FAULTS_MAX} more accounts differ from the anchor.`] : []),
    ...(isOlder ? ['By its time, the export is older than the anchor. Prove a later export.'] : []),
  ];
}

function printResult({ proof, compared: comparison, audit, faults }: Result, { anchoredAt }: Anchor): void {
  if (faults.length > 0) return;
  if (audit) {
    print(
      `Nothing of the audit trail of workspace ${audit.workspaceId} was changed or cut up to the anchor of ${anchoredAt}: ` +
        `entries ${audit.oldest} to ${audit.newest} follow each other.`,
    );
  }
  if (!proof || !comparison) return;
  const { unchanged, opened } = comparison;
  print(
    `Nothing of workspace ${proof.workspace.id}, ${proof.workspace.name}, was changed or cut up to the anchor of ${anchoredAt}: ` +
      `${unchanged} accounts unchanged, ${opened} opened later.`,
  );
}
