import * as fc from 'fast-check';
import { openTracking } from './open-payouts.js';
import { AMOUNT, FEE, NORTH, faults, openWorld, payOut, type World } from './testing/world.js';
import { recordEvent, recordEvents } from './record-rail-event.js';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

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
     from remittance_event e join remittance m on m.id = e.remittance_id where m.transaction_id = $1 order by 1`,
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

const payment = async () => (await payOut(world, { open: openTracking })) as [number];

describe('any events of a network, repeated and in any order', () => {
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
      { numRuns: 60 },
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
      { numRuns: 40 },
    );
    expect(await faults(world)).toEqual([]);
  });

  it('leave each payout of a batch in the state of its own events, in their order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(fc.nat(2), railEvent), { maxLength: 16 }), async (deliveries) => {
        const ids = await payOut(world, { open: openTracking, count: 3 });
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
      { numRuns: 40 },
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
