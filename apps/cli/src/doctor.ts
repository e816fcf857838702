import type { Command } from 'commander';
import type { WorkspaceId } from '@banking/domain';
import { isSandbox } from '@banking/operations';
import { findGaps } from '@banking/operations/provisioning';
import { cellHead, inCellOf, onEachCell, rowsOf } from './each-cell.js';
import { examples, jsonOption, workspaceOption } from './inputs.js';
import { printJson, printTable, Refused } from './print.js';
import { chosenWorkspaces } from './workspaces.js';

interface DoctorOptions {
  readonly workspace?: WorkspaceId;
  readonly json?: boolean;
}

export function addDoctorCommand(program: Command): void {
  program
    .command('doctor')
    .summary('list what workspaces with real money lack')
    .description(
      'Lists what each workspace of a database with real money should have and lacks, such as limits and administrators. Nothing is set ' +
        'by default. Changes nothing. Exit code 1 if something is missing. A sandbox lacks nothing.',
    )
    .addOption(workspaceOption('only this workspace'))
    .addOption(jsonOption())
    .addHelpText('after', examples('banking doctor', 'banking doctor --workspace 4 --json'))
    .action(async ({ workspace, json }: DoctorOptions) => {
      const read = await onEachCell(
        async ({ database }) => {
          if (await isSandbox(database)) return [];
          const ids = (await chosenWorkspaces(database, workspace)).map(({ id }) => id);
          return findGaps(database, ids);
        },
        { changesNothing: true, ...(await inCellOf(workspace)) },
      );
      const gaps = rowsOf(read);
      if (json) printJson(gaps);
      else {
        printTable(
          [...cellHead(read), 'Workspace', 'Gap'],
          gaps.map(({ cell, workspaceId, detail }) => [...(cell === undefined ? [] : [cell]), workspaceId, detail]),
          'Nothing is missing.',
        );
      }
      read.end();
      if (gaps.length > 0)
        throw new Refused(gaps.length === 1 ? 'There is one gap.' : `There are ${gaps.length} gaps.`);
    });
}
