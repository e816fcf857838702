import type { WorkspaceId } from '@banking/domain';
import { exportBooks } from '@banking/books-proof';
import { noteExport } from '@banking/operations/provisioning';
import type { Command } from 'commander';
import { withDeployment } from './deployment.js';
import { inCellOf } from './each-cell.js';
import { examples } from './help.js';
import { asOption, type ChangeOptions, lookupOption, operatorOf, workspaceOption } from './inputs.js';
import { createFile } from './new-file.js';
import { print, reportProgress } from './print.js';
import { toStandardOutput, unlessPipeClosed } from './standard-output.js';
import { reportRanges } from './verify-progress.js';
import { chosenWorkspaces } from './workspaces.js';

type Write = (text: string) => Promise<void>;

interface ExportOptions extends ChangeOptions {
  readonly workspace: WorkspaceId;
  readonly out?: string;
}

export function addExportCommand(program: Command): void {
  program
    .command('export')
    .summary('export the books of a workspace as verifiable JSON lines')
    .description(
      'Writes the books of a workspace as lines of JSON. banking prove and @banking/domain/proof recompute every balance and ' +
        'every hash from them, without the database.\n\n' +
        'The export is of one instant, except that a transaction has its status at the time it is read. Changes nothing but the audit trail, and may ' +
        'run beside the service. An existing file is not replaced.',
    )
    .addOption(workspaceOption('workspace to export').makeOptionMandatory())
    .addOption(lookupOption('--out <file>', 'new file, readable by its owner only (standard output)'))
    .addOption(asOption())
    .addHelpText(
      'after',
      examples(
        'banking export --workspace 1 --out books.jsonl',
        'banking export --workspace 1 | gzip > books.jsonl.gz',
      ),
    )
    .action(async ({ out, ...options }: ExportOptions) => {
      if (out !== undefined) return print(await createFile(out, (write) => exported(options, write)));
      reportProgress(await exported(options, toStandardOutput).catch(unlessPipeClosed));
    });
}

/** @returns the report of the export, a sentence */
async function exported(options: ExportOptions, write: Write): Promise<string> {
  const { workspace: workspaceId } = options;
  const use = { ...(await inCellOf(workspaceId)), changesNothing: true, readsBooks: true };
  return withDeployment(async ({ database }) => {
    const [workspace] = await chosenWorkspaces(database, workspaceId);
    await noteExport(database, operatorOf(options), 'exportBooks', workspaceId);
    const written = await exportBooks(database, workspace!, write, { onRange: reportRanges() });
    const { accounts, transactions, transfers } = written;
    const whose = `workspace ${workspaceId}, ${workspace!.name}`;
    return `Wrote the books of ${whose}: ${accounts} accounts, ${transactions} transactions, ${transfers} transfers.`;
  }, use);
}
