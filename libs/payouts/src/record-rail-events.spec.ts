import { testOrProve } from '@banking/postgres/testing';
import * as fc from 'fast-check';
import { listDiscrepancies } from './discrepancies.js';
import { recordEvent, recordEvents } from './record-rail-events.js';
import {
  AMOUNT as amount,
  AMOUNT,
  faults,
  FEE as fee,
  FEE,
  NORTH,
  openWorld,
  payOut,
  type World,
} from './testing/world.js';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});

afterAll(() => world.close());

describe('record rail event', () => {
  let transactionId: number;
  const workspaceId = NORTH;
  const usd = () => world.accounts[NORTH]!;

  afterAll(async () => {
    expect(await faults(world)).toEqual([]);
  });

  beforeEach(async () => {
    [transactionId] = (await payOut(world, { isSubmitted: true })) as [number];
  });

  const record = (providerEvent: string, status: string) =>
    recordEvent(world.books, workspaceId, transactionId, { providerEvent, status, reasonCode: 'G000' });

  const reject = (providerEvent: string) =>
    recordEvent(world.books, workspaceId, transactionId, { providerEvent, status: 'RJCT', reasonCode: 'AC04' });

  async function seen(): Promise<{ status: string; events: string[]; balance: bigint }> {
    const { rows } = await world.owner.query<{ status: string; events: string[]; balance: bigint }>(
      `select x.status, a.balance,
            array(select e.status from remittance_event e
                  where e.transaction_id = x.id order by e.id) as events
     from transaction x, account a where x.id = $1 and a.id = $2`,
      [transactionId, usd()],
    );
    return rows[0]!;
  }

  /** The sums of our own accounts, by kind and currency. */
  async function ours(): Promise<unknown> {
    const { rows } = await world.owner.query(
      `select a.kind, a.currency_id, sum(case t.direction when 'credit' then t.amount else -t.amount end) as total
     from account a join leg t on (t.workspace_id, t.account_id) = (a.workspace_id, a.id)
     where a.workspace_id = $1 and a.kind in ('settlement', 'fx') group by 1, 2
     having sum(case t.direction when 'credit' then t.amount else -t.amount end) <> 0 order by 1, 2`,
      [workspaceId],
    );
    return rows;
  }

  describe('a pending payout', () => {
    it('records a repeated event once', async () => {
      await record('e1', 'ACSP');
      await record('e1', 'ACSP');

      expect(await seen()).toMatchObject({ status: 'pending', events: ['ACSP'] });
    });

    it('is completed by a credit, and stays completed', async () => {
      await record('e1', 'ACCC');
      await record('e2', 'ACSP');
      await record('e3', 'ACCC');

      expect(await seen()).toMatchObject({ status: 'completed', events: ['ACCC', 'ACSP', 'ACCC'] });
    });

    it('fails by a rejection, with the return of the money without the fee', async () => {
      const { balance } = await seen();

      expect(await reject('e1')).toBe('returned');

      expect(await seen()).toEqual({ status: 'failed', events: ['RJCT'], balance: balance + amount });
      const { rows } = await world.owner.query(
        `select t.account_id, t.direction, t.amount, t.currency_id, t.type, t.description
       from transaction x join transfer t on t.transaction_id = x.id
       where x.return_of = $1`,
        [transactionId],
      );
      const back = { account_id: BigInt(usd()), direction: 'credit', amount, currency_id: 840 };
      expect(rows).toEqual([{ ...back, type: 'return', description: 'Returned: Invoice' }]);
    });

    it('is returned once for repeated rejections, at once or later', async () => {
      const { balance } = await seen();
      const effects = [...(await Promise.all([reject('e1'), reject('e1'), reject('e2')])), await reject('e3')];

      expect(effects.sort()).toEqual(['repeated', 'repeated', 'repeated', 'returned']);
      expect(await seen()).toEqual({ status: 'failed', events: ['RJCT', 'RJCT', 'RJCT'], balance: balance + amount });
    });

    it('stays completed by a later rejection, which is recorded and moves no money', async () => {
      await record('e1', 'ACCC');
      const { balance } = await seen();

      expect(await reject('e2')).toBe('late');

      expect(await seen()).toEqual({ status: 'completed', events: ['ACCC', 'RJCT'], balance });
    });

    it('stays failed by a later credit, which is recorded', async () => {
      await reject('e1');

      expect(await record('e2', 'ACCC')).toBe('late');

      expect(await seen()).toMatchObject({ status: 'failed', events: ['RJCT', 'ACCC'] });
    });

    it('is completed or returned, not both, by a credit and a rejection at once', async () => {
      const { balance } = await seen();
      const [credited, refused] = await Promise.all([record('e1', 'ACCC'), reject('e2')]);
      const { status, balance: after } = await seen();
      expect([
        ['recorded', 'late', 'completed', balance],
        ['late', 'returned', 'failed', balance + amount],
      ]).toContainEqual([credited, refused, status, after]);
    });
  });

  describe('an event of a pending payout', () => {
    it('is recorded with its reason and message', async () => {
      const event = { providerEvent: 'e1', status: 'ACSP', reasonCode: 'G001', message: 'in transit' };

      expect(await recordEvent(world.books, workspaceId, transactionId, event)).toBe('recorded');

      const { rows } = await world.owner.query(
        `select e.reason_code, e.message from remittance_event e where e.transaction_id = $1`,
        [transactionId],
      );
      expect(rows).toEqual([{ reason_code: 'G001', message: 'in transit' }]);
    });
  });

  describe('an event after a final status', () => {
    it.each([
      ['ACCC', () => record('e1', 'ACCC')],
      ['RJCT', () => reject('e1')],
    ])('opens no discrepancy where it does not contradict %s', async (status, final) => {
      await final();
      await record('e2', 'ACSP');
      if (status === 'ACCC') await record('e3', 'ACCC');
      else await reject('e3');

      const open = await listDiscrepancies(world.database, [NORTH], { limit: 1_000 });

      expect(open.filter((one) => one.transactionId === transactionId)).toEqual([]);
    });
  });

  describe('while a worker holds the work of a payout', () => {
    beforeEach(async () => {
      [transactionId] = (await payOut(world)) as [number];
      await world.owner.query('begin');
      await world.owner.query('select from work where subject_id = $1 for update', [transactionId]);
    });

    it('an event that is not final is recorded at once', async () => {
      expect(await record('e1', 'ACSP')).toBe('recorded');
      await world.owner.query('rollback');
    });

    it('later events of the payout are not recorded either after one that could not wait for it', async () => {
      const events = ['ACCC', 'ACSP'].map((status, index) => ({
        ...{ workspaceId, transactionId },
        event: { providerEvent: `e${index}`, status, reasonCode: 'G000' },
      }));

      const effects = await recordEvents(world.books, events);
      await world.owner.query('rollback');

      expect(effects).toMatchObject([{ reason: 'unavailable' }, { reason: 'unavailable' }]);
      expect(await seen()).toMatchObject({ status: 'pending', events: [] });
    });

    it.each([
      ['credit', () => record('e1', 'ACCC')],
      ['rejection', () => reject('e1')],
    ])(
      'a %s waits for the work before it locks the transaction, so that the two cannot deadlock',
      async (_what, final) => {
        let isOver = false;
        const recording = final().finally(() => (isOver = true));
        const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
        for (let count = 0; !isOver && count === 0;) {
          await world.owner.query('select pg_stat_clear_snapshot()');
          count = (await world.owner.query(waiting)).rowCount ?? 0;
        }
        const free = await world.owner.query('select from transaction where id = $1 for no key update skip locked', [
          transactionId,
        ]);
        await world.owner.query('rollback');
        await recording;

        expect(free.rowCount).toBe(1);
      },
    );
  });

  describe('a payout that failed without its return', () => {
    const setStatus = (status: string) =>
      world.owner.query(
        `begin; set local session_replication_role = replica;
       update transaction set status = '${status}' where id = ${transactionId}; commit`,
      );

    it('refuses a rejection, so that the missing return is noticed', async () => {
      const before = await seen();
      await setStatus('failed');

      await expect(reject('e1')).rejects.toThrow('failed without its return');

      await setStatus('pending');
      expect(await seen()).toEqual(before);
    });
  });

  describe('a pending payout with a conversion', () => {
    it('restores the account, without the fee, and our own accounts when it is rejected', async () => {
      const [{ balance }, before] = [await seen(), await ours()];
      [transactionId] = (await payOut(world, { isSubmitted: true, by: 'spot' })) as [number];

      await reject('e1');

      expect(await seen()).toMatchObject({ status: 'failed', balance: balance - fee });
      expect(await ours()).toEqual(before);
    });
  });

  describe('a transaction without a payout', () => {
    it('refuses every event', async () => {
      const { rows } = await world.owner.query<{ id: bigint }>(
        `select id from transaction where workspace_id = $1 and id not in (select transaction_id from payout) limit 1`,
        [workspaceId],
      );
      transactionId = Number(rows[0]!.id);

      await expect(record('e1', 'ACCC')).rejects.toThrow('has no payout');
      await expect(reject('e2')).rejects.toThrow('has no payout');

      expect(await seen()).toMatchObject({ status: 'completed', events: [] });
    });
  });
});

describe('any events of a network, repeated and in any order', () => {
  const railEvent = fc.record({
    providerEvent: fc.constantFrom('e1', 'e2', 'e3', 'e4'),
    status: fc.constantFrom('ACSP', 'ACCC', 'RJCT', 'PDNG'),
  });

  const FINAL = ['ACCC', 'RJCT'];

  /** The state of a transaction after these events, which the first final status decides. */
  function stateAfter(events: readonly { status: string }[]) {
    const final = events.find(({ status }) => FINAL.includes(status))?.status;
    if (final === 'ACCC') return { status: 'completed', payout: 'settled', returns: 0 };
    if (final === 'RJCT') return { status: 'failed', payout: 'failed', returns: 1 };
    return { status: 'pending', payout: 'submitted', returns: 0 };
  }

  /** The discrepancies that these events leave open: each kind once, in alphabetical order. */
  function contradictions(events: readonly { providerEvent: string; status: string }[]): string[] {
    const finals = events.map(({ status }) => status).filter((status) => FINAL.includes(status));
    const kinds: string[] = [];
    if (finals[0] === 'ACCC' && finals.includes('RJCT')) kinds.push('credited_then_rejected');
    const ids = new Map(events.map(({ providerEvent, status }) => [providerEvent, status]));
    if (events.some(({ providerEvent, status }) => ids.get(providerEvent) !== status)) kinds.push('event_reused');
    if (finals[0] === 'RJCT' && finals.includes('ACCC')) kinds.push('rejected_then_credited');
    return kinds;
  }

  async function opened(id: number): Promise<string[]> {
    const { rows } = await world.owner.query<{ kind: string }>(
      'select kind from discrepancy where transaction_id = $1 and resolved_at is null order by kind',
      [id],
    );
    return rows.map(({ kind }) => kind);
  }

  async function recordedEvents(id: number): Promise<string[]> {
    const { rows } = await world.owner.query<{ event: string }>(
      `select e.provider_event || ' ' || e.status as event
     from remittance_event e where e.transaction_id = $1 order by 1`,
      [id],
    );
    return rows.map(({ event }) => event);
  }

  async function seen(id: number) {
    const { rows } = await world.owner.query<{ status: string; payout: string; returns: number; balance: bigint }>(
      `select x.status, p.status as payout, a.balance,
            (select count(*)::int from transaction r where r.return_of = x.id) as returns
     from transaction x join payout p on p.transaction_id = x.id, account a
     where x.id = $1 and a.id = $2`,
      [id, world.accounts[NORTH]],
    );
    return rows[0]!;
  }

  const payment = async () => (await payOut(world, { isSubmitted: true })) as [number];

  it('leave the state of the first final status, with every contradiction open', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(railEvent, { maxLength: 8 }), async (events) => {
        const [id] = await payment();
        const before = await seen(id);

        for (const event of events) await recordEvent(world.books, NORTH, id, event);

        const { balance, ...state } = await seen(id);
        expect(state).toEqual(stateAfter(events));
        expect(balance - before.balance).toBe(state.returns === 1 ? AMOUNT : 0n);
        expect(await opened(id)).toEqual(contradictions(events));
        const distinct = new Set(events.map(({ providerEvent, status }) => `${providerEvent} ${status}`));
        expect(await recordedEvents(id)).toEqual([...distinct].sort());
      }),
      { numRuns: testOrProve(15, 60) },
    );
    expect(await faults(world)).toEqual([]);
  });

  it('leave the state of one final status when they arrive at once, with every contradiction open once', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(railEvent, { minLength: 2, maxLength: 6 }), async (events) => {
        const [id] = await payment();
        const before = await seen(id);

        await Promise.all(events.map((event) => recordEvent(world.books, NORTH, id, event)));

        const { balance, ...state } = await seen(id);
        const possible = events.filter(({ status }) => FINAL.includes(status)).map((one) => stateAfter([one]));
        expect(possible.length === 0 ? [stateAfter([])] : possible).toContainEqual(state);
        expect(balance - before.balance).toBe(state.returns === 1 ? AMOUNT : 0n);
        const first = { providerEvent: 'first', status: state.returns === 1 ? 'RJCT' : 'ACCC' };
        expect(await opened(id)).toEqual(contradictions(possible.length === 0 ? events : [first, ...events]));
      }),
      { numRuns: testOrProve(10, 40) },
    );
    expect(await faults(world)).toEqual([]);
  });

  it('leave each payout of a batch in the state of its own events, in their order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(fc.nat(2), railEvent), { maxLength: 16 }), async (deliveries) => {
        const ids = await payOut(world, { isSubmitted: true, count: 3 });
        const batch = deliveries.map(([index, event]) => {
          return { workspaceId: NORTH, transactionId: ids[index] as number, event };
        });

        await recordEvents(world.books, batch);

        for (const id of ids) {
          const events = batch.filter(({ transactionId }) => transactionId === id).map(({ event }) => event);
          expect(await seen(id)).toMatchObject(stateAfter(events));
          expect(await opened(id)).toEqual(contradictions(events));
          const distinct = new Set(events.map(({ providerEvent, status }) => `${providerEvent} ${status}`));
          expect(await recordedEvents(id)).toEqual([...distinct].sort());
        }
      }),
      { numRuns: testOrProve(10, 40) },
    );
    expect(await faults(world)).toEqual([]);
  });

  it('never return the fee', async () => {
    const untouched = (await seen((await payment())[0])).balance;
    const [id] = await payment();

    await recordEvent(world.books, NORTH, id, { providerEvent: 'e1', status: 'RJCT' });

    expect((await seen(id)).balance).toBe(untouched - FEE);
  });
});
