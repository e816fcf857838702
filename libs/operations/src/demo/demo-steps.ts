import { bind, sqlStatement, type Database } from '@banking/postgres';

/** The ids of the demo data, by name. */
export interface DemoIds {
  readonly apps: Readonly<Record<string, number>>;
  readonly users: Readonly<Record<string, number>>;
  readonly workspaces: Readonly<Record<string, number>>;
  /** By `<workspace> <currency>`. */
  readonly accounts: Readonly<Record<string, number>>;
  readonly recipients: Readonly<Record<string, number>>;
  readonly transfers: Readonly<Record<string, number>>;
}

type Kind = keyof DemoIds;

const FIND_STEP = sqlStatement<{ id: bigint }>('find_demo_step', 'select id from demo_step where name = $1');
const RECORD_STEP = sqlStatement('record_demo_step', 'insert into demo_step (name, id) values ($1, $2)');
const ALL_STEPS = sqlStatement<{ name: string; id: bigint }>(
  'all_demo_steps',
  'select name, id from demo_step order by made_at, id',
);

const ANY_MARK = 'world:whole';

/**
 * The last step, which marks the demo data as complete. It contains a digest of the names of all steps, which the spec computes, so a newer
 * version adds its steps to the demo data of an older one.
 */
const COMPLETE = `${ANY_MARK} cca7dbd17b72`;

/** The write that records a step. */
export const recordStep = (name: string, id: number) => bind(RECORD_STEP, name, id);

/** The id that a step made, or undefined if the step is missing. */
export async function findStep(database: Database, name: string): Promise<number | undefined> {
  const row = await database.read({}, bind(FIND_STEP, name));
  return row && Number(row.id);
}

/**
 * Runs a step once and returns the id it made. The step is recorded after `make`, so `make` must be repeatable: it takes an idempotency
 * key or looks for what it made.
 */
export async function once(database: Database, name: string, make: () => Promise<number>): Promise<number> {
  const before = await findStep(database, name);
  if (before !== undefined) return before;
  const id = await make();
  await database.pipeline({}, [recordStep(name, id)]);
  return id;
}

const TRANSACTION = 'transaction of ';

/** The step that records the transaction of a transfer's step. */
export const transactionStep = (step: string) => `${TRANSACTION}${step}`;

/** An idempotency key for a step. */
export const keyOf = (step: string) => ({ idempotencyKey: `demo-${step.replace(/[^a-z0-9]+/gi, '-')}` });

export const isComplete = async (database: Database): Promise<boolean> =>
  (await findStep(database, COMPLETE)) !== undefined;

export async function markComplete(database: Database): Promise<void> {
  await database.pipeline({}, [recordStep(COMPLETE, 1)]);
}

/** The transactions of the demo data, which have no order (`bookings.ts`), or an instant order or a funding. */
export async function readDemoBookings(database: Database): Promise<readonly number[]> {
  const [steps] = await database.pipeline({}, [bind(ALL_STEPS)] as const);
  return steps.filter(({ name }) => name.startsWith(TRANSACTION)).map(({ id }) => Number(id));
}

/** The ids of the demo data of the version that made it, or undefined if there is none. */
export async function readDemoIds(database: Database): Promise<DemoIds | undefined> {
  const [steps] = await database.pipeline({}, [bind(ALL_STEPS)] as const);
  if (!steps.some(({ name }) => name.startsWith(ANY_MARK))) return undefined;
  const world: Record<Kind, Record<string, number>> = {
    apps: {},
    users: {},
    workspaces: {},
    accounts: {},
    recipients: {},
    transfers: {},
  };
  for (const { name, id } of steps) {
    const [kind, key] = split(name);
    if (Object.hasOwn(world, kind)) world[kind as Kind][key] = Number(id);
  }
  return world;
}

function split(name: string): [string, string] {
  const colon = name.indexOf(':');
  return [name.slice(0, colon), name.slice(colon + 1)];
}
