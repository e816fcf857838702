import { SandboxRail } from './sandbox-rail/sandbox-rail.js';
import { Halt, payoutWorker, work } from './testing/workers.js';
import { NORTH, faults, openWorld, passTimeHere, payOut, type World } from './testing/world.js';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(async () => {
  expect(await faults(world)).toEqual([]);
  await world.close();
});

/** Past the lease, for us: the network has not said anything yet when somebody takes over. */
const LEASE_OVER_MS = 31_000;

const ENDS = [
  ['50100123456789', { status: 'completed', payout: 'settled', returns: 0 }],
  ['50100123459001', { status: 'failed', payout: 'failed', returns: 1 }],
] as const;

/** Every place in which a worker can be stopped while it hands a payment over and hears of it. */
const PLACES = Array.from({ length: 9 }, (_, index) => index + 1).flatMap((nth) =>
  (['before', 'behind'] as const).map((where) => ({ nth, where })),
);

async function seen(id: number) {
  const { rows } = await world.owner.query(
    `select x.status, p.status as payout, n.submissions,
            (select count(*)::int from transaction r where r.return_of = x.id) as returns,
            (select count(*)::int from work where subject_id = x.id) as queued,
            (select count(*) - count(distinct e.provider_event) from remittance_event e join remittance m on m.id = e.remittance_id
             where m.transaction_id = x.id)::int as doubled
     from transaction x join payout p on p.transaction_id = x.id
     left join sandbox_rail_payment n on n.key = format('payout-${NORTH}-%s', x.id)
     where x.id = $1`,
    [id],
  );
  return rows;
}

/** A worker that stops at a place, and a payment it begins to carry out. Answers when it has come there, or is through. */
async function stoppedAt({ nth, where }: (typeof PLACES)[number], account: string) {
  const [id] = (await payOut(world)) as [number];
  const halt = new Halt(nth, where);
  const books = { ...world.books, database: halt.database(world.database) };
  const rail = halt.rail(new SandboxRail(world.database));
  const to = { [id]: account };
  const stopping = payoutWorker(world, { books, rail, to });
  const going = (async () => {
    await stopping.step();
    await stopping.step();
  })();
  await Promise.race([halt.reached, going]);
  return { id, to, halt, going };
}

describe.each(ENDS)('Given payments to %s', (account, end) => {
  it.each(PLACES)(
    'When the power goes $where call $nth, Then another worker carries it on, and the network has been given it once',
    async (place) => {
      const { id, to } = await stoppedAt(place, account);

      await passTimeHere(world, LEASE_OVER_MS);
      await work(world, payoutWorker(world, { to }), 12);

      expect(await seen(id)).toEqual([{ ...end, submissions: 1, queued: 0, doubled: 0 }]);
    },
  );

  it.each(PLACES)(
    'When a worker is held up $where call $nth past its lease, Then it finishes nothing that another has taken over',
    async (place) => {
      const { id, to, halt, going } = await stoppedAt(place, account);
      await passTimeHere(world, LEASE_OVER_MS);
      await work(world, payoutWorker(world, { to }), 12);
      const [before] = await seen(id);

      halt.resume();
      await going;

      // Held up right before the call, it may say the same again: with the same key, so the network has one payment.
      const [after] = await seen(id);
      expect([1, 2]).toContain((after as { submissions: number }).submissions);
      expect({ ...after, submissions: 1 }).toEqual({ ...end, submissions: 1, queued: 0, doubled: 0 });
      expect(before).toEqual({ ...end, submissions: 1, queued: 0, doubled: 0 });
    },
  );
});
