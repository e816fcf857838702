import type { Timestamp } from '@banking/domain';
import { RULE_VIOLATION, SQLSTATE } from '@banking/postgres';
import { microsecondsOf, timestampAt } from './microseconds.js';
import { post as postAs } from './post.js';
import type { Proposal } from './proposal.js';
import {
  account,
  crossing,
  euros,
  funding,
  NORTH,
  openWorld,
  payment,
  posted,
  SOUTH,
  type World,
  writeAny,
} from './testing/world.js';
import { verifyBooks } from './verify-books.js';

let world: World;
let ada: number;
let bob: number;

const CENT = euros('0.01');

beforeAll(async () => {
  world = await openWorld();
});

afterAll(() => world.close());

beforeEach(async () => {
  [ada, bob] = [await account(world, '10.00'), await account(world, '10.00')];
});

/** The account as a clock has left it that was ahead by an hour, and was corrected. @returns its time */
async function aheadOfClock(accountId: number): Promise<Timestamp> {
  const { rows } = await world.owner.query<{ at: Timestamp }>(
    `update account set balance_at = statement_timestamp() + interval '1 hour' where id = $1 returning rfc3339(balance_at) as at`,
    [accountId],
  );
  return rows[0]!.at;
}

const after = (at: Timestamp, microseconds: number) => timestampAt(microsecondsOf(at) + microseconds);

const timesOf = async (accountId: number) => {
  const { rows } = await world.owner.query<{ at: string; is_ahead: boolean }>(
    `select rfc3339(created_at) as at, created_at > statement_timestamp() as is_ahead
     from transfer where account_id = $1 order by account_version`,
    [accountId],
  );
  // Behind that of its opening balance.
  return rows.slice(1).map(({ at, is_ahead: isAhead }) => (isAhead ? at : 'now'));
};

describe('a posting on an account whose time is ahead of the clock', () => {
  it('is after what was booked before, on all its accounts, and on no other account', async () => {
    const at = await aheadOfClock(ada);
    const [carol, dora] = [await account(world, '10.00'), await account(world, '10.00', { workspaceId: SOUTH })];

    await posted(world, payment(carol, bob, CENT), payment(ada, bob, CENT), payment(ada, bob, CENT));
    await posted(world, crossing({ workspaceId: NORTH, account: bob }, { workspaceId: SOUTH, account: dora }, CENT));

    expect(await timesOf(ada)).toEqual([after(at, 1), after(at, 2)]);
    expect(await timesOf(bob)).toEqual(['now', after(at, 1), after(at, 2), after(at, 3)]);
    expect(await timesOf(dora)).toEqual([after(at, 3)]);
    expect(await timesOf(carol)).toEqual(['now']);
    expect((await verifyBooks(world.database, [NORTH, SOUTH])).findings).toEqual([]);
  });

  it('is now again once the clock has passed it', async () => {
    await posted(world, payment(ada, bob, CENT));

    expect([await timesOf(ada), await timesOf(bob)]).toEqual([['now'], ['now']]);
  });
});

describe('the database refuses a posting', () => {
  /** Writes what was decided for other times, one for each transaction. */
  const writtenAt = (times: readonly Timestamp[], ...proposals: readonly Proposal[]) =>
    postAs(world.books, proposals, (all) => writeAny(all.map((one, place) => ({ ...one, at: times[place]! }))));

  const now = async () => {
    const { rows } = await world.owner.query<{ at: Timestamp }>('select rfc3339(statement_timestamp()) as at');
    return rows[0]!.at;
  };

  it.each([0, -1])('%i µs from the time of its account, if that is before it', async (microseconds) => {
    const { rows } = await world.owner.query<{ at: Timestamp }>(
      'update account set balance_at = statement_timestamp() where id = $1 returning rfc3339(balance_at) as at',
      [ada],
    );
    const written = writtenAt([after(rows[0]!.at, microseconds)], payment(ada, bob, CENT));

    await (microseconds < 0
      ? expect(written).rejects.toMatchObject({ code: RULE_VIOLATION.discontinuousTransfer })
      : expect(written).resolves.toHaveLength(1));
  });

  it('that runs backwards in a batch', async () => {
    const at = await aheadOfClock(ada);

    await expect(
      writtenAt([after(at, 2), after(at, 1)], payment(ada, bob, CENT), payment(ada, bob, CENT)),
    ).rejects.toMatchObject({ code: RULE_VIOLATION.discontinuousTransfer });
  });

  it('that is ahead of the clock', async () => {
    const at = after(await now(), 60_000_000);

    await expect(writtenAt([at], funding(ada, CENT))).rejects.toMatchObject({ code: SQLSTATE.checkViolation });
  });

  it('that is further ahead than its accounts', async () => {
    const at = await aheadOfClock(ada);

    await expect(writtenAt([after(at, 2)], payment(ada, bob, CENT))).rejects.toMatchObject({
      code: SQLSTATE.checkViolation,
    });
    await expect(writtenAt([after(at, 1)], funding(bob, CENT))).rejects.toMatchObject({
      code: SQLSTATE.checkViolation,
    });
  });
});
