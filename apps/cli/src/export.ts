import type { Command } from 'commander';
import { exportBooks, type ExportedAuditEvent } from '@banking/books-proof';
import type { AuditEvent, WorkspaceId } from '@banking/domain';
import { auditPages, noteExport } from '@banking/operations/provisioning';
import { withDeployment } from './deployment.js';
import { inCellOf } from './each-cell.js';
import { examples, lookupOption, workspaceOption } from './inputs.js';
import { createFile, print, reportProgress, reportRanges, toStandardOutput, unlessPipeClosed } from './print.js';
import { chosenWorkspaces } from './workspaces.js';

type Write = (text: string) => Promise<void>;

interface ExportOptions {
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
    await noteExport(database, 'exportBooks', workspaceId);
    const written = await exportBooks(database, workspace!, write, { onRange: reportRanges() });
    const { accounts, transactions, transfers } = written;
    const whose = `workspace ${workspaceId}, ${workspace!.name}`;
    return `Wrote the books of ${whose}: ${accounts} accounts, ${transactions} transactions, ${transfers} transfers.`;
  }, use);
}

type WriteText = (text: string) => Promise<void>;

interface AuditExportOptions {
  readonly workspace: WorkspaceId;
  readonly from?: string;
  readonly to?: string;
  readonly out?: string;
}

export function addAuditCommands(program: Command): void {
  const audit = program
    .command('audit')
    .summary('export the audit trail of a workspace')
    .description(
      'The audit trail of a workspace has each change with its user or operator, credential, request and address. ' +
        'banking verify and banking prove verify its chain of hashes, and banking anchor signs its end.',
    )
    .addHelpText('after', examples('banking audit export --workspace 1 --out audit.jsonl'));

  audit
    .command('export')
    .summary('write the audit trail as JSON lines')
    .description(
      'Writes the entries of a workspace, newest first, one line of JSON each, as GET /audit-events returns them, with the id of the ' +
        'workspace. banking prove verifies the file. An existing file is not replaced.',
    )
    .addOption(workspaceOption('id of the workspace').makeOptionMandatory())
    .addOption(lookupOption('--from <instant>', 'only entries at this instant or later, such as 2026-11-01T00:00:00Z'))
    .addOption(lookupOption('--to <instant>', 'only entries before this instant'))
    .addOption(lookupOption('--out <file>', 'new file, readable by its owner only (standard output)'))
    .addHelpText(
      'after',
      examples(
        'banking audit export --workspace 1 --out audit.jsonl',
        'banking audit export --workspace 1 --from 2026-11-01T00:00:00Z --to 2026-12-01T00:00:00Z',
      ),
    )
    .action(async ({ out, ...options }: AuditExportOptions) => {
      if (out !== undefined) return print(await createFile(out, (write) => exportedTrail(options, write)));
      reportProgress(await exportedTrail(options, toStandardOutput).catch(unlessPipeClosed));
    });
}

/** @returns the report of the export, a sentence */
async function exportedTrail(options: AuditExportOptions, write: WriteText): Promise<string> {
  const { workspace: workspaceId, from, to } = options;
  return withDeployment(
    async ({ database }) => {
      const [workspace] = await chosenWorkspaces(database, workspaceId);
      await noteExport(database, 'exportAuditTrail', workspaceId);
      const onRange = reportRanges();
      let count = 0;
      for await (const page of auditPages(database, workspaceId, { from, to })) {
        await write(page.map((event) => lineOf(workspaceId, event)).join(''));
        count += page.length;
        onRange({ workspaceId, reading: 'entries of the audit trail', done: count });
      }
      return `Wrote ${count} entries of the audit trail of workspace ${workspaceId}, ${workspace!.name}.`;
    },
    { ...(await inCellOf(workspaceId)), changesNothing: true },
  );
}

function lineOf(workspaceID: WorkspaceId, event: AuditEvent): string {
  const exportedTrail: ExportedAuditEvent = { workspaceID, ...event };
  return `${JSON.stringify(exportedTrail)}\n`;
}
