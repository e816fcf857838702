import { banking } from './banking.js';

/** The ids of the demo data, by name. */
export interface DemoIds {
  readonly apps: Readonly<Record<string, number>>;
  readonly users: Readonly<Record<string, number>>;
  readonly workspaces: Readonly<Record<string, number>>;
  readonly accounts: Readonly<Record<string, number>>;
  readonly recipients: Readonly<Record<string, number>>;
  readonly transfers: Readonly<Record<string, number>>;
}

/** The ids of the demo data of a DATA_DIR, as `banking demo` prints them. */
export async function readDemoIds(dataDir: string): Promise<DemoIds> {
  return JSON.parse(await banking(dataDir, 'demo', '--json')) as DemoIds;
}

/** The id of a resource of the demo data. @throws Error if the demo data does not have it */
export function idOf(world: DemoIds, kind: keyof DemoIds, name: string): number {
  const id = world[kind][name];
  if (id === undefined) throw new Error(`the demo data has no ${name} among its ${kind}`);
  return id;
}
