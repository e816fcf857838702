import { Refusal, RETRY_AFTER_S } from '@banking/domain';
import { Arrivals } from '@banking/operations';
import { bind, type Database, sqlStatement, isUnavailable } from '@banking/postgres';
import { type CellConfig, HOME_CELL } from '@banking/process';
import { DeploymentError } from '../deployment-error.js';
import { type Deployment, type DeploymentSettings, openDeployment } from '../open-deployment.js';
import { checkPlaces, DifferingPlacesError } from './check-places.js';
import { migrateCellsFirst } from './migrate-cells.js';
import { OtherCells, type PayeeCell } from './other-cells.js';
import { Places } from './places.js';

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

/** @param others the accounts of all cells by their codes, to be used when home is open */
export type MakeUse<T> = (
  deployment: Deployment,
  cell: { readonly number: number; readonly name: string },
  home: Database,
  others: OtherCells,
) => T;

export interface CellsSettings extends DeploymentSettings {
  readonly cells: readonly CellConfig[];
}

/** How often a database that was away at the start is tried. */
const RETRY_MS = 2_000;

const READ_CELLS = sqlStatement<{ number: number; name: string }>(
  'read_cells',
  'select number, name from cell order by number',
);

interface Entry<T> {
  readonly number: number;
  readonly name: string;
  use: T | undefined;
  deployment: Deployment | undefined;
  arrivals: Arrivals | undefined;
  timer: NodeJS.Timeout | undefined;
  opening: Promise<void> | undefined;
}

/**
 * The open databases of a deployment. Home must be reachable at the start. Another cell may be away: it is opened as soon as it answers,
 * and until then its workspaces are unavailable.
 */
export class Cells<T extends CellUse> {
  readonly places: Places;
  private readonly others: OtherCells;
  private isClosed = false;

  private constructor(
    private readonly settings: CellsSettings,
    private readonly make: MakeUse<T>,
    private readonly entries: readonly Entry<T>[],
    home: Database,
  ) {
    const copies = () =>
      entries.flatMap(({ number, deployment }) => (number === 0 ? [] : (deployment?.database ?? [])));
    this.places = new Places(home, copies);
    this.others = new OtherCells(this.places, (number) => this.payeeCell(number));
  }

  /**
   * @param make called once for each cell, when it is open
   * @throws what `openDeployment` throws for home, and for a cell whose configuration is wrong. @throws as `migrateCellsFirst` does
   */
  static async open<T extends CellUse>(settings: CellsSettings, make: MakeUse<T>): Promise<Cells<T>> {
    await migrateCellsFirst(settings);
    const home = await openDeployment(settings);
    let cells: Cells<T> | undefined;
    try {
      const known = await readCells(home.database);
      const blank = {
        use: undefined,
        deployment: undefined,
        arrivals: undefined,
        timer: undefined,
        opening: undefined,
      };
      const entries = known.map((cell): Entry<T> => ({ ...cell, ...blank }));
      cells = new Cells(settings, make, entries, home.database);
      const first = entries.find(({ name }) => name === HOME_CELL)!;
      if (settings.isService) await checkPlaces(home.database, home.database, first);
      cells.makeUse(first, home);
      await Promise.all(entries.filter((entry) => entry !== first).map((entry) => cells!.tryOpen(entry)));
      return cells;
    } catch (error) {
      await (cells ? cells.close() : home.close());
      throw error;
    }
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

  /** Stops each use, then closes each database. May be called again. */
  async close(): Promise<void> {
    this.isClosed = true;
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
    // A cell that was added after the start of this process. Another process may serve it.
    if (entry === undefined) throw away();
    return entry;
  }

  /** Opens a cell. One that cannot be reached, or has other places than home, is tried again. @throws every other error */
  private tryOpen(entry: Entry<T>): Promise<void> {
    entry.opening = this.openCell(entry).catch((error: unknown) => {
      if (!mayBeTriedAgain(error)) throw error;
      const why = error instanceof DifferingPlacesError ? 'cannot be opened' : 'is away';
      this.settings.warn?.(`The cell ${entry.name} ${why}: ${error.message}`);
      this.retryLater(entry);
    });
    return entry.opening;
  }

  private retryLater(entry: Entry<T>): void {
    if (this.isClosed) return;
    entry.timer = setTimeout(() => {
      this.tryOpen(entry).catch((error: Error) => {
        this.settings.warn?.(`The cell ${entry.name} cannot be opened: ${error.message}`);
        this.retryLater(entry);
      });
    }, RETRY_MS).unref();
  }

  private async openCell(entry: Entry<T>): Promise<void> {
    const config = this.settings.cells.find(({ name }) => name === entry.name);
    if (config === undefined) throw new Error(`the cell ${entry.name} is not configured`);
    const deployment = await openDeployment(settingsOf(this.settings, config));
    if (this.isClosed) return deployment.close();
    try {
      if (this.settings.isService) await checkPlaces(this.home.database, deployment.database, entry);
      this.makeUse(entry, deployment);
    } catch (error) {
      Object.assign(entry, { deployment: undefined, arrivals: undefined });
      await deployment.close();
      throw error;
    }
  }

  private makeUse(entry: Entry<T>, deployment: Deployment): void {
    Object.assign(entry, { deployment, arrivals: new Arrivals(deployment.books) });
    entry.use = this.make(deployment, entry, this.home.database, this.others);
  }

  private payeeCell(number: number): PayeeCell {
    const { deployment, arrivals } = this.entry(number);
    if (!deployment || !arrivals) throw away();
    return { database: deployment.database, arrivals };
  }
}

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

async function readCells(home: Database): Promise<readonly { readonly number: number; readonly name: string }[]> {
  const [rows] = await home.pipeline({}, [bind(READ_CELLS)] as const);
  return rows;
}

/** The other cells are served meanwhile. */
const mayBeTriedAgain = (error: unknown): error is Error =>
  error instanceof DifferingPlacesError ||
  (error instanceof DeploymentError && isUnavailable(error.cause)) ||
  // Home went away while its places were read.
  isUnavailable(error);
