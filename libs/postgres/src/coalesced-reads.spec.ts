import { CoalescedReads } from './coalesced-reads.js';
import { Database } from './database.js';
import { API_ROLE, SCHEMA } from './names.js';
import { Session } from './session.js';
import { bind, sqlStatement } from './sql-statement.js';
import { SQLSTATE } from './sqlstate.js';
import { freshDatabase, type FreshDatabase } from './testing/index.js';
import { Wire } from './testing/wire.js';

const showScope = sqlStatement<{ workspaces: string; user: string }>(
  'coalesced-reads.scope',
  `select current_setting('app.workspaces', true) as workspaces, current_setting('app.user', true) as user`,
);
const readNotes = sqlStatement<{ texts: string[] | null }>(
  'coalesced-reads.notes',
  'select array_agg(text order by id) as texts from note',
);
const divide = sqlStatement<{ result: number }>('coalesced-reads.divide', 'select 100 / $1::int as result');

let world: FreshDatabase;
beforeAll(async () => {
  world = await freshDatabase({ poolSize: 1 });
});
afterAll(() => world.close());
afterEach(() => jest.restoreAllMocks());

/** Uses the only connection until `work` has begun. Returns its result, and the number of statements of each later round trip. */
async function whileBusy<T>(database: Database, work: () => Promise<T>): Promise<{ result: T; sent: number[] }> {
  const send = jest.spyOn(Session.prototype, 'send');
  const pending = await database.transaction({}, async (tx) => {
    await tx.pipeline([bind(divide, 1)]);
    send.mockClear();
    // In an object: a returned promise would be awaited before the connection is free.
    return { result: work() };
  });
  const result = await pending.result;
  const sent = send.mock.calls.map(([calls]) => calls.length).filter((length) => length > 1);
  return { result, sent };
}

describe('a coalesced read', () => {
  it('is sent alone while a connection is free', async () => {
    const pipeline = jest.spyOn(world.database, 'pipeline');

    expect(await world.database.readCoalesced({ workspaces: [7], user: 3 }, bind(showScope))).toEqual({
      workspaces: '{7}',
      user: '3',
    });
    expect(pipeline).toHaveBeenCalledTimes(1);
  });

  it('shares a round trip with the others that wait, each in its own scope', async () => {
    await world.owner.query(
      `truncate note; insert into note (workspace_id, id, text) values (7, 1, 'of 7'), (8, 2, 'of 8')`,
    );
    const { database } = world;

    const { result, sent } = await whileBusy(database, () =>
      Promise.all([
        database.readCoalesced({ workspaces: [7] }, bind(readNotes)),
        database.readCoalesced({}, bind(readNotes)),
        database.readCoalesced({ workspaces: [8], user: 5 }, bind(showScope)),
        database.readCoalesced({ workspaces: [8] }, bind(readNotes)),
        database.readCoalesced({ workspaces: [7, 8] }, bind(readNotes)),
        database.readCoalesced({ workspaces: [7] }, bind(showScope)),
        database.readCoalesced({}, bind(showScope)),
      ]),
    );

    expect(result).toEqual([
      { texts: ['of 7'] },
      { texts: null },
      { workspaces: '{8}', user: '5' },
      { texts: ['of 8'] },
      { texts: ['of 7', 'of 8'] },
      { workspaces: '{7}', user: '' },
      { workspaces: '', user: '' },
    ]);
    // Seven reads, and a statement for each of five scopes.
    expect(sent).toEqual([12]);
    expect(await world.database.read({}, bind(showScope))).toEqual({ workspaces: '', user: '' });
  });

  it('is in one of several round trips if many wait', async () => {
    const numbers = Array.from({ length: 40 }, (_, index) => index + 1);

    const { result, sent } = await whileBusy(world.database, () =>
      Promise.all(numbers.map((number) => world.database.readCoalesced({}, bind(divide, number)))),
    );

    expect(result).toEqual(numbers.map((number) => ({ result: Math.trunc(100 / number) })));
    expect(sent).toEqual([17, 17, 9]);
  });

  it('does not fail because another fails', async () => {
    const { result } = await whileBusy(world.database, () =>
      Promise.allSettled([4, 0, 5, 0].map((number) => world.database.readCoalesced({}, bind(divide, number)))),
    );

    const failed = {
      status: 'rejected',
      reason: expect.objectContaining({ code: SQLSTATE.divisionByZero }) as unknown,
    };
    expect(result).toEqual([
      { status: 'fulfilled', value: { result: 25 } },
      failed,
      { status: 'fulfilled', value: { result: 20 } },
      failed,
    ]);
  });

  it('refuses an invalid scope alone', async () => {
    const { result } = await whileBusy(world.database, () =>
      Promise.allSettled([
        world.database.readCoalesced({ workspaces: [0] }, bind(divide, 4)),
        world.database.readCoalesced({}, bind(divide, 5)),
      ]),
    );

    expect(result).toEqual([
      { status: 'rejected', reason: new Error('not an id: 0') },
      { status: 'fulfilled', value: { result: 20 } },
    ]);
  });

  it('is refused if no connection becomes free in time', async () => {
    const { connection } = world;
    const database = await Database.open({
      connection,
      role: API_ROLE,
      schema: SCHEMA,
      poolSize: 1,
      acquireTimeoutMs: 2_000,
    });
    try {
      await database.transaction({}, async (tx) => {
        await tx.pipeline([bind(divide, 1)]);
        const refused = [4, 5].map((number) => database.readCoalesced({}, bind(divide, number)));
        expect(await Promise.allSettled(refused)).toMatchObject([
          { reason: { reason: 'unavailable' } },
          { reason: { reason: 'unavailable' } },
        ]);
      });

      expect(await database.readCoalesced({}, bind(divide, 4))).toEqual({ result: 25 });
    } finally {
      await database.end();
    }
  });

  it('is not refused together with one that has waited for much longer', async () => {
    const attempts: { refuse: (error: Error) => void; send: () => void }[] = [];
    let now = 0;
    const reads = new CoalescedReads({
      isBusy: () => true,
      sendWhenFree: (calls) =>
        new Promise((resolve, reject) => {
          const send = () => resolve({ rows: calls().map(() => [{ result: 1 }]), tags: [] });
          attempts.push({ refuse: reject, send });
        }),
      sendAlone: () => Promise.reject(new Error('no read is sent alone')),
      nowMs: () => now,
    });

    const early = [reads.read({}, bind(divide, 1)), reads.read({}, bind(divide, 2))];
    now = 500;
    const late = reads.read({}, bind(divide, 3));
    attempts[0]?.refuse(new Error('no connection'));
    expect(await Promise.allSettled(early)).toMatchObject([{ status: 'rejected' }, { status: 'rejected' }]);
    attempts[1]?.send();

    expect(await late).toEqual([{ result: 1 }]);
    expect(attempts).toHaveLength(2);
  });

  it('is refused if the connection is lost, and the next one is served', async () => {
    const wire = await Wire.lay(world.connection);
    const connection = wire.connection;
    const database = await Database.open({ connection, role: API_ROLE, schema: SCHEMA, poolSize: 1 });
    try {
      const { result } = await whileBusy(database, () => {
        wire.toServer = () => ({ isCut: true });
        return Promise.allSettled([4, 5].map((number) => database.readCoalesced({}, bind(divide, number))));
      });

      expect(result).toMatchObject([{ reason: { reason: 'unavailable' } }, { reason: { reason: 'unavailable' } }]);
      wire.toServer = (bytes) => ({ pass: bytes });
      expect(await database.readCoalesced({}, bind(divide, 4))).toEqual({ result: 25 });
    } finally {
      await database.end();
      await wire.remove();
    }
  });
});
