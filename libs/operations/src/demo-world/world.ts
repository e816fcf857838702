import { bind, statement, type Database } from '@banking/postgres';

/** The ids of the demo world, by the names its people use. */
export interface DemoWorld {
  readonly apps: Readonly<Record<string, number>>;
  readonly users: Readonly<Record<string, number>>;
  readonly workspaces: Readonly<Record<string, number>>;
  /** By `<workspace> <currency>`. */
  readonly accounts: Readonly<Record<string, number>>;
  readonly recipients: Readonly<Record<string, number>>;
  readonly transfers: Readonly<Record<string, number>>;
}

type Kind = keyof DemoWorld;

const FIND_STEP = statement<{ id: bigint }>('find_demo_step', 'select id from demo_step where name = $1');
const NOTE_STEP = statement('note_demo_step', 'insert into demo_step (name, id) values ($1, $2)');
const ALL_STEPS = statement<{ name: string; id: bigint }>(
  'all_demo_steps',
  'select name, id from demo_step order by made_at, id',
);

const ANY_MARK = 'world:whole';

/**
 * The last thing made: once it is there, the world is whole. It names the steps it is the mark of, by a digest that the spec works
 * out from their names, so a world that an earlier version made whole is completed with what it lacks.
 */
const WHOLE = `${ANY_MARK} cca7dbd17b72`;

/** The write that remembers a step, to travel in the database transaction that makes it. */
export const note = (name: string, id: number) => bind(NOTE_STEP, name, id);

/** The id a step was made with, or undefined while it is to do. */
export async function madeBefore(database: Database, name: string): Promise<number | undefined> {
  const row = await database.read({}, bind(FIND_STEP, name));
  return row && Number(row.id);
}

export const isWhole = async (database: Database): Promise<boolean> =>
  (await madeBefore(database, WHOLE)) !== undefined;

export async function markWhole(database: Database): Promise<void> {
  await database.flight({}, [note(WHOLE, 1)]);
}

/** The demo world, or undefined where none was made. One that an earlier version made is there as that version left it. */
export async function readDemoWorld(database: Database): Promise<DemoWorld | undefined> {
  const [steps] = await database.flight({}, [bind(ALL_STEPS)] as const);
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
