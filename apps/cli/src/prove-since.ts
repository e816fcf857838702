import { type Anchor, AnchorFault, type AnchorComparison, readAnchor, SinceAnchor } from '@banking/books-proof';
import type { ExportProof } from '@banking/domain/proof';
import { publicKeyOf } from './key-files.js';
import { print, printJson } from './print.js';
import { provenExport, readLines } from './proven-export.js';
import { Refused } from './refused.js';

/** Faults of one file that are printed. */
const FAULTS_MAX = 20;

/** The result for one export. A file that is no valid export has no proof. */
interface Result {
  readonly file: string;
  readonly proof?: ExportProof;
  readonly compared?: AnchorComparison;
  readonly faults: readonly string[];
}

/**
 * Proves exports, and that each contains the books as they were at the anchor. Prints every export.
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
  const notProved = [...anchor.workspaces.keys()].filter((id) => !exported.has(id));
  const { anchoredAt, keyId } = anchor;
  if (isJson) {
    const exports = results.map(({ file, proof, compared: comparison, faults }) => ({
      file,
      workspace: proof?.workspace,
      exportedAt: proof?.exportedAt,
      ...(comparison && { unchanged: comparison.unchanged, opened: comparison.opened }),
      faults,
    }));
    printJson({ anchor: { anchoredAt, keyId }, exports, notProved });
  } else {
    results.forEach((result) => printResult(result, anchor));
    if (notProved.length > 0) {
      print(`Not proved, because no export was given: workspace ${notProved.join(', workspace ')}.`);
    }
  }
  const faults = results.flatMap((result) => result.faults.map((fault) => `${result.file}: ${fault}`));
  if (faults.length > 0) throw new Refused(faults.join('\n'));
}

async function verifiedAnchor(file: string, publicKeyFile: string): Promise<Anchor> {
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
  try {
    const proof = await provenExport(file, { onHead: since.take });
    const comparison = since.compare(proof);
    return { file, proof, compared: comparison, faults: faultsOf(proof, comparison, anchor) };
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

function printResult({ proof, compared: comparison, faults }: Result, { anchoredAt }: Anchor): void {
  if (!proof || !comparison || faults.length > 0) return;
  const { unchanged, opened } = comparison;
  print(
    `Nothing of workspace ${proof.workspace.id}, ${proof.workspace.name}, was changed or cut up to the anchor of ${anchoredAt}: ` +
      `${unchanged} accounts unchanged, ${opened} opened later.`,
  );
}
