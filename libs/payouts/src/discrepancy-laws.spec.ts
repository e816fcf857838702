import * as fc from 'fast-check';
import { listDiscrepancies, resolveDiscrepancy, type Resolution } from './discrepancies.js';
import { openTracking } from './open-payouts.js';
import { AMOUNT, NORTH, faults, openWorld, payOut, type World } from './testing/world.js';
import { recordEvent } from './record-rail-event.js';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(async () => {
  expect(await faults(world)).toEqual([]);
  await world.close();
});

async function balance(): Promise<bigint> {
  const { rows } = await world.owner.query<{ balance: bigint }>('select balance from account where id = $1', [
    world.accounts[NORTH],
  ]);
  return rows[0]!.balance;
}
/** The directions in which returns moved the money, in order. */
async function moves(transactionId: number): Promise<string[]> {
  const { rows } = await world.owner.query<{ direction: string }>(
    `with recursive link (id, depth) as (
       select $1::bigint, 0 union all select r.id, l.depth + 1 from link l join transaction r on r.return_of = l.id)
     select t.direction from link l join transfer t on t.transaction_id = l.id
     where l.depth > 0 and t.account_version is not null order by l.depth`,
    [transactionId],
  );
  return rows.map(({ direction }) => direction);
}

interface Event {
  readonly providerEvent: string;
  readonly status: string;
}
const step: fc.Arbitrary<Event | Resolution> = fc.oneof(
  fc.record({ providerEvent: fc.constantFrom('a', 'b', 'c', 'd'), status: fc.constantFrom('ACSP', 'ACCC', 'RJCT') }),
  fc.constantFrom<Resolution>('returned', 'reclaimed', 'dismissed'),
);
/** The rejection agrees with the resolution of another discrepancy, so it contradicts nothing. */
const RETURNED_BEFORE: readonly (Event | Resolution)[] = [
  { providerEvent: 'a', status: 'ACCC' },
  { providerEvent: 'a', status: 'ACSP' },
  'returned',
  { providerEvent: 'a', status: 'RJCT' },
];

describe('any events and resolutions, each by two operators at once', () => {
  it('leave the money with the network or returned, and resolve each discrepancy at most once', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 10 }), async (steps) => {
        const [transactionId] = (await payOut(world, { open: openTracking })) as [number];
        const before = await balance();
        const resolve = (discrepancyId: number, resolution: Resolution) =>
          resolveDiscrepancy(world.books, {
            workspaceId: NORTH,
            discrepancyId,
            resolution,
            by: 'ada',
            note: 'checked',
          });
        for (const one of steps) {
          if (typeof one !== 'string') await recordEvent(world.books, NORTH, transactionId, one);
          else {
            const open = await listDiscrepancies(world.database, [NORTH], { limit: 1_000 });
            for (const { id } of open.filter((row) => row.transactionId === transactionId)) {
              const outcomes = await Promise.all([resolve(id, one), resolve(id, one)]);
              expect(outcomes.filter((outcome) => typeof outcome === 'object').length).toBeLessThan(2);
            }
          }
        }

        const moved = await moves(transactionId);
        expect(moved).toEqual(moved.map((_, index) => (index % 2 === 0 ? 'credit' : 'debit')));
        expect(await balance()).toBe(before + (moved.length % 2 === 1 ? AMOUNT : 0n));
      }),
      { numRuns: 40, examples: [[[...RETURNED_BEFORE]]] },
    );
  });
});
