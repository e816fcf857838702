import type { WorkspaceId } from '@banking/domain';
import { exportBooks } from '@banking/operations';
import type { Command } from 'commander';
import { withDeployment } from './deployment.js';
import { examples } from './help.js';
import { lookupOption, workspaceOption } from './inputs.js';
import { makeFile } from './new-file.js';
import { print, tell } from './print.js';
import { tellRanges } from './tell-ranges.js';
import { chosenWorkspaces } from './workspaces.js';

/** A range takes about a second. One that takes a minute is given up, so that no snapshot is held for longer. */
const STATEMENT_TIMEOUT_MS = 60_000;

type Write = (text: string) => Promise<void>;

export function addExportCommand(program: Command): void {
  program
    .command('export')
    .summary("write a workspace's books as lines of JSON that anyone can prove")
    .description(
      'Writes the books of a workspace as lines of JSON, from which anyone re-computes every balance and every hash with ' +
        'banking prove or @banking/domain/proof, without the bank.\n\n' +
        'As of one instant but for the status of a transaction, which is as it is read. Changes nothing, and may run while the ' +
        'service works. A file that is there already is not replaced.',
    )
    .addOption(workspaceOption('whose books').makeOptionMandatory())
    .addOption(lookupOption('--out <file>', 'a new file, for its owner alone (standard output)'))
    .addHelpText(
      'after',
      examples(
        'banking export --workspace 1 --out books.jsonl',
        'banking export --workspace 1 | gzip > books.jsonl.gz',
      ),
    )
    .action(async ({ workspace, out }: { workspace: WorkspaceId; out?: string }) => {
      if (out !== undefined) return print(await makeFile(out, (write) => exported(workspace, write)));
      tell(await exported(workspace, toStandardOutput).catch(unlessReaderHasSeenEnough));
    });
}

/** Says in a sentence what was written. */
async function exported(workspaceId: WorkspaceId, write: Write): Promise<string> {
  const need = { changesNothing: true, statementTimeoutMs: STATEMENT_TIMEOUT_MS };
  return withDeployment(async ({ database }) => {
    const [workspace] = await chosenWorkspaces(database, workspaceId);
    const written = await exportBooks(database, workspace!, write, { onRange: tellRanges() });
    const { accounts, transactions, transfers } = written;
    const whose = `workspace ${workspaceId}, ${workspace!.name}`;
    return `Wrote the books of ${whose}: ${accounts} accounts, ${transactions} transactions, ${transfers} transfers.`;
  }, need);
}

function toStandardOutput(text: string): Promise<void> {
  return new Promise((done, fail) => {
    process.stdout.write(text, (error) => (error ? fail(error) : done()));
  });
}

function unlessReaderHasSeenEnough(error: unknown): string {
  if ((error as NodeJS.ErrnoException).code === 'EPIPE') return 'The reader has seen enough.';
  throw error;
}
