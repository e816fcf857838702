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

/** More than a lease, for our queue only: the network has no event yet when another worker takes over. */
const LEASE_EXPIRED_MS = 31_000;

const ENDS = [
  ['50100123456789', { status: 'completed', payout: 'settled', returns: 0 }],
  ['50100123459001', { status: 'failed', payout: 'failed', returns: 1 }],
] as const;

/** Every call at which a worker can be stopped while it submits a payment and receives its events. */
const PLACES = Array.from({ length: 10 }, (_, index) => index + 1).flatMap((nth) =>
  (['before', 'after'] as const).map((where) => ({ nth, where })),
);

async function seen(id: number) {
  const { rows } = await world.owner.query(
    `select x.status, p.status as payout, n.submissions,
            (select count(*)::int from transaction r where r.return_of = x.id) as returns,
            (select count(*)::int from work where subject_id = x.id) as queued,
            (select count(*) - count(distinct e.provider_event) from remittance_event e join remittance m on m.id = e.remittance_id
             where m.transaction_id = x.id)::int as doubled
     from transaction x join payout p on p.transaction_id = x.id
     left join sandbox_rail_payment n on n.key = format('payout-${NORTH}-%s-%s', x.id, p.key_nonce)
     where x.id = $1`,
    [id],
  );
  return rows;
}

/** Starts a worker that stops at a place, and a payout. Resolves when the worker has stopped there, or has finished. */
async function stoppedAt({ nth, where }: (typeof PLACES)[number], account: string) {
  const [id] = (await payOut(world)) as [number];
  const halt = new Halt(nth, where);
  const books = { ...world.books, database: halt.database(world.database) };
  const rail = halt.rail(new SandboxRail(world.database));
  const to = { [id]: account };
  const stopping = payoutWorker(world, { books, rail, to });
  const run = (async () => {
    await stopping.step();
    await stopping.step();
  })();
  await Promise.race([halt.reached, run]);
  return { id, to, halt, run };
}

describe.each(ENDS)('a payout to %s', (account, end) => {
  it.each(PLACES)(
    'is finished by another worker and submitted once when its worker dies $where call $nth',
    async (place) => {
      const { id, to } = await stoppedAt(place, account);

      await passTimeHere(world, LEASE_EXPIRED_MS);
      await work(world, payoutWorker(world, { to }), 12);

      expect(await seen(id)).toEqual([{ ...end, submissions: 1, queued: 0, doubled: 0 }]);
    },
  );

  it.each(PLACES)(
    'is not changed by its first worker, which is paused $where call $nth until its lease has expired',
    async (place) => {
      const { id, to, halt, run } = await stoppedAt(place, account);
      await passTimeHere(world, LEASE_EXPIRED_MS);
      await work(world, payoutWorker(world, { to }), 12);
      const [before] = await seen(id);

      halt.resume();
      await run;

      // Paused right before the submission, it may submit again: with the same key, so the network has one payment.
      const [after] = await seen(id);
      expect([1, 2]).toContain((after as { submissions: number }).submissions);
      expect({ ...after, submissions: 1 }).toEqual({ ...end, submissions: 1, queued: 0, doubled: 0 });
      expect(before).toEqual({ ...end, submissions: 1, queued: 0, doubled: 0 });
    },
  );
});
