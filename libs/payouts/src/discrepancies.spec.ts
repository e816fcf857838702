import * as fc from 'fast-check';
import { RULE_VIOLATION, SQLSTATE } from '@banking/postgres';
import { sql, testOrProve } from '@banking/postgres/testing';
import { listDiscrepancies, type Resolution, resolveDiscrepancy } from './discrepancies.js';
import { recordEvent } from './record-rail-events.js';
import {
  AMOUNT,
  faults,
  fund,
  NORTH,
  openWorld,
  payOut,
  payoutWorker,
  SOUTH,
  work,
  type World,
} from './testing/world.js';

let world: World;
let transactionId: number;
let events = 0;

beforeAll(async () => {
  world = await openWorld();
});

afterAll(async () => {
  expect(await faults(world)).toEqual([]);
});

afterAll(() => world.close());

const receive = (status: string, providerEvent = `e${++events}`) =>
  recordEvent(world.books, NORTH, transactionId, { providerEvent, status });

async function balance(): Promise<bigint> {
  const { rows } = await world.owner.query<{ balance: bigint }>('select balance from account where id = $1', [
    world.accounts[NORTH],
  ]);
  return rows[0]!.balance;
}

describe('discrepancies', () => {
  beforeEach(async () => {
    [transactionId] = (await payOut(world, { isSubmitted: true })) as [number];
  });

  const open = async () =>
    (await listDiscrepancies(world.database, [NORTH], { limit: 1_000 })).filter(
      (one) => one.transactionId === transactionId,
    );

  const resolve = (discrepancyId: number, resolution: Resolution) =>
    resolveDiscrepancy(world.books, { workspaceId: NORTH, discrepancyId, resolution, note: 'asked the bank' });

  const openId = async () => (await open())[0]?.id ?? 0;
  const resolveOpen = async (resolution: Resolution) => resolve(await openId(), resolution);

  async function ourAccounts(): Promise<unknown> {
    const { rows } = await world.owner.query(
      `select account_id, currency_id, sum(case direction when 'credit' then amount else -amount end) as total
     from leg where account_version is null group by 1, 2
     having sum(case direction when 'credit' then amount else -amount end) <> 0 order by 1, 2`,
    );
    return rows;
  }

  /** The returns of the payout and of its returns, in order. */
  async function returns() {
    const { rows } = await world.owner.query<{
      status: string;
      direction: string;
      amount: bigint;
      description: string;
    }>(
      `with recursive link (id, depth) as (
       select $1::bigint, 0 union all select r.id, l.depth + 1 from link l join transaction r on r.return_of = l.id)
     select x.status, t.direction, t.amount, t.description
     from link l join transaction x on x.id = l.id join transfer t on t.transaction_id = x.id
     where l.depth > 0 order by l.depth`,
      [transactionId],
    );
    return rows;
  }

  const statusOf = async () =>
    (await world.owner.query<{ status: string }>('select status from transaction where id = $1', [transactionId]))
      .rows[0]?.status;

  describe('a payout that was credited and then rejected', () => {
    beforeEach(async () => {
      await receive('ACCC', 'credit');
      await receive('RJCT', 'rejection');
    });

    it('is listed as a discrepancy with all events', async () => {
      expect(await open()).toEqual([
        {
          workspaceId: NORTH,
          id: expect.any(Number),
          transactionId,
          accountId: world.accounts[NORTH],
          amount: String(AMOUNT),
          currencyCode: 'USD',
          kind: 'credited_then_rejected',
          openedAt: expect.stringMatching(/Z$/),
          events: [
            { providerEvent: 'credit', status: 'ACCC', recordedAt: expect.any(String) },
            { providerEvent: 'rejection', status: 'RJCT', recordedAt: expect.any(String) },
          ],
        },
      ]);
      expect(await listDiscrepancies(world.database, [SOUTH])).toEqual([]);
    });

    it('is resolved by a return, and stays completed', async () => {
      const before = await balance();

      expect(await resolveOpen('returned')).toEqual({ transactionId: expect.any(Number) });

      expect(await balance()).toBe(before + AMOUNT);
      expect(await statusOf()).toBe('completed');
      expect(await returns()).toEqual([
        { status: 'completed', direction: 'credit', amount: AMOUNT, description: 'Returned: Invoice' },
      ]);
      expect(await open()).toEqual([]);
      const all = await listDiscrepancies(world.database, [NORTH], { includesResolved: true, limit: 1_000 });
      expect(all.find((one) => one.transactionId === transactionId)).toMatchObject({
        resolution: 'returned',
        resolvedBy: world.owner.user,
        note: 'asked the bank',
        resolutionTransactionId: expect.any(Number),
      });
    });

    it('is resolved once by three operators at once', async () => {
      const before = await balance();
      const id = await openId();
      const outcomes = await Promise.all([resolve(id, 'returned'), resolve(id, 'returned'), resolve(id, 'dismissed')]);

      expect(outcomes.filter((one) => one === 'already_resolved')).toHaveLength(2);
      expect(BigInt((await returns()).length) * AMOUNT).toBe((await balance()) - before);
      expect(await open()).toEqual([]);
    });

    it('cannot be reclaimed', async () => {
      expect(await resolveOpen('reclaimed')).toBe('not_applicable');
      expect([await open(), await returns()]).toEqual([[expect.anything()], []]);
    });

    it('opens a discrepancy after the dismissal for another event, and none for the same event', async () => {
      await resolveOpen('dismissed');

      await receive('RJCT', 'rejection');
      expect(await open()).toEqual([]);

      await receive('RJCT');
      expect(await open()).toMatchObject([{ kind: 'credited_then_rejected' }]);
    });
  });

  describe('a payout that was rejected and then credited', () => {
    beforeEach(async () => {
      await receive('RJCT');
      await receive('ACCC');
    });

    it('is reclaimed by a return of the return', async () => {
      const before = await balance();

      await resolveOpen('reclaimed');

      expect(await balance()).toBe(before - AMOUNT);
      expect(await statusOf()).toBe('failed');
      expect(await returns()).toMatchObject([
        { direction: 'credit', amount: AMOUNT },
        { direction: 'debit', amount: AMOUNT, description: 'Reclaimed: Returned: Invoice' },
      ]);
      expect(await open()).toEqual([]);
    });

    it('is not reclaimed from an account without the funds, and is once it has them', async () => {
      const before = await balance();
      await fund(world.books, NORTH, -before);
      try {
        await expect(resolveOpen('reclaimed')).rejects.toMatchObject({ reason: 'insufficient_funds' });
        expect([await balance(), await returns(), await open()]).toEqual([
          0n,
          [expect.anything()],
          [expect.anything()],
        ]);
      } finally {
        await fund(world.books, NORTH, before);
      }

      await resolveOpen('reclaimed');

      expect(await balance()).toBe(before - AMOUNT);
    });

    it('can be returned again when the network rejects it after it was reclaimed', async () => {
      const before = await balance();
      await resolveOpen('reclaimed');
      await receive('RJCT');
      expect(await open()).toMatchObject([{ kind: 'credited_then_rejected' }]);

      await resolveOpen('returned');

      expect(await balance()).toBe(before);
      expect((await returns()).map(({ direction }) => direction)).toEqual(['credit', 'debit', 'credit']);
    });
  });

  describe('a payout with a conversion that was rejected and then credited', () => {
    it('restores our own accounts when it is reclaimed', async () => {
      [transactionId] = (await payOut(world, { isSubmitted: true, by: 'spot' })) as [number];
      const before = [await balance(), await ourAccounts()];
      await receive('RJCT');
      await receive('ACCC');

      await resolveOpen('reclaimed');

      expect([await balance(), await ourAccounts()]).toEqual(before);
    });
  });

  describe('an event id with two statuses', () => {
    it('opens a discrepancy, and its final status takes effect', async () => {
      await receive('ACSP', 'one');
      await receive('ACCC', 'one');

      expect(await statusOf()).toBe('completed');
      expect(await open()).toMatchObject([{ kind: 'event_reused' }]);
    });

    it('can only be dismissed while the payout is pending', async () => {
      await receive('ACSP', 'one');
      await receive('PDNG', 'one');

      expect(await resolveOpen('returned')).toBe('not_applicable');
      expect(await resolveOpen('dismissed')).toEqual({});
      expect([await open(), await returns()]).toEqual([[], []]);
    });
  });

  describe('a contradiction of the sandbox network', () => {
    it.each([
      ['9023', 'rejected_then_credited', 'reclaimed'],
      ['9024', 'credited_then_rejected', 'returned'],
    ] as const)('has the ending %s, opens %s, and can be %s', async (ending, kind, resolution) => {
      [transactionId] = (await payOut(world)) as [number];

      await work(world, payoutWorker(world, { to: { [transactionId]: `5010012345${ending}` } }), 12);

      expect(await open()).toMatchObject([{ kind }]);
      expect(await resolveOpen(resolution)).toEqual({ transactionId: expect.any(Number) });
    });
  });

  describe('a list over more workspaces than a scope has', () => {
    it('has the order and the limit of a whole', async () => {
      await receive('ACCC');
      await receive('RJCT');
      const [other] = (await payOut(world, { workspaceId: SOUTH, isSubmitted: true })) as [number];
      for (const status of ['ACCC', 'RJCT']) {
        await recordEvent(world.books, SOUTH, other, { providerEvent: `e${++events}`, status });
      }
      const between = Array.from({ length: 1_500 }, (_, index) => 1_000_000 + index);
      const workspaces = [SOUTH, ...between, NORTH];
      const all = await listDiscrepancies(world.database, workspaces, { limit: 1_000 });

      expect(all.length).toBeGreaterThan(1);
      expect(all.at(-1)?.transactionId).toBe(other);
      expect(all.map(({ openedAt }) => openedAt)).toEqual(all.map(({ openedAt }) => openedAt).sort());
      expect(await listDiscrepancies(world.database, workspaces, { limit: 1 })).toEqual(all.slice(0, 1));
    });
  });

  describe('a discrepancy of another workspace', () => {
    it('is not found', async () => {
      await receive('ACCC');
      await receive('RJCT');
      const id = await openId();
      const input = { workspaceId: SOUTH, discrepancyId: id, resolution: 'dismissed', by: 'eve', note: 'no' } as const;
      expect(await resolveDiscrepancy(world.books, input)).toBe('not_found');
    });
  });
});

describe('the database', () => {
  beforeEach(async () => {
    [transactionId] = (await payOut(world, { isSubmitted: true })) as [number];
  });

  const openId = async () =>
    (await listDiscrepancies(world.database, [NORTH])).find((one) => one.transactionId === transactionId)?.id ?? 0;

  const write = (...statements: string[]) =>
    world.database.pipeline(
      { workspaces: [NORTH] },
      statements.map((text) => sql(text)),
    );
  const insertEvent = (status: string, id: string) =>
    `insert into remittance_event (workspace_id, transaction_id, provider_event, status)
     select workspace_id, transaction_id, '${id}', '${status}' from payout where transaction_id = ${transactionId}`;

  it('refuses a contradiction without its discrepancy', async () => {
    await receive('ACCC', 'one');
    await world.owner.query('grant insert on remittance_event to banking_operator');
    await world.owner.query('grant usage on sequence remittance_event_id_seq to banking_operator');

    await expect(write(insertEvent('RJCT', 'two'))).rejects.toMatchObject({ code: RULE_VIOLATION.discrepancyMissing });
    await expect(write(insertEvent('PDNG', 'one'))).rejects.toMatchObject({ code: RULE_VIOLATION.discrepancyMissing });
  });

  it('refuses a return of a completed payout without a discrepancy', async () => {
    await receive('ACCC');
    const give = `insert into transaction (workspace_id, status, hash, return_of)
      values (${NORTH}, 'completed', decode(repeat('a', 64), 'hex'), ${transactionId})`;

    // The owner's functions check it too. This is what the database refuses of everyone.
    await expect(world.owner.query(give)).rejects.toMatchObject({ code: RULE_VIOLATION.returnWithoutReason });
  });

  it('refuses to resolve a discrepancy twice, to change or to delete it', async () => {
    await receive('ACCC');
    await receive('RJCT');
    const id = await openId();
    const dismiss = `update discrepancy set resolved_at = now(), resolution = 'dismissed', note = 'no' where id = ${id}`;
    await expect(
      world.owner.query(`insert into discrepancy (workspace_id, transaction_id, kind, event_id)
      select workspace_id, transaction_id, kind, event_id from discrepancy where id = ${id}`),
    ).rejects.toMatchObject({ constraint: 'discrepancy_open' });
    await expect(write(dismiss.replace(`, note = 'no'`, ''))).rejects.toMatchObject({ code: SQLSTATE.checkViolation });
    await write(dismiss);

    await expect(write(dismiss)).rejects.toMatchObject({ code: RULE_VIOLATION.illegalStep });
    await expect(
      world.owner.query(`update discrepancy set kind = 'event_reused' where id = ${id}`),
    ).rejects.toMatchObject({ code: RULE_VIOLATION.recordChanged });
    await expect(world.owner.query(`delete from discrepancy where id = ${id}`)).rejects.toMatchObject({
      code: RULE_VIOLATION.recordChanged,
    });
    await expect(world.owner.query('truncate discrepancy')).rejects.toMatchObject({
      code: RULE_VIOLATION.recordChanged,
    });
    await expect(write(`update discrepancy set opened_at = now() where id = ${id}`)).rejects.toMatchObject({
      code: SQLSTATE.insufficientPrivilege,
    });
  });
});

/** The directions in which returns moved the money, in order. */
async function moves(transactionId: number): Promise<string[]> {
  const { rows } = await world.owner.query<{ direction: string }>(
    `with recursive link (id, depth) as (
       select $1::bigint, 0 union all select r.id, l.depth + 1 from link l join transaction r on r.return_of = l.id)
     select t.direction from link l join transfer t on t.transaction_id = l.id
     where l.depth > 0 order by l.depth`,
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
        const [transactionId] = (await payOut(world, { isSubmitted: true })) as [number];
        const before = await balance();
        const resolve = (discrepancyId: number, resolution: Resolution) =>
          resolveDiscrepancy(world.books, {
            workspaceId: NORTH,
            discrepancyId,
            resolution,
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
      { numRuns: testOrProve(10, 40), examples: [[[...RETURNED_BEFORE]]] },
    );
  });
});
