import {
  Refusal,
  RETRY_AFTER_S,
  type WorkspaceId,
  BankingService,
  type BankingOperations,
  eachOperation,
  type OperationName,
  OPERATIONS,
  type Scope,
} from '@banking/domain';
import { booksAs } from '@banking/ledger';
import { Arrivals } from '@banking/operations';
import { bind, type Database, sqlStatement, isUnavailable, WORKER_ROLE } from '@banking/postgres';
import { type CellConfig, ConfigError, HOME_CELL } from '@banking/process';
import { DeploymentError } from '../explain-failure.js';
import { type Deployment, type DeploymentSettings, openDeployment } from '../open-deployment.js';
import { callCell } from './call-cell.js';
import { UnfinishedCellError } from './step-sequences.js';
import { migrateCellsFirst } from './migrate-cells.js';
import { OtherCells, type PayeeCell } from './other-cells.js';
import { checkPlaces, DifferingPlacesError, Places } from './places.js';
import type { HomeOrCopies } from './cells-directory.js';

/** A cell of the deployment, with what a process has made of it; `use` is undefined while its database is away. */
export interface Cell<T> {
  readonly number: number;
  readonly name: string;
  readonly use: T | undefined;
}

/** What a process makes of the database of a cell. */
export interface CellUse {
  /** Called before the database is closed. */
  stop?(): Promise<void>;
}

/** The place of a database among several. */
export interface CellPlace {
  readonly number: number;
  readonly name: string;
  readonly home: Database;
  /** The accounts of all cells by their codes, to be used when home is open. */
  readonly others: OtherCells;
}

/** @param place undefined if the deployment has one database */
export type MakeUse<T> = (deployment: Deployment, place: CellPlace | undefined) => T | Promise<T>;

/** How often a database that was away at the start is tried, and CELLS_FILE is read again. */
const RETRY_MS = 2_000;

const READ_CELLS = sqlStatement<{ number: number; name: string }>(
  'read_cells',
  'select number, name from cell order by number',
);

interface NamedCell {
  readonly number: number;
  readonly name: string;
}

interface Entry<T> extends NamedCell {
  /** Undefined at home. */
  config: CellConfig | undefined;
  use: T | undefined;
  deployment: Deployment | undefined;
  arrivals: Arrivals | undefined;
  timer: NodeJS.Timeout | undefined;
  opening: Promise<void> | undefined;
}

/**
 * The open databases of a deployment, which may be one: home alone. Home must be reachable at the start. Another cell may be away: it is opened as soon as it answers,
 * and until then its workspaces are unavailable. A cell that is added later is opened when CELLS_FILE names it. Other changes of that file
 * need a restart.
 */
export class Cells<T extends CellUse> {
  readonly places: Places;
  private readonly others: OtherCells;
  private readonly entries: Entry<T>[] = [];
  /** The numbers of cells that were asked for and are not known. */
  private readonly unknown = new Set<number>();
  private isClosed = false;
  private timer: NodeJS.Timeout | undefined;
  private rereading = Promise.resolve();
  /** What was last reported about CELLS_FILE. */
  private reported = '';

  private constructor(
    private readonly settings: DeploymentSettings,
    private readonly make: MakeUse<T>,
    home: Database,
  ) {
    const copies = () =>
      this.entries.flatMap(({ number, deployment }) => (number === 0 ? [] : (deployment?.database ?? [])));
    this.places = new Places(home, copies);
    this.others = new OtherCells(this.places, (number) => this.payeeCell(number));
  }

  /**
   * @param make called once for each cell, when it is open
   * @throws what `openDeployment` throws for home, and for a cell whose configuration is wrong. @throws as `migrateCellsFirst` does
   */
  static async open<T extends CellUse>(settings: DeploymentSettings, make: MakeUse<T>): Promise<Cells<T>> {
    const { cells: configs } = settings;
    if (configs) await migrateCellsFirst({ ...settings, cells: configs });
    const home = await openDeployment(settings);
    let cells: Cells<T> | undefined;
    try {
      // Cells are opened while the process stops too, which the signal begins.
      cells = new Cells({ ...settings, signal: undefined }, make, home.database);
      const first = cells.addEntry({ number: 0, name: HOME_CELL }, undefined);
      if (configs && settings.isService) await checkPlaces(home.database, home.database, first);
      await cells.makeUse(first, home);
      if (configs) await cells.openFurther(configs);
      return cells;
    } catch (error) {
      await (cells ? cells.close() : home.close());
      throw error;
    }
  }

  private async openFurther(configs: readonly CellConfig[]): Promise<void> {
    const further = await this.addEntries(this.home.database, configs);
    await Promise.all(further.map((entry) => this.tryOpen(entry)));
    this.report(this.notAddedOf(configs));
    this.rereadLater();
  }

  /** Whether the deployment has one database. */
  get isAlone(): boolean {
    return this.settings.cells === undefined;
  }

  get home(): Deployment {
    return this.entry(0).deployment!;
  }

  all(): readonly Cell<T>[] {
    return this.entries.map(({ number, name, use }) => ({ number, name, use }));
  }

  /** @throws Refusal `unavailable` while the database has never answered */
  get(number: number): T {
    const { use } = this.entry(number);
    if (use !== undefined) return use;
    throw away();
  }

  /** Calls what was made of the cell of a workspace. @throws as `callCell` */
  inCellOf<R>(workspaceId: WorkspaceId, call: (use: T) => Promise<R>): Promise<R> {
    if (this.isAlone) return call(this.get(0));
    return callCell(this.places, workspaceId, async (number) => call(this.get(number)));
  }

  /** Stops each use, then closes each database. May be called again. */
  async close(): Promise<void> {
    this.isClosed = true;
    clearTimeout(this.timer);
    await this.rereading;
    for (const entry of this.entries) clearTimeout(entry.timer);
    await Promise.allSettled(this.entries.map(async ({ opening }) => opening));
    const stopped = await Promise.allSettled(this.entries.map(async ({ use }) => use?.stop?.()));
    // Home is last, because the servers of the others replicate from it.
    const closed = await Promise.allSettled(
      [...this.entries].reverse().map(async ({ deployment }) => deployment?.close()),
    );
    const failed = [...stopped, ...closed].find((result) => result.status === 'rejected');
    if (failed) throw failed.reason;
  }

  private entry(number: number): Entry<T> {
    const entry = this.entries.find((one) => one.number === number);
    if (entry !== undefined) return entry;
    // A cell that was added after the start of this process. Another process may serve it.
    if (!this.unknown.has(number)) {
      this.settings.warn?.(
        `Workspaces of the cell with the number ${number} are unavailable until CELLS_FILE of this process names that cell.`,
      );
    }
    this.unknown.add(number);
    throw away();
  }

  private addEntry(cell: NamedCell, config: CellConfig | undefined): Entry<T> {
    const closed = { use: undefined, deployment: undefined, arrivals: undefined, timer: undefined, opening: undefined };
    const entry: Entry<T> = { ...cell, config, ...closed };
    this.entries.push(entry);
    return entry;
  }

  /** Adds the cells of home that are configured, and new here. */
  private async addEntries(home: Database, configs: readonly CellConfig[]): Promise<Entry<T>[]> {
    const cells = await readCells(home);
    return cells.flatMap((cell) => {
      const config = configs.find(({ name }) => name === cell.name);
      return config === undefined || this.isKnown(cell) ? [] : [this.addEntry(cell, config)];
    });
  }

  private isKnown({ name }: Pick<NamedCell, 'name'>): boolean {
    return this.entries.some((entry) => entry.name === name);
  }

  private rereadLater(): void {
    const { rereadCells } = this.settings;
    if (rereadCells === undefined || this.isClosed) return;
    this.timer = setTimeout(() => {
      this.rereading = this.reread(rereadCells).then(() => this.rereadLater());
    }, RETRY_MS).unref();
  }

  /** Opens the cells that were added. Reports, once, what is not taken up. Never throws. */
  private async reread(rereadCells: () => readonly CellConfig[]): Promise<void> {
    try {
      const configs = rereadCells();
      const changes: string[] = [];
      for (const entry of this.entries.filter(({ config }) => config !== undefined)) {
        const config = configs.find(({ name }) => name === entry.name);
        if (entry.deployment === undefined) entry.config = config ?? entry.config;
        else if (config?.databaseUrl !== entry.config?.databaseUrl) changes.push(changed(entry));
      }
      if (!configs.every((config) => this.isKnown(config))) {
        for (const entry of await this.addEntries(this.home.database, configs)) {
          this.settings.log?.(`The cell ${entry.name} was added.`);
          this.openRunning(entry);
        }
      }
      this.report([...changes, ...this.notAddedOf(configs)]);
    } catch (error) {
      // Home is away, which its loops report.
      if (isUnavailable(error)) return;
      this.report(
        error instanceof ConfigError ? error.mistakes : [`The cells cannot be read: ${(error as Error).message}`],
      );
    }
  }

  private notAddedOf(configs: readonly CellConfig[]): readonly string[] {
    return configs.filter((config) => !this.isKnown(config)).map(({ name }) => notAdded(name));
  }

  private report(lines: readonly string[]): void {
    const text = lines.join('\n');
    if (text !== this.reported) for (const line of lines) this.settings.warn?.(line);
    this.reported = text;
  }

  /** Opens a cell. One that cannot be reached, or has other places than home, is tried again. @throws every other error */
  private tryOpen(entry: Entry<T>): Promise<void> {
    entry.opening = this.openCell(entry).catch((error: unknown) => {
      if (!mayBeTriedAgain(error)) throw error;
      const why = isUnavailable(error) || isUnavailable(error.cause) ? 'is away' : 'cannot be opened';
      this.settings.warn?.(`The cell ${entry.name} ${why}: ${error.message}`);
      this.retryLater(entry);
    });
    return entry.opening;
  }

  private retryLater(entry: Entry<T>): void {
    if (this.isClosed) return;
    entry.timer = setTimeout(() => this.openRunning(entry), RETRY_MS).unref();
  }

  /** Opens a cell while the process serves others, which no error of this cell ends. */
  private openRunning(entry: Entry<T>): void {
    this.tryOpen(entry).catch((error: Error) => {
      this.settings.warn?.(`The cell ${entry.name} cannot be opened: ${error.message}`);
      this.retryLater(entry);
    });
  }

  private async openCell(entry: Entry<T>): Promise<void> {
    const { config } = entry;
    const deployment = await openDeployment(settingsOf(this.settings, config!));
    if (this.isClosed) return deployment.close();
    entry.config = config;
    try {
      if (this.settings.isService) await checkPlaces(this.home.database, deployment.database, entry);
      await this.makeUse(entry, deployment);
    } catch (error) {
      Object.assign(entry, { deployment: undefined, arrivals: undefined });
      await deployment.close();
      throw error;
    }
  }

  private async makeUse(entry: Entry<T>, deployment: Deployment): Promise<void> {
    Object.assign(entry, { deployment, arrivals: new Arrivals(booksAs(deployment.books, WORKER_ROLE)) });
    const { number, name } = entry;
    const place = { number, name, home: this.home.database, others: this.others };
    entry.use = await this.make(deployment, this.isAlone ? undefined : place);
  }

  private payeeCell(number: number): PayeeCell {
    const { deployment, arrivals } = this.entry(number);
    if (!deployment || !arrivals) throw away();
    return { database: deployment.database, arrivals };
  }
}

const notAdded = (name: string) => `CELLS_FILE names ${name}, which is no cell yet. Run banking cell add ${name}.`;

const changed = ({ name }: NamedCell) =>
  `CELLS_FILE has another url of the cell ${name}, or none. Start the process again to use it.`;

const away = (): Refusal =>
  new Refusal('unavailable', 'The database of the workspace is temporarily unavailable.', {
    retryAfterSeconds: RETRY_AFTER_S,
  });

/** The settings of the database of a cell. */
export function settingsOf(
  settings: DeploymentSettings,
  { name, databaseUrl, ownerUrl, dataDir }: CellConfig,
): DeploymentSettings {
  return { ...settings, cells: undefined, cell: name, databaseUrl, ownerUrl, dataDir };
}

async function readCells(home: Database): Promise<readonly NamedCell[]> {
  const [rows] = await home.pipeline({}, [bind(READ_CELLS)] as const);
  return rows;
}

/** The other cells are served meanwhile. */
const mayBeTriedAgain = (error: unknown): error is Error =>
  error instanceof DifferingPlacesError ||
  error instanceof UnfinishedCellError ||
  (error instanceof DeploymentError && isUnavailable(error.cause)) ||
  // Home went away while its places were read.
  isUnavailable(error);

type Method = (scope: Scope, ...rest: readonly unknown[]) => Promise<unknown>;

/** The implementation of the port on all databases: each call goes to the cell of its workspace, other calls go to home. */
export class CellsBankingService extends BankingService {
  constructor(
    home: HomeOrCopies<{ readonly banking: BankingService }>,
    cells: Pick<Cells<CellUse & { readonly banking: BankingService }>, 'inCellOf'>,
  ) {
    const methodOf = (name: OperationName): Method => {
      const methodIn = (use: { readonly banking: BankingService }) => use.banking[name] as Method;
      // What a person joins is written at home.
      if (OPERATIONS[name].access === 'subject') return (...args) => home.write((use) => methodIn(use)(...args));
      if (OPERATIONS[name].access === 'user') return (...args) => home.read((use) => methodIn(use)(...args));
      return async (...args) => {
        const [{ workspaceId }] = args;
        if (workspaceId === undefined) throw new Error('the scope lacks a workspace');
        return cells.inCellOf(workspaceId, (use) => methodIn(use)(...args));
      };
    };
    super(eachOperation(methodOf) as BankingOperations);
  }
}
