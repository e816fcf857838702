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
  it('When it says it, Then the first last word decides, and the money is out or back, once', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(word, { maxLength: 8 }), async (words) => {
        const [id] = await payment();
        const before = await seen(id);

        for (const said of words) await recordEvent(world.books, NORTH, id, said);

        const { balance, ...stands } = await seen(id);
        expect(stands).toEqual(standing(words));
        expect(balance - before.balance).toBe(stands.returns === 1 ? AMOUNT : 0n);
      }),
      { numRuns: 60 },
    );
    expect(await faults(world)).toEqual([]);
  });

  it('When it says all of it at once, Then one last word has decided, and the books add up', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(word, { minLength: 2, maxLength: 6 }), async (words) => {
        const [id] = await payment();
        const before = await seen(id);

        await Promise.all(words.map((said) => recordEvent(world.books, NORTH, id, said)));

        const { balance, ...stands } = await seen(id);
        const possible = words.filter(({ status }) => FINAL.includes(status)).map((one) => standing([one]));
        expect(possible.length === 0 ? [standing([])] : possible).toContainEqual(stands);
        expect(balance - before.balance).toBe(stands.returns === 1 ? AMOUNT : 0n);
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
