import { Refusal } from '@banking/domain';
import { bind, statement } from '@banking/postgres';
import { preparePosting, type Finishing } from './posting.js';
import type { Outcome, Proposal } from './proposal.js';
import { payment } from './testing/proposals.js';
import { account, euros, holding, NORTH, openWorld, type World } from './testing/world.js';
import { verifyBooks } from './verify.js';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());
afterEach(async () => {
  expect((await verifyBooks(world.database, [NORTH])).findings).toEqual([]);
});

async function finish(proposals: readonly Proposal[], finishing: Finishing): Promise<readonly Outcome[]> {
  const { workspaces, finish: post } = await preparePosting(world.books, proposals);
  const { outcomes } = await world.database.transaction({ workspaces }, (tx) => post(tx, finishing));
  return outcomes;
}
const kindsOf = (outcomes: readonly Outcome[]) =>
  outcomes.map(({ posted, refused, leftOut }) => (posted ? 'posted' : (refused?.reason ?? leftOut)));

describe('Given a gate before the books', () => {
  it('When it answers some, Then the others are decided on what those before them left', async () => {
    const [ada, bob] = [await account(world, '1.00'), await account(world)];
    const proposals = ['0.60', '0.30', '0.40', '0.10'].map((amount) => payment(ada, bob, euros(amount)));

    const outcomes = await finish(proposals, {
      gate: () => (index, before) => {
        expect(before).toHaveLength(index);
        if (index === 1) return { leftOut: 'answered' };
        return index === 3 ? { refused: new Refusal('idempotency_key_reused') } : undefined;
      },
    });

    expect(kindsOf(outcomes)).toEqual(['posted', 'answered', 'posted', 'idempotency_key_reused']);
    expect(await holding(world, ada)).toEqual({ balance: 0n, version: 3n });
  });

  it('When it is told what was read, Then that was read behind the locks', async () => {
    const [ada, bob] = [await account(world, '1.00'), await account(world)];
    const seen: unknown[] = [];
    const read = bind(statement('spec.balance', 'select balance from account where id = $1'), ada);
    const spend = () =>
      finish([payment(ada, bob, euros('0.40'))], {
        reads: [read],
        gate: (rows) => {
          seen.push(rows);
          return () => undefined;
        },
      });

    await Promise.all([spend(), spend()]);

    expect(seen).toEqual([[[{ balance: 100n }]], [[{ balance: 60n }]]]);
  });
});

describe('Given an account that somebody else holds', () => {
  it('When a batch does not wait, Then what touches the account is left out, and the rest is posted', async () => {
    const [held, free, bob] = [await account(world, '1.00'), await account(world, '1.00'), await account(world)];
    await world.owner.query('begin');
    await world.owner.query('select from account where id = $1 for update', [held]);

    const outcomes = await finish(
      [
        payment(held, bob, euros('0.10')),
        payment(free, bob, euros('0.10')),
        payment(free, held, euros('0.10')),
        { entries: [], holds: { workspaceId: NORTH, accountId: held } },
      ],
      { skipsLocked: true },
    );
    await world.owner.query('rollback');

    expect(kindsOf(outcomes)).toEqual(['locked', 'posted', 'locked', 'locked']);
    expect(await holding(world, held)).toMatchObject({ balance: 100n });
    expect(await holding(world, bob)).toMatchObject({ balance: 10n });
  });
});

describe('Given a proposal that moves nothing yet', () => {
  it('When it is posted, Then its account was locked, and what is written alongside is written', async () => {
    const ada = await account(world, '1.00');
    const write = bind(statement('spec.rename', 'update account set alias = $2 where id = $1'), ada, 'Held');

    const outcomes = await finish([{ entries: [], holds: { workspaceId: NORTH, accountId: ada } }], {
      alongside: ([outcome]) => (outcome?.posted ? [write] : []),
    });

    expect(outcomes).toEqual([{ posted: [] }]);
    const { rows } = await world.owner.query('select alias from account where id = $1', [ada]);
    expect(rows).toEqual([{ alias: 'Held' }]);
  });
});

describe('Given a leg that says how it is refused', () => {
  it('When its account takes nothing, Then that is said, and not why', async () => {
    const [ada, bob] = [await account(world, '1.00'), await account(world)];
    await world.owner.query(`update account set status = 'disabled' where id = $1`, [bob]);
    const refusedAs = new Refusal('recipient_invalid');
    const [entry] = payment(ada, bob, euros('0.10')).entries;
    const legs = entry!.legs.map((leg) => (leg.account === bob ? { ...leg, refusedAs } : leg));

    const outcomes = await finish([{ entries: [{ ...entry!, legs }] }], {});

    expect(outcomes).toEqual([{ refused: refusedAs }]);
  });
});
