import type { AccountId } from '@banking/domain';
import { bind, sqlStatement } from '@banking/postgres';
import { testOrProve } from '@banking/postgres/testing';
import { GET_STATEMENT, PLAN_EACH_TIME } from './statements.js';
import { bookMany, statementWorld } from '../testing/statements.js';

type Given = Awaited<ReturnType<typeof statementWorld>>;

const EXPLAIN = sqlStatement<{ readonly 'QUERY PLAN': unknown }>(
  'spec.explain_statement',
  `explain (analyze, buffers, format json) ${GET_STATEMENT.text}`,
);

interface Explained {
  readonly Plan: Readonly<Record<string, unknown>>;
}

const MANY = testOrProve(20_000, 200_000);
const PERIOD = { from: '2026-05-01T00:00:00Z', to: '2026-05-04T00:00:00Z' };

/** The buffers that the statement of the period touches, with the session settings of the service. */
async function buffersOf(given: Given, accountId: AccountId): Promise<number> {
  const explain = bind(EXPLAIN, given.workspaceId, accountId, PERIOD.from, PERIOD.to, 0, undefined, 10_001);
  const scope = { workspaces: [given.workspaceId] };
  // The first execution also reads pages of the catalog after the INSERT.
  await given.world.database.pipeline(scope, [PLAN_EACH_TIME, explain]);
  const [, [row]] = await given.world.database.pipeline(scope, [PLAN_EACH_TIME, explain]);
  const [{ Plan: plan }] = row!['QUERY PLAN'] as [Explained];
  return Number(plan['Shared Hit Blocks']) + Number(plan['Shared Read Blocks']);
}

/** Gives every fourth transaction an order and a return without transfers. */
async function linkTransactions({ world: { owner }, workspaceId }: Given): Promise<void> {
  await owner.query('set session_replication_role = replica');
  await owner.query(
    `with linked as (
            select id, created_at from transaction
            where workspace_id = $1
              and id / (select seqincrement from pg_sequence where seqrelid = 'transaction_id_seq'::regclass) % 4 = 0),
          executed as (
            insert into execution (workspace_id, order_id, sequence, status, transaction_id, scheduled_at, executed_at)
            select $1, 1000000 + id, 1, 'completed', id, created_at, created_at from linked)
     insert into transaction (workspace_id, status, hash, return_of)
     select $1, 'completed', decode(repeat('0', 64), 'hex'), id from linked
     on conflict do nothing`,
    [workspaceId],
  );
  await owner.query('set session_replication_role = origin');
}

/** An account with movements before the period, fifteen in it, and as many after it. */
async function bookedAround(given: Given, count: number): Promise<AccountId> {
  const accountId = await given.openEuro();
  const bookedFrom = (start: string) => `timestamptz '${start}' + n * interval '1 second'`;
  await bookMany(given.world, { accountId, count, bookedAt: bookedFrom('2026-04-01Z') });
  await bookMany(given.world, { accountId, count: 15, bookedAt: bookedFrom('2026-05-02Z') });
  await bookMany(given.world, { accountId, count, bookedAt: bookedFrom('2026-05-10Z') });
  return accountId;
}

describe('a statement of an account with many movements outside of the period', () => {
  let given: Given;
  let few: AccountId;
  let many: AccountId;
  beforeAll(async () => {
    given = await statementWorld();
    few = await bookedAround(given, 1_000);
    many = await bookedAround(given, MANY);
    await linkTransactions(given);
  }, 240_000);
  afterAll(() => given.world.close());

  it.each([
    ['without statistics', undefined],
    ['with statistics', 'analyze'],
  ])(`reads no more %s with ${MANY} of them than with 1,000`, async (_statistics, statistics) => {
    if (statistics !== undefined) await given.world.owner.query(statistics);
    const { movements } = await given.read(many, PERIOD);
    expect(movements).toHaveLength(15);
    expect(movements.filter(({ orderID, returnedBy }) => orderID && returnedBy)).not.toEqual([]);

    const [ofFew, ofMany] = [await buffersOf(given, few), await buffersOf(given, many)];

    // Each index may be one level deeper.
    expect(ofMany).toBeLessThan(ofFew * 1.5);
    expect(ofMany).toBeLessThan(300);
  });
});
