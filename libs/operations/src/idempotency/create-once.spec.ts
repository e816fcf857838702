import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { Refusal, type UserId, type WorkspaceId } from '@banking/domain';
import { bind, pipelineChannel, sqlStatement } from '@banking/postgres';
import { reasonOf, until } from '@banking/postgres/testing';
import { openReading } from '../resources/reading.js';
import { demoDatabase } from '../testing/test-databases.js';
import { createKnownOnce, createOnce, type Creation, findReplay } from './create-once.js';
import { keyConflict, keyOf } from './idempotency-key.js';

describe('create once', () => {
  const RESOURCE = sqlStatement<{ id: number }>('spec.resource', `select 7 as id`);

  /** The settings that row-level security reads. */
  const SCOPE = sqlStatement<{ workspaces: string; user: string }>(
    'spec.scope',
    `select current_setting('app.workspaces', true) as workspaces, current_setting('app.user', true) as "user"`,
  );

  const creation: Creation<{ id: number }, { id: number }> = {
    writes: [],
    audited: { type: 'account', id: 7 },
    resource: { bound: bind(RESOURCE), compose: (_reference, { id }) => ({ id }) },
  };

  let world: Awaited<ReturnType<typeof demoDatabase>>;
  let workspaceId: number;

  beforeAll(async () => {
    world = await demoDatabase();
    workspaceId = world.demo.workspaces['Northwind Trading']!;
  });

  afterAll(() => world.close());

  const caller = (actor?: number) => ({ workspaceId: workspaceId as WorkspaceId, actor: actor as UserId | undefined });

  const create = (idempotencyKey: string, decide: () => Promise<typeof creation>) => {
    const request = { workspaceId, operation: 'openAccount', content: {} };
    return createOnce(openReading(world.database), request, { idempotencyKey }, caller(), decide);
  };

  describe('a creation with a key', () => {
    it('refuses a request while another one with its key is carried out', async () => {
      const steps = new EventTarget();
      const isBegun = once(steps, 'begun');
      const mayEnd = once(steps, 'end');
      const first = create('race', async () => {
        steps.dispatchEvent(new Event('begun'));
        await mayEnd;
        return creation;
      });
      await Promise.race([isBegun, first]);
      const decide = jest.fn(() => Promise.resolve(creation));
      const second = await create('race', decide).catch((error: unknown) => error);
      steps.dispatchEvent(new Event('end'));

      expect(second).toMatchObject({ reason: 'idempotency_in_progress', retryAfterSeconds: 1 });
      expect(await first).toEqual({ resource: { id: 7 }, isReplay: false });
      expect(await create('race', decide)).toEqual({ resource: { id: 7 }, isReplay: true });
      expect(decide).not.toHaveBeenCalled();
    });

    it('is carried out beside a creation with another key', async () => {
      const both = create('one', () => create('two', () => Promise.resolve(creation)).then(() => creation));

      expect(await both).toEqual({ resource: { id: 7 }, isReplay: false });
    });

    it('fails and leaves the key free if its resource cannot be read', async () => {
      const unreadable = bind(sqlStatement<{ id: number }>('spec.no_resource', `${RESOURCE.text} where false`));

      await expect(
        create('unread', () => Promise.resolve({ ...creation, resource: { ...creation.resource, bound: unreadable } })),
      ).rejects.toThrow('openAccount created a resource that cannot be read');

      expect(await create('unread', () => Promise.resolve(creation))).toMatchObject({ isReplay: false });
    });

    it('is made in the workspace, as the user of the request if there is one', async () => {
      const scopeOf = async (actor: number | undefined) => {
        const request = { workspaceId, operation: 'openAccount', content: {} };
        const { resource, isReplay } = await createOnce(openReading(world.database), request, {}, caller(actor), () =>
          Promise.resolve({
            writes: [],
            audited: { type: 'account', id: 7 },
            resource: { bound: bind(SCOPE), compose: (_reference: unknown, row: unknown) => row },
          }),
        );
        expect(isReplay).toBe(false);
        return resource;
      };

      expect(await scopeOf(7)).toEqual({ workspaces: `{${workspaceId}}`, user: '7' });
      expect(await scopeOf(undefined)).toEqual({ workspaces: `{${workspaceId}}`, user: '' });
    });
  });

  describe('a creation whose writes are known', () => {
    const NOTED = sqlStatement<{ notes: number }>(
      'spec.notes',
      `select count(*)::int as notes from audit_outbox where entries::text like '%spec%'`,
    );
    const limitOf = (check: () => void) => ({ turn: 'spec', reads: [bind(NOTED)], check });
    const createKnown = (idempotencyKey?: string, check: () => void = () => undefined) => {
      const request = { workspaceId, operation: 'openAccount', content: {} };
      const options = { ...(idempotencyKey !== undefined && { idempotencyKey }) };
      return createKnownOnce(openReading(world.database), request, options, caller(), creation, limitOf(check));
    };
    const untilWaiting = () =>
      until(async () => {
        const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
        return (await world.owner.query(waiting)).rowCount === 1;
      });
    const entries = async () =>
      (await world.owner.query(`select from audit_event union all select from audit_outbox`)).rowCount;

    it('is made once for a key, and each time without one', async () => {
      expect(await createKnown('known')).toEqual({ resource: { id: 7 }, isReplay: false });
      const before = await entries();
      expect(await createKnown('known')).toEqual({ resource: { id: 7 }, isReplay: true });
      expect(await entries()).toBe(before);

      expect(await createKnown()).toEqual({ resource: { id: 7 }, isReplay: false });
      expect(await entries()).toBe(before! + 1);
    });

    it.each([
      ['with a key', 'limited'],
      ['without a key', undefined],
    ])('writes nothing where its limit refuses, %s', async (_what, key) => {
      const before = await entries();
      const refuse = () => {
        throw new Refusal('rate_limited');
      };

      expect(await reasonOf(createKnown(key, refuse))).toBe('rate_limited');
      expect(await entries()).toBe(before);
      expect(await createKnown(key)).toMatchObject({ isReplay: false });
    });

    it.each([
      ['with a key', { idempotencyKey: 'unlimited' }, 2],
      ['without a key', {}, 1],
    ])('needs no limit, %s', async (_what, options, roundTrips) => {
      const request = { workspaceId, operation: 'openAccount', content: {} };
      const reading = openReading(world.database);
      await reading.reference.current();
      let trips = 0;
      const count = () => (trips += 1);
      pipelineChannel.start.subscribe(count);

      const made = await createKnownOnce(reading, request, options, caller(), creation).finally(() =>
        pipelineChannel.start.unsubscribe(count),
      );

      expect([made, trips]).toEqual([{ resource: { id: 7 }, isReplay: false }, roundTrips]);
    });

    it.each([
      ['before it is made with a key', { idempotencyKey: 'composed' }, false],
      ['after it was made without a key', {}, true],
    ])('has a response that is composed %s', async (_what, options, isExpected) => {
      const request = { workspaceId, operation: 'openAccount', content: {} };
      const told: unknown[] = [];
      const { database } = world;
      const reference = {
        beforeChange: () =>
          Promise.resolve(async <T>(compose: (current: never) => T, isMade?: boolean) => {
            told.push(isMade);
            return compose(undefined as never);
          }),
      };

      await createKnownOnce({ database, reference: reference as never }, request, options, caller(), creation);

      expect(told).toEqual([isExpected]);
    });

    it('waits for its turn without a key too', async () => {
      await world.owner.query(`begin; select pg_advisory_xact_lock(hashtextextended('spec', 0))`);
      let isMade = false;
      const made = createKnown().finally(() => (isMade = true));
      await untilWaiting();

      expect(isMade).toBe(false);
      await world.owner.query('rollback');
      expect(await made).toMatchObject({ isReplay: false });
    });

    it('is no refusal of its limit where it is a replay', async () => {
      await createKnown('full');

      const check = jest.fn();
      expect(await createKnown('full', check)).toMatchObject({ isReplay: true });
      expect(check).not.toHaveBeenCalled();
    });

    it('waits for its turn, but not while its key is in use', async () => {
      await world.owner.query(`begin; select pg_advisory_xact_lock(hashtextextended('spec', 0))`);
      const first = createKnown('turn');
      await untilWaiting();

      expect(await reasonOf(createKnown('turn'))).toBe('idempotency_in_progress');
      await world.owner.query('rollback');
      expect(await first).toMatchObject({ isReplay: false });
    });
  });

  describe('findReplay', () => {
    const request = { workspaceId: 0, operation: 'createQuote', content: { amount: '1' } };
    const find = async (content: object, idempotencyKey?: string) =>
      (
        await findReplay(
          world.database,
          { ...request, workspaceId, content },
          { ...(idempotencyKey && { idempotencyKey }) },
        )
      ).replay;

    it('finds nothing without a key, or with a new one', async () => {
      expect(await find({})).toBeUndefined();
      expect(await find({}, 'new')).toBeUndefined();
    });

    it('finds the response of the same request, and refuses another', async () => {
      const decide = () => Promise.resolve(creation);
      await createOnce(
        openReading(world.database),
        { ...request, workspaceId },
        { idempotencyKey: 'found' },
        caller(),
        decide,
      );

      expect(await find(request.content, 'found')).toEqual({ resource: { id: 7 }, isReplay: true });
      expect(await reasonOf(find({ amount: '2' }, 'found'))).toBe('idempotency_key_reused');
    });
  });
});

const request = { workspaceId: 7, operation: 'placeOrder/17', content: { b: '2', a: '1' } };

describe('keyOf', () => {
  it('returns the key with the hash of the content, whatever the order of its members', () => {
    const fingerprint = createHash('sha256').update('{"a":"1","b":"2"}').digest();

    expect(keyOf(request, 'key')).toEqual({ workspaceId: 7, operation: 'placeOrder/17', key: 'key', fingerprint });
    expect(keyOf({ ...request, content: { a: '1', b: '2' } }, 'key')?.fingerprint).toEqual(fingerprint);
  });

  it('returns nothing without a key', () => {
    expect(keyOf(request, undefined)).toBeUndefined();
  });

  it.each(['', ' ', 'a b', 'ä', 'x'.repeat(256)])('refuses the key %j', async (key) => {
    expect(await reasonOf(Promise.resolve().then(() => keyOf(request, key)))).toBe('idempotency_key_invalid');
  });
});

describe('keyConflict', () => {
  it('is no refusal for the same request, and one for another', () => {
    const key = keyOf(request, 'key')!;

    expect(keyConflict(key, keyOf({ ...request }, 'key')!)).toBeUndefined();
    expect(keyConflict(key, keyOf({ ...request, content: {} }, 'key')!)).toMatchObject({
      reason: 'idempotency_key_reused',
    });
  });
});
