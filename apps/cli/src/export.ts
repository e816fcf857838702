import type { WorkspaceId } from '@banking/domain';
import { exportBooks } from '@banking/books-proof';
import type { Command } from 'commander';
import { withDeployment } from './deployment.js';
import { examples } from './help.js';
import { lookupOption, workspaceOption } from './inputs.js';
import { createFile } from './new-file.js';
import { print, reportProgress } from './print.js';
import { toStandardOutput, unlessPipeClosed } from './standard-output.js';
import { reportRanges } from './verify-progress.js';
import { chosenWorkspaces } from './workspaces.js';

type Write = (text: string) => Promise<void>;

export function addExportCommand(program: Command): void {
  program
    .command('export')
    .summary('export the books of a workspace as verifiable JSON lines')
    .description(
      'Writes the books of a workspace as lines of JSON. banking prove and @banking/domain/proof recompute every balance and ' +
        'every hash from them, without the database.\n\n' +
        'The export is of one instant, except that a transaction has its status at the time it is read. Changes nothing and may ' +
        'run beside the service. An existing file is not replaced.',
    )
    .addOption(workspaceOption('workspace to export').makeOptionMandatory())
    .addOption(lookupOption('--out <file>', 'new file, readable by its owner only (standard output)'))
    .addHelpText(
      'after',
      examples(
        'banking export --workspace 1 --out books.jsonl',
        'banking export --workspace 1 | gzip > books.jsonl.gz',
      ),
    )
    .action(async ({ workspace, out }: { workspace: WorkspaceId; out?: string }) => {
      if (out !== undefined) return print(await createFile(out, (write) => exported(workspace, write)));
      reportProgress(await exported(workspace, toStandardOutput).catch(unlessPipeClosed));
    });
}

/** @returns the report of the export, a sentence */
async function exported(workspaceId: WorkspaceId, write: Write): Promise<string> {
  const use = { changesNothing: true, readsBooks: true };
  return withDeployment(async ({ database }) => {
    const [workspace] = await chosenWorkspaces(database, workspaceId);
    const written = await exportBooks(database, workspace!, write, { onRange: reportRanges() });
    const { accounts, transactions, transfers } = written;
    const whose = `workspace ${workspaceId}, ${workspace!.name}`;
    return `Wrote the books of ${whose}: ${accounts} accounts, ${transactions} transactions, ${transfers} transfers.`;
  }, use);
}
