import * as fc from 'fast-check';
import { openTracking } from './open-payouts.js';
import { AMOUNT, FEE, NORTH, faults, openWorld, payOut, type World } from './testing/world.js';
import { recordEvent } from './track-remittance.js';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

const word = fc.record({
  providerEvent: fc.constantFrom('e1', 'e2', 'e3', 'e4'),
  status: fc.constantFrom('ACSP', 'ACCC', 'RJCT', 'PDNG'),
});

const FINAL = ['ACCC', 'RJCT'];

/** Where a transaction stands after these words: what the first that is a last one says. */
function standing(words: readonly { status: string }[]) {
  const last = words.find(({ status }) => FINAL.includes(status))?.status;
  if (last === 'ACCC') return { status: 'completed', payout: 'settled', returns: 0 };
  if (last === 'RJCT') return { status: 'failed', payout: 'failed', returns: 1 };
  return { status: 'pending', payout: 'submitted', returns: 0 };
}

/** The discrepancies that these events leave open: each of a kind once, in the order of their names. */
function contradictions(words: readonly { providerEvent: string; status: string }[]): string[] {
  const finals = words.map(({ status }) => status).filter((status) => FINAL.includes(status));
  const kinds: string[] = [];
  if (finals[0] === 'ACCC' && finals.includes('RJCT')) kinds.push('credited_then_rejected');
  const ids = new Map(words.map(({ providerEvent, status }) => [providerEvent, status]));
  if (words.some(({ providerEvent, status }) => ids.get(providerEvent) !== status)) kinds.push('event_reused');
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

describe('Given whatever a network says, as often and in whatever order', () => {
  it('When it says it, Then the first final status decides, and every contradiction is open', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(word, { maxLength: 8 }), async (words) => {
        const [id] = await payment();
        const before = await seen(id);

        for (const said of words) await recordEvent(world.books, NORTH, id, said);

        const { balance, ...stands } = await seen(id);
        expect(stands).toEqual(standing(words));
        expect(balance - before.balance).toBe(stands.returns === 1 ? AMOUNT : 0n);
        expect(await opened(id)).toEqual(contradictions(words));
        const distinct = new Set(words.map(({ providerEvent, status }) => `${providerEvent} ${status}`));
        expect(await recordedEvents(id)).toEqual([...distinct].sort());
      }),
      { numRuns: 60 },
    );
    expect(await faults(world)).toEqual([]);
  });

  it('When it says all of it at once, Then one final status has decided, and every contradiction is open once', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(word, { minLength: 2, maxLength: 6 }), async (words) => {
        const [id] = await payment();
        const before = await seen(id);

        await Promise.all(words.map((said) => recordEvent(world.books, NORTH, id, said)));

        const { balance, ...stands } = await seen(id);
        const possible = words.filter(({ status }) => FINAL.includes(status)).map((one) => standing([one]));
        expect(possible.length === 0 ? [standing([])] : possible).toContainEqual(stands);
        expect(balance - before.balance).toBe(stands.returns === 1 ? AMOUNT : 0n);
        const first = { providerEvent: 'first', status: stands.returns === 1 ? 'RJCT' : 'ACCC' };
        expect(await opened(id)).toEqual(contradictions(possible.length === 0 ? words : [first, ...words]));
      }),
      { numRuns: 40 },
    );
    expect(await faults(world)).toEqual([]);
  });

  it('When money has come back, Then the fee has not', async () => {
    const untouched = (await seen((await payment())[0])).balance;
    const [id] = await payment();

    await recordEvent(world.books, NORTH, id, { providerEvent: 'e1', status: 'RJCT' });

    expect((await seen(id)).balance).toBe(untouched - FEE);
  });
});
