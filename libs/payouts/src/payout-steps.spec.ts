import { isLegalStep, PAYOUT_STEPS } from '@banking/domain';
import { RULE_VIOLATION, SQLSTATE } from '@banking/postgres';
import { openWorld, payOut, type World } from './testing/world.js';

const STATES = Object.keys(PAYOUT_STEPS);

let world: World;
let transactionId: number;

beforeAll(async () => {
  world = await openWorld();
  [transactionId] = (await payOut(world)) as [number];
});
afterAll(() => world.close());

/** Makes the step in a database transaction that is rolled back. */
async function step(from: string, to: string): Promise<void> {
  const set = async (status: string) =>
    world.owner.query(
      `update payout set status = $1, parked_at = case when $1 = 'parked' then now() end where transaction_id = $2`,
      [status, transactionId],
    );
  await world.owner.query('begin');
  try {
    await world.owner.query('set local session_replication_role = replica');
    await set(from);
    await world.owner.query('set local session_replication_role = origin');
    await set(to);
  } finally {
    await world.owner.query('rollback');
  }
}

describe('a payout in the database', () => {
  it.each(STATES.flatMap((from) => STATES.filter((to) => to !== from).map((to) => [from, to] as const)))(
    'takes the step from %s to %s if the state table has it, and else refuses it',
    async (from, to) => {
      if (isLegalStep(PAYOUT_STEPS, from, to)) return expect(step(from, to)).resolves.toBeUndefined();
      await expect(step(from, to)).rejects.toMatchObject({ code: RULE_VIOLATION.illegalStep });
    },
  );

  it('has the states of the table only', async () => {
    await expect(step('unknown', 'due')).rejects.toMatchObject({ code: SQLSTATE.checkViolation });
  });
});
