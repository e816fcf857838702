import { openBooks } from '@banking/ledger';
import { OPERATOR_ROLE, type Database, PROVISIONING_ROLE, SCHEMA } from '@banking/postgres';
import { openDatabase, until } from '@banking/postgres/testing';
import { readPayoutStop, resumePayouts, stopPayouts } from './payout-stop.js';
import { networkChannel, type NetworkMessage, traceNetwork } from './rail.js';
import { recordEvent, recordEvents } from './record-rail-events.js';
import { SandboxRail, SANDBOX_RAIL } from './sandbox-rail.js';
import {
  AMOUNT,
  faults,
  keepWorld,
  NORTH,
  openWorld,
  payOut,
  payoutWorker,
  SOUTH,
  type World,
} from './testing/world.js';

let world: World;
let restore: () => Promise<World>;

beforeAll(async () => {
  world = await openWorld();
  restore = await keepWorld(world);
});

afterEach(async () => {
  expect(await faults(world)).toEqual([]);
  world = await restore();
});
afterAll(() => world.close());

const rejection = (transactionId: number, workspaceId = NORTH) => {
  return { workspaceId, transactionId, event: { providerEvent: 'rejection', status: 'RJCT' } };
};

describe('a batch of events', () => {
  const credit = (transactionId: number, workspaceId = NORTH) => {
    return { workspaceId, transactionId, event: { providerEvent: 'credit', status: 'ACCC' } };
  };

  const statuses = async (ids: readonly number[]) => {
    const { rows } = await world.owner.query<{ status: string }>(
      'select status from transaction where id = any($1) order by id',
      [ids],
    );
    return rows.map(({ status }) => status);
  };

  it('of two workspaces returns the money of its rejections and completes the others', async () => {
    const north = await payOut(world, { isSubmitted: true, count: 3 });
    const south = await payOut(world, { isSubmitted: true, count: 2, workspaceId: SOUTH });

    const effects = await recordEvents(world.books, [
      credit(north[0]!),
      rejection(north[1]!),
      rejection(south[0]!, SOUTH),
      rejection(north[2]!),
      credit(south[1]!, SOUTH),
    ]);

    expect(effects).toEqual(['recorded', 'returned', 'returned', 'returned', 'recorded']);
    expect(await statuses([...north, ...south])).toEqual(['completed', 'failed', 'failed', 'failed', 'completed']);
  });

  it('records the others where one has no payout and one belongs to another workspace', async () => {
    const [one, two] = (await payOut(world, { isSubmitted: true, count: 2 })) as [number, number];

    const effects = await recordEvents(world.books, [
      credit(one),
      credit(two + 1_000),
      rejection(two + 1_001),
      credit(two, SOUTH),
      rejection(two),
    ]);

    const missing = expect.objectContaining({ message: expect.stringContaining('has no payout') });
    expect(effects).toEqual(['recorded', missing, missing, missing, 'returned']);
    expect(await statuses([one, two])).toEqual(['completed', 'failed']);
  });

  it('records the others where the account of one cannot hold the returned money', async () => {
    const [full] = (await payOut(world, { isSubmitted: true, workspaceId: SOUTH })) as [number];
    const others = await payOut(world, { isSubmitted: true, count: 2 });
    const account = world.accounts[SOUTH]!;
    const set = (balance: bigint) =>
      world.owner.query(
        `begin; set local session_replication_role = replica; update account set balance = ${balance} where id = ${account}; commit`,
      );
    const { rows } = await world.owner.query<{ balance: bigint }>('select balance from account where id = $1', [
      account,
    ]);
    await set(9_007_199_254_740_991n - AMOUNT + 1n);

    const effects = await recordEvents(world.books, [
      rejection(others[0]!),
      rejection(full, SOUTH),
      rejection(others[1]!),
    ]);

    await set(rows[0]!.balance);
    expect(effects).toEqual(['returned', expect.objectContaining({ reason: 'balance_limit_exceeded' }), 'returned']);
    expect(await statuses([full, ...others])).toEqual(['pending', 'failed', 'failed']);
  });

  it('records the others where the database rejects one', async () => {
    const ids = await payOut(world, { isSubmitted: true, count: 5 });
    await recordEvent(world.books, NORTH, ids[2]!, { providerEvent: 'early', status: 'ACCC' });
    await world.owner.query(`create function fail_discrepancy() returns trigger language plpgsql as
      $$ begin raise exception 'no discrepancy' using errcode = '23514'; end $$`);
    await world.owner.query(
      `create trigger fail before insert on discrepancy for each row execute function fail_discrepancy()`,
    );

    const effects = await recordEvents(
      world.books,
      ids.map((id) => rejection(id)),
    );
    await world.owner.query('drop function fail_discrepancy cascade');

    expect(effects.map((effect) => (effect instanceof Error ? 'failed' : effect))).toEqual([
      'returned',
      'returned',
      'failed',
      'returned',
      'returned',
    ]);
    expect(await statuses(ids)).toEqual(['failed', 'failed', 'completed', 'failed', 'failed']);
  });
});

describe('note statuses', () => {
  beforeEach(() => world.owner.query('delete from audit_outbox'));

  const event = (transactionId: number, status: string, workspaceId = NORTH) => {
    return { workspaceId, transactionId, event: { providerEvent: status.toLowerCase(), status } };
  };

  interface NotedRow {
    readonly workspaceId: number;
    readonly entries: readonly Readonly<Record<string, unknown>>[];
  }

  /** The rows of the outbox. */
  async function noted(): Promise<readonly NotedRow[]> {
    const { rows } = await world.owner.query<NotedRow>(
      'select workspace_id::int as "workspaceId", entries from audit_outbox order by id',
    );
    return rows;
  }

  const byNetwork = (operation: string, type: string, id: unknown) => {
    return { operation, outcome: 'done', resourceType: type, resourceId: id, actor: { type: 'network' } };
  };

  describe('the audit trail of statuses of the network', () => {
    it('gets one row for each batch and workspace, with an entry for each final status', async () => {
      const north = (await payOut(world, { isSubmitted: true, count: 3 })) as [number, number, number];
      const [south] = (await payOut(world, { isSubmitted: true, workspaceId: SOUTH })) as [number];

      await recordEvents(world.books, [
        event(north[0], 'ACCC'),
        event(south, 'ACCC', SOUTH),
        event(north[1], 'ACCC'),
        event(north[2], 'ACSP'),
      ]);
      await recordEvents(world.books, [event(north[2], 'RJCT')]);

      expect(await noted()).toEqual([
        {
          workspaceId: NORTH,
          entries: north.slice(0, 2).map((id) => byNetwork('completeTransaction', 'transaction', id)),
        },
        { workspaceId: SOUTH, entries: [byNetwork('completeTransaction', 'transaction', south)] },
        { workspaceId: NORTH, entries: [byNetwork('failTransaction', 'transaction', north[2])] },
      ]);
    });

    it('gets nothing of a repeated status, and the discrepancy that a later status opens, once', async () => {
      const [id] = (await payOut(world, { isSubmitted: true })) as [number];
      await recordEvents(world.books, [event(id, 'ACCC')]);
      await recordEvents(world.books, [event(id, 'ACCC')]);
      await recordEvents(world.books, [event(id, 'RJCT')]);
      await recordEvents(world.books, [event(id, 'RJCT')]);

      expect((await noted()).flatMap(({ entries }) => entries)).toEqual([
        byNetwork('completeTransaction', 'transaction', id),
        byNetwork('openDiscrepancy', 'discrepancy', expect.any(Number)),
      ]);
    });
  });

  describe('the audit trail of a stop of payouts', () => {
    it('has the stop by the service and its end by an operator, in the workspaces with findings', async () => {
      const { connection } = world;
      const settings = { 'app.operating_system_user': 'rosa' };
      const provisioning = await openDatabase({
        connection,
        role: PROVISIONING_ROLE,
        schema: SCHEMA,
        poolSize: 1,
        settings,
      });
      const unknown = { check: 'a rule', workspaceId: 999, detail: '' };
      await stopPayouts(world.database, [{ check: 'a rule', workspaceId: SOUTH, detail: '' }, unknown]);
      const { id } = (await readPayoutStop(world.database))!;
      await resumePayouts(provisioning, id);
      await resumePayouts(provisioning, id);
      await provisioning.end();

      const [{ login }] = (await world.owner.query<{ login: string }>('select session_user as login')).rows as [
        { login: string },
      ];
      const ofStop = { outcome: 'done', resourceType: 'payoutStop', resourceId: id };
      const rosa = { type: 'operator', name: login, operatingSystemUser: 'rosa' };
      expect(await noted()).toEqual([
        { workspaceId: SOUTH, entries: [{ ...ofStop, operation: 'stopPayouts', actor: { type: 'system' } }] },
        { workspaceId: SOUTH, entries: [{ ...ofStop, operation: 'resumePayouts', actor: rosa }] },
      ]);
    });
  });
});

describe('rejections of which one is of an account that another session has locked', () => {
  /** Longer than a busy machine needs for the other events. */
  const LONG_MS = 60_000;
  let database: Database;

  afterEach(async () => {
    await database.end();
  });

  const open = async (lockTimeoutMs: number) => {
    const { connection } = world;
    database = await openDatabase({
      connection,
      role: OPERATOR_ROLE,
      schema: SCHEMA,
      lockTimeoutMs,
      statementTimeoutMs: LONG_MS,
    });
    return openBooks(database);
  };

  const lockSouth = () =>
    world.owner.query(`begin; select from account where id = ${world.accounts[SOUTH]} for no key update`);

  const statusOf = async (id: number) => {
    const { rows } = await world.owner.query<{ status: string }>('select status from transaction where id = $1', [id]);
    return rows[0]?.status;
  };

  it('are recorded, except that of the locked account', async () => {
    const books = await open(100);
    const [one, two] = (await payOut(world, { isSubmitted: true, count: 2 })) as [number, number];
    const [locked, next] = (await payOut(world, { isSubmitted: true, count: 2, workspaceId: SOUTH })) as [
      number,
      number,
    ];
    await lockSouth();

    const effects = await recordEvents(books, [
      rejection(locked, SOUTH),
      rejection(one),
      rejection(next, SOUTH),
      rejection(two),
    ]);

    await world.owner.query('rollback');
    const unavailable = expect.objectContaining({ reason: 'unavailable' });
    expect(effects).toEqual([unavailable, 'returned', unavailable, 'returned']);
    expect(await statusOf(locked)).toBe('pending');
  });

  it('are recorded before it, and it is recorded when the account is free', async () => {
    const books = await open(LONG_MS);
    const [free] = (await payOut(world, { isSubmitted: true })) as [number];
    const [locked] = (await payOut(world, { isSubmitted: true, workspaceId: SOUTH })) as [number];
    await lockSouth();

    const recording = recordEvents(books, [rejection(locked, SOUTH), rejection(free)]);
    await until(
      () => statusOf(free),
      (status) => status === 'failed',
    );
    expect(await statusOf(locked)).toBe('pending');
    await world.owner.query('rollback');

    expect(await recording).toEqual(['returned', 'returned']);
    expect(await statusOf(locked)).toBe('failed');
  });
});

describe('the channel of the payment network', () => {
  let messages: (NetworkMessage & { readonly error?: unknown })[];
  const listen = (message: unknown) => void messages.push(message as NetworkMessage);

  beforeEach(() => {
    messages = [];
    networkChannel.asyncEnd.subscribe(listen);
  });

  afterEach(() => networkChannel.asyncEnd.unsubscribe(listen));

  const operations = () => messages.map(({ operation }) => operation);

  it('publishes each call with its operation', async () => {
    await payOut(world);
    const worker = payoutWorker(world);
    await worker.step();
    await world.owner.query(`update sandbox_rail_event set due_at = now() - interval '1 minute'`);
    await worker.step();

    expect(new Set(operations())).toEqual(new Set(['receive', 'submit', 'acknowledge']));
    expect(messages.every(({ error }) => error === undefined)).toBe(true);
  });

  it('publishes a call that takes too long with its aborted signal', async () => {
    await payOut(world);
    const rail = Object.assign(Object.create(new SandboxRail(world.database)) as SandboxRail, {
      submit: () => new Promise(() => undefined),
    });
    await payoutWorker(world, { rail, deadline: () => AbortSignal.abort() }).step();

    const submit = messages.find(({ operation }) => operation === 'submit');
    expect([submit?.error, submit?.signal?.aborted]).toEqual([expect.any(Error), true]);
  });

  it('makes no message without a subscriber', async () => {
    networkChannel.asyncEnd.unsubscribe(listen);

    expect(await traceNetwork({ rail: SANDBOX_RAIL, operation: 'find' }, async () => 7)).toBe(7);
    expect(messages).toEqual([]);
  });
});
