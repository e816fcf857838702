import { addCell, addressOf, needsOwnConnection } from '@banking/deployment';
import { allCells, type MoveRow, openMoves } from '@banking/operations/provisioning';
import { ConfigError, HOME_CELL } from '@banking/process';
import type { Command } from 'commander';
import { readConfig } from './config.js';
import { untilSignal, withDirectory } from './deployment.js';
import { examples } from './help.js';
import { jsonOption, lookupArgument } from './inputs.js';
import { addMoveCommands } from './move.js';
import { print, printJson, printTable, reportProgress } from './print.js';
import { reachAsOwner } from './reach-database.js';

export function addCellCommands(program: Command): void {
  const cell = program
    .command('cell')
    .summary('add and list the databases of the deployment, and move workspaces between them')
    .description('Manages cells. Each cell is a database that holds whole workspaces.')
    .addHelpText('after', examples('banking cell add b', 'banking cell list', 'banking cell move 7 --to b'));

  cell
    .command('add')
    .summary('make an empty database a cell')
    .description(
      'Makes the empty database that CELLS_FILE names a cell: schema, ids of its own and a copy of the directory. With the first ' +
        'cell, the database of DATABASE_URL becomes home: then start every process with CELLS_FILE. Processes that have CELLS_FILE ' +
        'take up a further cell that it names. May be repeated.',
    )
    .addArgument(lookupArgument('<name>', 'name of the cell in CELLS_FILE'))
    .addOption(jsonOption())
    .addHelpText('after', examples('banking cell add b'))
    .action(async (name: string, { json }: { json?: boolean }) => {
      const number = await add(name);
      if (json) printJson({ name, number });
      else
        print(`Cell ${name} is ready. Place workspaces in it: banking workspace add <name> --app <app> --cell ${name}`);
    });

  cell
    .command('list')
    .summary('list the cells')
    .description('Lists the cells with the number of their workspaces, and the moves that are not done.')
    .addOption(jsonOption())
    .addHelpText('after', examples('banking cell list'))
    .action(async ({ json }: { json?: boolean }) => {
      const { cells, moves } = await withDirectory(async (database) => ({
        cells: await allCells(database),
        moves: await openMoves(database),
      }));
      if (json)
        return printJson(cells.map((one) => ({ ...one, moves: moves.filter(({ from }) => from === one.name) })));
      printTable(
        ['Cell', 'Number', 'Workspaces', 'Added'],
        cells.map(({ name, number, workspaces, createdAt }) => [name, number, workspaces, createdAt]),
        'The deployment has one database. Add another: banking cell add <name>',
      );
      for (const move of moves) print(describe(move));
    });

  addMoveCommands(cell);
}

/** The command may be running, or it was interrupted. */
function describe({ workspaceId, from, to, step, since, operator }: MoveRow): string {
  const next =
    step === 'abandon'
      ? `It is being abandoned: banking cell move ${workspaceId} --abandon`
      : `To continue it: banking cell move ${workspaceId} --to ${to}`;
  const closed = step === 'close' ? ' Callers get 503 while it is at this step.' : '';
  return `Workspace ${workspaceId} moves from ${from} to ${to}, at the step ${step} since ${since}, by ${operator}.${closed} ${next}`;
}

async function add(name: string): Promise<number> {
  const { deployment } = readConfig();
  const config = deployment.cells?.find((cell) => cell.name === name);
  if (config === undefined) {
    throw new ConfigError([
      name === HOME_CELL
        ? 'The database of DATABASE_URL or DATA_DIR becomes home with the first other cell. Name that one.'
        : `CELLS_FILE has no cell "${name}". Add it with its url.`,
    ]);
  }
  const pooled = [deployment, config].find(({ ownerUrl }) => deployment.isPooled && ownerUrl === undefined);
  if (pooled)
    throw needsOwnConnection('Migrations hold a lock of their session.', pooled === config ? name : undefined);
  return untilSignal(async () => {
    const home = await reachAsOwner(deployment);
    try {
      const cell = await reachAsOwner({ ...deployment, ...config, ownerUrl: config.ownerUrl });
      try {
        const { isSandbox, hasDemoReference } = deployment;
        const homeAddress = addressOf(
          config.homeUrl ?? deployment.ownerUrl ?? deployment.databaseUrl ?? home.connection,
        );
        const connections = { home: home.connection, cell: cell.connection, homeAddress };
        return await addCell({
          name,
          ...connections,
          isSandbox,
          hasDemoReference,
          log: reportProgress,
        });
      } finally {
        await cell.detach();
      }
    } finally {
      await home.detach();
    }
  });
}
