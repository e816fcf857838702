import type { WorkspaceId } from '@banking/domain';
import { CHECKS, type Proof, verifyBooks } from '@banking/ledger';
import { PAYMENT_CHECKS, verifyPayments } from '@banking/operations';
import type { Command } from 'commander';
import { withDeployment } from './deployment.js';
import { examples } from './help.js';
import { jsonOption, workspaceOption } from './inputs.js';
import { print, printJson, printTable, tell } from './print.js';
import { Refused } from './refused.js';
import { chosenWorkspaces } from './workspaces.js';

/** A check reads all books of a workspace in one statement, which takes longer than the service would ever wait. */
const STATEMENT_TIMEOUT_MS = 60 * 60_000;

export function addVerifyCommand(program: Command): void {
  program
    .command('verify')
    .summary('prove the books again from their rows')
    .description(
      'Proves the books again from their rows, every hash included, and prints what was checked and found.\n\n' +
        'Changes nothing, and may run while the service works. Exit code 1 when something is not as it must be.',
    )
    .addOption(workspaceOption('only the books of this workspace'))
    .addOption(jsonOption())
    .addHelpText('after', examples('banking verify', 'banking verify --workspace 1 --json'))
    .action(async ({ workspace, json }: { workspace?: WorkspaceId; json?: boolean }) => {
      const proof = await prove(workspace);
      if (json) printJson({ inOrder: proof.findings.length === 0, checks: ALL_CHECKS, ...proof });
      else printProof(proof);
      if (proof.findings.length > 0) throw new Refused(verdict(proof));
    });
}

async function prove(workspaceId: WorkspaceId | undefined): Promise<Proof> {
  const need = { changesNothing: true, statementTimeoutMs: STATEMENT_TIMEOUT_MS };
  return withDeployment(async ({ database }) => {
    const ids = (await chosenWorkspaces(database, workspaceId)).map(({ id }) => id);
    let proven = 0;
    const onWorkspace = (id: number) => {
      proven += 1;
      tell(`Proved workspace ${id}, ${proven} of ${ids.length}.`);
    };
    const proof = await verifyBooks(database, ids, { isWhole: workspaceId === undefined, onWorkspace });
    return { ...proof, findings: [...proof.findings, ...(await verifyPayments(database, ids))] };
  }, need);
}

const ALL_CHECKS = [...CHECKS, ...PAYMENT_CHECKS];

function printProof(proof: Proof): void {
  const { accounts, transactions, transfers, findings } = proof;
  printTable(
    ['Check', 'Findings'],
    ALL_CHECKS.map((check) => [check, findings.filter((finding) => finding.check === check).length]),
    '',
  );
  print('');
  if (findings.length > 0) {
    printTable(
      ['Workspace', 'Finding'],
      findings.map(({ workspaceId, detail }) => [workspaceId ?? '', detail]),
      '',
    );
    print('');
  }
  const workspaces = proof.workspaces === 1 ? 'one workspace' : `${proof.workspaces} workspaces`;
  print(`Checked ${workspaces}: ${accounts} accounts, ${transactions} transactions, ${transfers} transfers.`);
  if (findings.length === 0) print('The books are in order.');
}

function verdict({ findings }: Proof): string {
  return `The books are not in order: ${findings.length === 1 ? 'one finding' : `${findings.length} findings`}.`;
}
