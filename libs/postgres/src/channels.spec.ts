import { Refusal } from '@banking/domain';
import { connectionChannel, pipelineChannel, retryChannel } from './channels.js';
import { sqlstateOf } from './failures.js';
import { bind, sqlStatement } from './sql-statement.js';
import { SQLSTATE } from './sqlstate.js';
import { freshDatabase, type FreshDatabase, until } from './testing/index.js';

const one = bind(sqlStatement('channels.one', 'select 1 as one'));
const divide = bind(sqlStatement('channels.divide', 'select 1 / 0'));
const conflict = bind(
  sqlStatement('channels.conflict', `do $$ begin raise exception 'a conflict' using errcode = '40001'; end $$`),
);

let world: FreshDatabase;
let messages: Record<string, unknown>[];
const ends: (() => void)[] = [];

/** Collects the messages of a channel as they are when they are published. */
function collect(of: { subscribe(listen: (message: unknown) => void): void; unsubscribe(listen: never): unknown }) {
  const listen = (message: unknown) => void messages.push({ ...(message as object) });
  of.subscribe(listen);
  ends.push(() => of.unsubscribe(listen as never));
}

beforeAll(async () => {
  world = await freshDatabase({ poolSize: 2 });
});
beforeEach(() => {
  messages = [];
});
afterEach(() => {
  for (const end of ends.splice(0)) end();
});
afterAll(() => world.close());

describe('the channels of the database', () => {
  it('publish a pipeline with its statements, without their values', async () => {
    collect(pipelineChannel.asyncEnd);

    await world.database.transaction({}, (tx) => tx.commit([one]));

    expect(messages).toEqual([
      { statements: ['begin', 'scope', 'channels.one', 'commit'], result: expect.anything() as unknown },
    ]);
  });

  it('publish the error of a pipeline, with its SQLSTATE', async () => {
    collect(pipelineChannel.asyncEnd);

    await expect(world.database.pipeline({}, [divide])).rejects.toMatchObject({ code: SQLSTATE.divisionByZero });

    expect(messages.map(({ error }) => sqlstateOf(error))).toEqual([SQLSTATE.divisionByZero]);
  });

  it('publish how long a caller waited for a connection, and that it received none', async () => {
    collect(connectionChannel as never);
    // To connect, a busy machine may need more than the limit.
    const opened = await until(() => freshDatabase({ poolSize: 1, acquireTimeoutMs: 50 }).catch(unlessUnavailable));
    const alone = opened!;
    messages.length = 0;
    try {
      await alone.database.transaction({}, async (tx) => {
        await tx.pipeline([one]);
        await expect(alone.database.ping()).rejects.toThrow(Refusal);
      });
    } finally {
      await alone.close();
    }

    expect(messages.slice(0, 2)).toEqual([
      { waitMs: expect.any(Number), isRefused: false },
      { waitMs: expect.any(Number), isRefused: true },
    ]);
    expect(messages[1]!['waitMs']).toBeGreaterThanOrEqual(45);
  });

  it('publish each retry after a conflict, and not the last failure', async () => {
    collect(retryChannel as never);

    await expect(world.database.pipeline({}, [conflict])).rejects.toThrow(Refusal);

    expect(messages).toEqual([1, 2, 3, 4].map((tries) => ({ sqlstate: '40001', tries })));
  });
});

describe('sqlstateOf', () => {
  it('reads the SQLSTATE of an error of the server, also where it has become a refusal', async () => {
    const error = await world.database.pipeline({}, [conflict]).catch((thrown: unknown) => thrown);

    expect(error).toBeInstanceOf(Refusal);
    expect(sqlstateOf(error)).toBe('40001');
    expect([new Error('x'), undefined, new Refusal('unavailable')].map(sqlstateOf)).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
});

const unlessUnavailable = (error: unknown) => {
  if (!(error instanceof Refusal)) throw error;
  return undefined;
};
