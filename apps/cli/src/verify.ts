import { minorUnits, type WorkspaceId } from '@banking/domain';
import {
  type Anchor,
  type DeploymentReport,
  SINCE_CHECK,
  verifyDeployment,
  verifyDirectorySince,
  verifySince,
} from '@banking/books-proof';
import { readDemoBookings } from '@banking/operations/demo';
import { closedHere, inDatabase, isOperatorError, PLACES_CHECK } from '@banking/deployment';
import type { Finding } from '@banking/ledger';
import type { Database } from '@banking/postgres';
import { type CellConfig, HOME_CELL } from '@banking/process';
import { allWorkspaces, workspacesHere } from '@banking/operations/provisioning';
import { readRails } from '@banking/rails';
import type { Command } from 'commander';
import { type BetweenReport, demoBookings, findUnserved, inCellOf, verifyBetween } from './each-cell.js';
import { readConfig } from './config.js';
import { withDeployment } from './deployment.js';
import { examples, jsonOption, lookupOption, workspaceOption } from './inputs.js';
import { print, printJson, printTable, Refused, reportProgress, reportRanges, shownAmount } from './print.js';
import { verifiedAnchor } from './prove.js';
import { chosenWorkspaces } from './workspaces.js';

interface VerifyCommandOptions {
  readonly workspace?: WorkspaceId;
  readonly since?: string;
  readonly publicKey?: string;
  readonly json?: boolean;
}

interface Asked {
  readonly workspaceId: WorkspaceId | undefined;
  readonly anchor: Anchor | undefined;
}

/** The report of a database, and what it says of an anchor. */
interface CellReport extends DeploymentReport {
  /** What an anchor cannot say, a sentence each. */
  readonly notCompared?: readonly string[];
}

export function addVerifyCommand(program: Command): void {
  program
    .command('verify')
    .summary('verify the books from their rows')
    .description(
      'Recomputes the books from their rows, including every hash, and prints the checks and their findings.\n\n' +
        'Changes no row and may run beside the service: it reads in ranges, each in a short snapshot. Exit code 1 if there is a ' +
        'finding. Work for an operator, such as parked work, is listed separately and is no finding. With --workspace, checks ' +
        'across workspaces are skipped. Of several databases, all are verified, or the one of CELL.\n\n' +
        'With --since, the heads of accounts, of audit trails and of the directory in an anchor are compared with the database too: ' +
        'a finding if something before the anchor was changed or cut, although all hashes are correct.',
    )
    .addOption(workspaceOption('only the books of this workspace'))
    .addOption(lookupOption('--since <anchor>', 'file of banking anchor to compare with'))
    .addOption(lookupOption('--public-key <file>', 'Ed25519 public key in PEM that signed the anchor'))
    .addOption(jsonOption())
    .addHelpText(
      'after',
      examples(
        'banking verify',
        'banking verify --workspace 1 --json',
        'banking verify --since anchor.jsonl --public-key anchor.pub',
      ),
    )
    .action(async ({ workspace, since, publicKey, json }: VerifyCommandOptions, command: Command) => {
      if ((since === undefined) !== (publicKey === undefined)) {
        return command.error('error: --since and --public-key belong together');
      }
      const anchor = since === undefined ? undefined : await verifiedAnchor(since, publicKey!);
      const asked: Asked = { workspaceId: workspace, anchor };
      const { cell, deployment } = readConfig();
      if (deployment.cells !== undefined && cell === undefined) return verifyAll(deployment.cells, asked, json);
      const report = await verify(asked);
      if (json) printJson({ inOrder: report.findings.length === 0, ...report });
      else printReport(report);
      if (report.findings.length > 0) throw new Refused(verdict(report));
    });
}

/**
 * Verifies each database of several, and the payments between them; or the one that has the workspace. A database that does not answer
 * fails the command at the end.
 */
async function verifyAll(cells: readonly CellConfig[], asked: Asked, json: boolean | undefined): Promise<void> {
  const { workspaceId: workspace } = asked;
  const all = [HOME_CELL, ...cells.map(({ name }) => name)];
  const names = workspace === undefined ? all : [(await inCellOf(workspace)).cell!];
  const reports: Record<string, object> = {};
  const failures: string[] = [];
  for (const name of names) {
    try {
      const report = await verify(asked, name);
      reports[name] = { inOrder: report.findings.length === 0, ...report };
      if (report.findings.length > 0) failures.push(`Cell ${name}: ${verdict(report)}`);
      if (json) continue;
      print(`Cell ${name}`);
      printReport(report);
      print('');
    } catch (error) {
      if (!isOperatorError(error)) throw error;
      reports[name] = { inOrder: null };
      failures.push(`Cell ${name} was not verified: ${(error as Error).message}`);
    }
  }
  const between = workspace === undefined ? await verifyBetween(names) : undefined;
  if (between?.failure !== undefined) failures.push(`Payments between cells were not verified: ${between.failure}`);
  if (between?.inOrder === false) failures.push(`Between cells: ${verdict(between)}`);
  if (json) printJson({ inOrder: failures.length === 0, cells: reports, ...(between && { between }) });
  else if (between) printBetween(between);
  if (failures.length > 0) throw new Refused(failures.join('\n'));
}

/** @param cell the name of one of several databases */
async function verify({ workspaceId, anchor }: Asked, cell?: string): Promise<CellReport> {
  const use = { changesNothing: true, readsBooks: true, ...(cell !== undefined && { cell }) };
  const isWhole = workspaceId === undefined;
  return withDeployment(async ({ database }, config) => {
    const unserved = await unservedAmong(database, workspaceId, cell ?? config.cell);
    const ids = (await chosenWorkspaces(database, workspaceId)).map(({ id }) => id);
    const isHome = [undefined, HOME_CELL].includes(cell ?? config.cell);
    const directoryOf = isHome ? (await allWorkspaces(database)).map(({ id }) => id) : 'none';
    const onRange = reportRanges();
    let proven = 0;
    const onWorkspace = (id: number) => {
      proven += 1;
      reportProgress(`Verified the books of workspace ${id}, ${proven} of ${ids.length}.`);
    };
    const bookedWithoutOrder = isHome ? await readDemoBookings(database) : await demoBookings(config.deployment);
    const isCell = config.deployment.cells !== undefined;
    const rails = readRails(config.deployment).names;
    const reports = { onWorkspace, onRange };
    const books = { directoryOf, bookedWithoutOrder, rails } as const;
    const ofBooks = await verifyDeployment(database, ids, { isWhole, isCell, ...reports, ...books });
    const checks = [...ofBooks.checks, ...(unserved.length > 0 ? [PLACES_CHECK] : [])];
    const report = { ...ofBooks, checks, findings: [...ofBooks.findings, ...unserved] };
    if (anchor === undefined) return report;
    const since = await verifySince(database, ids, anchor);
    const ofDirectory =
      isWhole && directoryOf !== 'none' ? await verifyDirectorySince(database, anchor, directoryOf) : [];
    return {
      ...report,
      checks: [...report.checks, SINCE_CHECK],
      findings: [...report.findings, ...since.findings, ...ofDirectory],
      notCompared: since.notCompared,
    };
  }, use);
}

/**
 * The workspaces that a database should serve, and does not: their books are elsewhere or lost, so what is here is not in order. Home is
 * asked only if a workspace is closed here.
 *
 * @throws Refused for the one that is asked for
 */
async function unservedAmong(
  database: Database,
  workspaceId: WorkspaceId | undefined,
  cell: string | undefined,
): Promise<readonly Finding[]> {
  if (cell === undefined) return [];
  const ids = workspaceId === undefined ? (await workspacesHere(database)).map(({ id }) => id) : [workspaceId];
  if ((await closedHere(inDatabase(database), ids)).length === 0) return [];
  const unserved = await findUnserved(cell);
  if (workspaceId === undefined) return unserved;
  const found = unserved.find((one) => one.workspaceId === workspaceId);
  if (found !== undefined) throw new Refused(`Workspace ${workspaceId} was not verified: ${found.detail}.`);
  return [];
}

/** Other commands list all of it. */
const SHOWN_MAX = 20;

function printReport(report: CellReport): void {
  const { checks, skippedChecks, accounts, transactions, transfers, findings, fxPositions, attention } = report;
  printTable(
    ['Check', 'Findings'],
    [
      ...checks.map((check) => [check, findings.filter((finding) => finding.check === check).length]),
      ...skippedChecks.map((check) => [check, 'skipped']),
    ],
    '',
  );
  printSection(
    ['Workspace', 'Finding'],
    findings.map(({ workspaceId, detail }) => [workspaceId ?? 'all', detail]),
  );
  printSection(
    ['Workspace', 'Currency', 'Position on fx'],
    fxPositions.map(({ workspaceId, currencyCode, amount }) => [
      ...[workspaceId, currencyCode],
      shownAmount(minorUnits(BigInt(amount)), currencyCode),
    ]),
  );
  printSection(
    ['Workspace', 'Waits for an operator'],
    attention.slice(0, SHOWN_MAX).map(({ workspaceId, detail }) => [workspaceId, detail]),
  );
  const hidden = attention.length - SHOWN_MAX;
  if (hidden > 0) print(`${hidden} more: see --json, banking work list and banking discrepancy list.`);
  for (const detail of report.notCompared ?? []) print(`Not compared with the anchor: ${detail}.`);
  print('');
  const workspaces = report.workspaces === 1 ? 'one workspace' : `${report.workspaces} workspaces`;
  print(`Checked ${workspaces}: ${accounts} accounts, ${transactions} transactions, ${transfers} transfers.`);
  if (findings.length === 0) print('The books are in order.');
}

function printBetween({ inOrder, checks, findings }: BetweenReport): void {
  const countOf = (check: string) => findings.filter((found) => found.check === check).length;
  print('All cells');
  printTable(
    ['Check', 'Findings'],
    checks.map((check) => [check, inOrder === null ? 'skipped' : countOf(check)]),
    '',
  );
  printSection(
    ['Workspace', 'Finding'],
    findings.map(({ workspaceId, detail }) => [workspaceId ?? 'all', detail]),
  );
}

function printSection(head: readonly string[], rows: Parameters<typeof printTable>[1]): void {
  if (rows.length === 0) return;
  print('');
  printTable(head, rows, '');
}

function verdict({ findings }: Pick<DeploymentReport, 'findings'>): string {
  return `The books are not in order: ${findings.length === 1 ? 'one finding' : `${findings.length} findings`}.`;
}
