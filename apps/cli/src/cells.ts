import { type Command, InvalidArgumentError, Option } from 'commander';
import { verifyDeployment } from '@banking/books-proof';
import {
  abandonMove,
  addCell,
  addressOf,
  archiveWorkspace,
  type CellAccess,
  describeUnserved,
  moveWorkspace,
  needsOwnConnection,
} from '@banking/deployment';
import type { WorkspaceId } from '@banking/domain';
import { allCells, type MoveRow, openMoves } from '@banking/operations/provisioning';
import type { ConnectionOptions, Database } from '@banking/postgres';
import { ConfigError, connectionTo, type DeploymentConfig, HOME_CELL } from '@banking/process';
import { readConfig } from './config.js';
import { demoBookings, faultsOfCells } from './each-cell.js';
import { reachAsOwner, reachDatabase, untilSignal, withDirectory } from './deployment.js';
import {
  type JsonOptions,
  examples,
  jsonOption,
  lookupArgument,
  osUserName,
  lookupOption,
  workspaceArgument,
} from './inputs.js';
import { print, printJson, printTable, reportProgress } from './print.js';

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
        'take up a further cell that it names. May be repeated: a copy of the directory that lacks changes of home is made anew.',
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
    .description(
      'Lists the cells with the number of their workspaces, the moves that are not done, what is wrong with the copies of the ' +
        'directory, and the workspaces that their cell does not serve: each cell is compared with home.',
    )
    .addOption(jsonOption())
    .addHelpText('after', examples('banking cell list'))
    .action(async ({ json }: { json?: boolean }) => {
      const { cells, moves } = await withDirectory(async (database) => ({
        cells: await allCells(database),
        moves: await openMoves(database),
      }));
      const faults = await faultsOfCells(cells.map(({ name }) => name));
      if (json) {
        const of = (name: string) => ({
          moves: moves.filter(({ from }) => from === name),
          copyFault: faults.get(name)?.copy,
          unserved: faults.get(name)?.unserved,
        });
        return printJson(cells.map((one) => ({ ...one, ...of(one.name) })));
      }
      printTable(
        ['Cell', 'Number', 'Workspaces', 'Added'],
        cells.map(({ name, number, workspaces, createdAt }) => [name, number, workspaces, createdAt]),
        'The deployment has one database. Add another: banking cell add <name>',
      );
      for (const move of moves) print(describe(move));
      for (const [name, { copy, unserved }] of faults) {
        if (copy !== undefined) print(`Cell ${name}: ${copy}.`);
        for (const id of unserved) print(`Cell ${name}: ${describeUnserved(name, id)}.`);
      }
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
        const { isSandbox, reference } = deployment;
        const homeAddress = addressOf(
          config.homeUrl ?? deployment.ownerUrl ?? deployment.databaseUrl ?? home.connection,
        );
        const connections = { home: home.connection, cell: cell.connection, homeAddress };
        return await addCell({
          name,
          ...connections,
          isSandbox,
          reference,
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

interface MoveCommandOptions extends JsonOptions {
  readonly to?: string;
  readonly abandon?: boolean;
  readonly window?: number;
}

function addMoveCommands(cell: Command): void {
  cell
    .command('move')
    .summary('move a workspace to another cell')
    .description(
      'Moves a workspace to another cell while it is served. Its rows are copied and verified first. Then it is closed for a moment, in ' +
        'which callers get 503 with Retry-After, and the other cell serves it. The same command continues a move that was interrupted. ' +
        'Until the switch, --abandon ends it. Then the former cell still has the rows, closed: see banking cell archive. If the other cell ' +
        'was restored to a moment before the switch, --abandon lets the former cell serve the workspace again.',
    )
    .addArgument(workspaceArgument())
    .addOption(lookupOption('--to <cell>', 'cell that the workspace moves to; see banking cell list'))
    .addOption(
      new Option('--abandon', 'end a move that is not switched, or was lost: its cell keeps it').conflicts([
        'to',
        'window',
      ]),
    )
    .addOption(new Option('--window <seconds>', 'how long the workspace may be closed (2.5)').argParser(parseWindow))
    .addOption(jsonOption())
    .addHelpText('after', examples('banking cell move 7 --to b', 'banking cell move 7 --abandon'))
    .action(async (workspaceId: WorkspaceId, options: MoveCommandOptions, command: Command) => {
      const { to, abandon, window, json } = options;
      const settings = { workspaceId, operatingSystemUser: osUserName(), log: reportProgress };
      if (abandon) {
        await withCellAccess((access, signal) => abandonMove({ ...settings, ...access, signal }));
        return json
          ? printJson({ workspaceId, abandoned: true })
          : print(`Abandoned the move of workspace ${workspaceId}.`);
      }
      if (to === undefined) command.error("error: required option '--to <cell>' not specified, or '--abandon'");
      const bookings = await demoBookings(readConfig().deployment);
      const verify = async (database: Database, id: number) => {
        const options = { isWhole: false, bookedWithoutOrder: bookings };
        const { findings } = await verifyDeployment(database, [id], options);
        return findings.map(({ detail }) => detail);
      };
      const windowMs = window === undefined ? undefined : window * 1_000;
      const hasMoved = await withCellAccess((access, signal) =>
        moveWorkspace({ ...settings, ...access, signal, to, verify, windowMs }),
      );
      const rows = `Its former cell has its rows, closed. Remove them: banking cell archive ${workspaceId}`;
      if (json) printJson({ workspaceId, cell: to });
      else print(`Workspace ${workspaceId} is in the cell ${to}.${hasMoved ? ` ${rows}` : ''}`);
    });

  cell
    .command('archive')
    .summary('remove the rows of a workspace that has moved')
    .description(
      'Removes the rows of a workspace from the cells that it has left, after its cell was asked whether it serves it. It is done in ' +
        'batches, and may be repeated. The login (ownerUrl) needs the rights to bypass row-level security and to switch off triggers in its ' +
        'session: a superuser has them.',
    )
    .addArgument(workspaceArgument())
    .addOption(jsonOption())
    .addHelpText('after', examples('banking cell archive 7'))
    .action(async (workspaceId: WorkspaceId, options: JsonOptions) => {
      const settings = { workspaceId, operatingSystemUser: osUserName(), log: reportProgress };
      const archived = await withCellAccess((access, signal) => archiveWorkspace({ ...settings, ...access, signal }));
      if (options.json) return printJson(archived);
      for (const { cell: name, rows } of archived)
        print(`Removed ${rows} rows of workspace ${workspaceId} from ${name}.`);
      if (archived.length === 0) print(`No other cell has rows of workspace ${workspaceId}.`);
    });
}

function parseWindow(text: string): number {
  const seconds = Number(text);
  if (!/^[0-9]{1,3}(\.[0-9])?$/.test(text) || seconds < 0.1) {
    throw new InvalidArgumentError('Write seconds, such as 2.5 or 10.');
  }
  return seconds;
}

/** Attaches to all cells, because an embedded server must run to be reached. */
async function withCellAccess<T>(work: (access: CellAccess, signal: AbortSignal) => Promise<T>): Promise<T> {
  const { deployment } = readConfig();
  const { cells } = deployment;
  if (cells === undefined) {
    throw new ConfigError(['The deployment has one database. Set CELLS_FILE, or CELLS for embedded databases.']);
  }
  if (deployment.isPooled && [deployment, ...cells].some(({ ownerUrl }) => ownerUrl === undefined)) {
    throw needsOwnConnection('A move holds a lock of its session, at home and in the cells (ownerUrl).');
  }
  return untilSignal(async (signal) => {
    const reached = new Map<string, Awaited<ReturnType<typeof reachDatabase>>>();
    try {
      reached.set(HOME_CELL, await reachDatabase(deployment));
      for (const cell of cells) reached.set(cell.name, await reachDatabase({ ...deployment, ...cell }));
      const connections = new Map([...reached].map(([name, { connection }]) => [name, connection]));
      return await work(accessTo({ ...deployment, cells }, connections), signal);
    } finally {
      for (const { detach } of [...reached.values()].reverse()) await detach();
    }
  });
}

function accessTo(
  { cells, ownerUrl, databaseUrl }: DeploymentConfig & Required<Pick<DeploymentConfig, 'cells'>>,
  connections: ReadonlyMap<string, ConnectionOptions>,
): CellAccess {
  const configOf = (name: string) => {
    const config = name === HOME_CELL ? { databaseUrl, ownerUrl } : cells?.find((cell) => cell.name === name);
    if (config === undefined) throw new ConfigError([`CELLS_FILE has no cell "${name}". Add it with its url.`]);
    return config;
  };
  return {
    connectionOf(name) {
      const { ownerUrl: url } = configOf(name);
      return url === undefined ? connections.get(name)! : connectionTo(url);
    },
    addressOf(name, from) {
      const { ownerUrl: owner, databaseUrl: url } = configOf(name);
      const stated =
        name === HOME_CELL
          ? cells?.find((cell) => cell.name === from)?.homeUrl
          : cells?.find((cell) => cell.name === name)?.sourceUrl;
      const setting =
        name === HOME_CELL ? `homeUrl or homeUrlFile of "${from}"` : `sourceUrl or sourceUrlFile of "${name}"`;
      return addressOf(stated ?? owner ?? url ?? connections.get(name)!, setting);
    },
  };
}
