import { type CellSchema, migrateCells, needsOwnConnection, planCells } from '@banking/deployment';
import { ensureEmbeddedLogins } from '@banking/postgres';
import { type CellConfig, type DeploymentConfig, HOME_CELL } from '@banking/process';
import { orInterrupted, untilSignal } from './deployment.js';
import { planAsJson, printApplied, printPlan } from './migration-plan.js';
import { print, printJson, reportProgress } from './print.js';
import { reachAsOwner, type ReachedDatabase } from './reach-database.js';

interface CellsDeployment extends DeploymentConfig {
  readonly cells: readonly CellConfig[];
}

interface Options {
  readonly isPlan: boolean;
  readonly json: boolean | undefined;
  readonly isIgnoringOlder: boolean | undefined;
}

/** Migrates several databases, the cells first and then home, or prints the plan of each. */
export async function migrateAll(config: CellsDeployment, { isPlan, json, isIgnoringOlder }: Options): Promise<void> {
  if (isPlan) return printEach(await onAll(config, planCells), json, planAsJson, printPlan);
  const applied = await onAll(config, async (databases) => {
    const result = await migrateCells(databases.map((database) => ({ ...database, isIgnoringOlder })));
    if (config.databaseUrl === undefined) {
      for (const { connection } of databases) await ensureEmbeddedLogins(connection);
    }
    return result;
  });
  printEach(applied, json, (names) => ({ applied: names }), printApplied);
}

/** Runs work with the logins that may migrate; home is the last. */
function onAll<T>(config: CellsDeployment, work: (databases: readonly CellSchema[]) => Promise<T>): Promise<T> {
  const { isSandbox } = config;
  const all = [...config.cells, { ...config, name: HOME_CELL }];
  const pooled = all.find(({ ownerUrl }) => config.isPooled && ownerUrl === undefined);
  if (pooled) throw needsOwnConnection('Migrations hold a lock of their session.', pooled.name);
  return untilSignal(async (signal) => {
    const reached: ReachedDatabase[] = [];
    try {
      const databases: CellSchema[] = [];
      for (const { name, databaseUrl, ownerUrl, dataDir } of all) {
        const database = await reachAsOwner({ databaseUrl, ownerUrl, dataDir, cells: config.cells });
        reached.push(database);
        const login = { url: ownerUrl ?? databaseUrl, isOwnerUrl: ownerUrl !== undefined };
        const mode = { isSandbox, log: reportProgress };
        databases.push({ name, ...login, connection: database.connection, ...mode });
      }
      return await orInterrupted(signal, () => work(databases));
    } finally {
      for (const database of reached.reverse()) await database.detach();
    }
  });
}

function printEach<T>(
  results: ReadonlyMap<string, T>,
  json: boolean | undefined,
  asJson: (result: T) => object,
  printOne: (result: T) => void,
): void {
  if (json) return printJson({ cells: Object.fromEntries([...results].map(([name, one]) => [name, asJson(one)])) });
  for (const [name, result] of results) {
    print(`Cell ${name}`);
    printOne(result);
    print('');
  }
}
