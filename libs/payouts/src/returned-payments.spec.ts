import * as fc from 'fast-check';
import { RULE_VIOLATION, SQLSTATE } from '@banking/postgres';
import { listDiscrepancies, type Resolution, resolveDiscrepancy } from './discrepancies.js';
import type { RailEvent } from './rail.js';
import { recordEvent, recordEvents } from './record-rail-events.js';
import { settlePayments } from './settle-payments.js';
import { AMOUNT, faults, NORTH, openWorld, payOut, type World } from './testing/world.js';

let world: World;
let transactionId: number;
let events = 0;

beforeAll(async () => {
  world = await openWorld();
});

afterAll(async () => {
  expect(await faults(world)).toEqual([]);
  await world.close();
});

beforeEach(async () => {
  [transactionId] = (await payOut(world, { isSubmitted: true })) as [number];
});

const receive = (event: Omit<RailEvent, 'providerEvent'>, providerEvent = `e${++events}`, id = transactionId) =>
  recordEvent(world.books, NORTH, id, { providerEvent, ...event });

const ARRIVED = { status: 'ACSC' };
const RETURNED = { status: 'RJCT', reasonCode: 'AC04', isReturn: true };

async function balance(): Promise<bigint> {
  const { rows } = await world.owner.query<{ balance: bigint }>('select balance from account where id = $1', [
    world.accounts[NORTH],
  ]);
  return rows[0]!.balance;
}

const openKinds = async (id = transactionId) =>
  (await listDiscrepancies(world.database, [NORTH], { limit: 1_000 }))
    .filter((one) => one.transactionId === id)
    .map(({ kind }) => kind);

const discrepancy = async () =>
  (await listDiscrepancies(world.database, [NORTH], { includesResolved: true, limit: 1_000 })).findLast(
    (one) => one.transactionId === transactionId,
  );

/** Resolves the open discrepancy, or the latest one. */
async function resolve(resolution: Resolution) {
  const all = await listDiscrepancies(world.database, [NORTH], { limit: 1_000 });
  const open = all.find((one) => one.transactionId === transactionId) ?? (await discrepancy());
  const input = { workspaceId: NORTH, discrepancyId: open?.id ?? 0, resolution, note: 'asked the bank' };
  return resolveDiscrepancy(world.books, input);
}

async function state(id = transactionId) {
  const { rows } = await world.owner.query<{ status: string; returns: number }>(
    `select status, (select count(*)::int from transaction r where r.return_of = x.id) as returns from transaction x where id = $1`,
    [id],
  );
  return rows[0];
}

describe('a payment that its bank has settled (ACSC)', () => {
  it('is completed, and stays so when it is credited', async () => {
    expect(await receive(ARRIVED)).toBe('recorded');
    expect(await receive({ status: 'ACCC' })).toBe('recorded');

    expect(await state()).toEqual({ status: 'completed', returns: 0 });
    expect(await openKinds()).toEqual([]);
  });

  it('contradicts an earlier rejection', async () => {
    await receive({ status: 'RJCT' });

    expect(await receive(ARRIVED)).toBe('late');
    expect(await openKinds()).toEqual(['rejected_then_credited']);
  });
});

describe('a payment whose money the bank has again', () => {
  it('is returned to the customer after it had arrived, and stays completed', async () => {
    await receive(ARRIVED);
    const before = await balance();

    expect(await receive(RETURNED)).toBe('returned');

    expect(await balance()).toBe(before + AMOUNT);
    expect(await state()).toEqual({ status: 'completed', returns: 1 });
    expect(await openKinds()).toEqual([]);
  });

  it('is returned once, however often it is reported', async () => {
    await receive(ARRIVED);
    const before = await balance();

    await receive(RETURNED, 'notified');
    expect(await receive(RETURNED, 'notified')).toBe('late');
    expect(await receive(RETURNED, 'on the statement')).toBe('late');

    expect(await balance()).toBe(before + AMOUNT);
    expect(await openKinds()).toEqual([]);
  });

  it('is contradicted by no later rejection, which is recorded', async () => {
    await receive(ARRIVED);
    await receive(RETURNED);
    const before = await balance();

    expect(await receive({ status: 'RJCT' })).toBe('late');

    expect(await balance()).toBe(before);
    expect(await state()).toEqual({ status: 'completed', returns: 1 });
    expect(await openKinds()).toEqual([]);
  });

  it('is left to the discrepancy of a rejection that has the id of its report', async () => {
    await receive(ARRIVED);
    await receive({ status: 'RJCT' }, 'again');
    const before = await balance();

    expect(await receive(RETURNED, 'again')).toBe('late');

    expect(await balance()).toBe(before);
    expect(await openKinds()).toEqual(['credited_then_rejected']);
    expect(await resolve('returned')).toEqual({ transactionId: expect.any(Number) });
    expect(await balance()).toBe(before + AMOUNT);
  });

  it('fails if it had not arrived', async () => {
    const before = await balance();

    expect(await receive(RETURNED)).toBe('returned');

    expect(await balance()).toBe(before + AMOUNT);
    expect(await state()).toEqual({ status: 'failed', returns: 1 });
  });

  it('brings nothing back after a rejection that did', async () => {
    await receive({ status: 'RJCT' });
    const before = await balance();

    expect(await receive(RETURNED)).toBe('repeated');

    expect(await balance()).toBe(before);
    expect(await state()).toEqual({ status: 'failed', returns: 1 });
    expect(await openKinds()).toEqual([]);
  });

  it('returns the money while a contradictory rejection is open', async () => {
    await receive(ARRIVED);
    await receive({ status: 'RJCT' });
    const before = await balance();

    expect(await receive(RETURNED)).toBe('returned');

    expect(await balance()).toBe(before + AMOUNT);
    expect(await openKinds()).toEqual(['credited_then_rejected']);
  });

  it('ends in the same books in any order of its reports', async () => {
    const reports = [
      { providerEvent: 'sent', status: 'ACSP' },
      { providerEvent: 'arrived', status: 'ACSC' },
      { providerEvent: 'returned', ...RETURNED },
      { providerEvent: 'returned', ...RETURNED },
    ];
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray(reports, { minLength: 1 }), async (some) => {
        const [id] = (await payOut(world, { isSubmitted: true })) as [number];
        const before = await balance();

        await recordEvents(
          world.books,
          some.map((event) => ({ workspaceId: NORTH, transactionId: id, event })),
        );

        const isReturned = some.some(({ providerEvent }) => providerEvent === 'returned');
        expect(await balance()).toBe(before + (isReturned ? AMOUNT : 0n));
        expect((await state(id))?.returns).toBe(isReturned ? 1 : 0);
      }),
      { numRuns: 15 },
    );
  });
});

describe('a payment that its bank rejected, executed and returned', () => {
  const REJECTED = { providerEvent: 'rejected', status: 'RJCT' };
  const EXECUTED = { providerEvent: 'executed', ...ARRIVED };
  const BACK = { providerEvent: 'back', ...RETURNED };

  it.each([
    ['executed before it was returned', [REJECTED, EXECUTED, BACK]],
    ['reported as returned before it was executed', [REJECTED, BACK, EXECUTED]],
    ['returned before it was rejected', [BACK, REJECTED, EXECUTED]],
  ])('leaves no discrepancy open if it was %s', async (_what, reports) => {
    const before = await balance();

    await recordEvents(
      world.books,
      reports.map((event) => ({ workspaceId: NORTH, transactionId, event })),
    );

    expect(await openKinds()).toEqual([]);
    expect(await discrepancy()).toMatchObject({
      ...{ kind: 'rejected_then_credited', resolution: 'settled', resolvedBy: 'network' },
    });
    expect(await resolve('reclaimed')).toBe('already_resolved');
    expect(await balance()).toBe(before + AMOUNT);
    expect(await state()).toEqual({ status: 'failed', returns: 1 });
  });

  it('is not reclaimed by a discrepancy of another kind', async () => {
    await receive({ status: 'ACSP' }, 'twice');
    await receive({ status: 'RJCT' }, 'twice');
    await receive(BACK);
    const before = await balance();

    expect(await openKinds()).toEqual(['event_reused']);
    expect(await resolve('reclaimed')).toBe('not_applicable');

    expect(await balance()).toBe(before);
    expect(await resolve('dismissed')).toEqual({});
  });

  it('is left to an operator if it was reclaimed before it was returned', async () => {
    const before = await balance();
    await receive(REJECTED);
    await receive(EXECUTED);
    expect(await resolve('reclaimed')).toEqual({ transactionId: expect.any(Number) });

    await receive(BACK);

    expect(await openKinds()).toEqual(['credited_then_rejected']);
    expect(await resolve('returned')).toEqual({ transactionId: expect.any(Number) });
    expect(await balance()).toBe(before + AMOUNT);
  });
});

describe('the database', () => {
  const record = (event: RailEvent) =>
    world.database.write({ workspaces: [NORTH], actorType: 'network' }, [
      ...settlePayments([{ workspaceId: NORTH, transactionId, event }], 'network'),
    ]);

  it('refuses money that is back and is not returned', async () => {
    await receive(ARRIVED);

    await expect(record({ providerEvent: 'back', ...RETURNED })).rejects.toMatchObject({
      code: RULE_VIOLATION.discrepancyMissing,
    });
    expect(await state()).toEqual({ status: 'completed', returns: 0 });
  });

  it('refuses an arrival that says that the money is back', async () => {
    await receive(ARRIVED);

    await expect(record({ providerEvent: 'odd', status: 'ACSC', isReturn: true })).rejects.toMatchObject({
      code: SQLSTATE.checkViolation,
    });
  });

  it('refuses to reclaim what the bank has again', async () => {
    await receive({ status: 'ACSP' }, 'twice');
    await receive({ status: 'RJCT' }, 'twice');
    await receive(RETURNED);
    const { rows } = await world.owner.query<{ id: string }>('select id::text from transaction where return_of = $1', [
      transactionId,
    ]);

    await expect(
      world.owner.query(
        `with again as (
           insert into transaction (workspace_id, status, hash, return_of)
           values ($1, 'completed', decode(repeat('a', 64), 'hex'), $2) returning id)
         update discrepancy d set resolved_at = now(), resolution = 'reclaimed', resolution_transaction_id = a.id
         from again a where d.transaction_id = $3`,
        [NORTH, rows[0]?.id, transactionId],
      ),
    ).rejects.toMatchObject({ code: RULE_VIOLATION.returnWithoutReason });
  });

  it('refuses to settle a discrepancy of a payment that is not returned', async () => {
    await receive({ status: 'RJCT' });
    await receive(ARRIVED);

    await expect(
      world.owner.query(
        `update discrepancy set resolved_at = now(), resolution = 'settled' where transaction_id = ${transactionId}`,
      ),
    ).rejects.toMatchObject({ code: RULE_VIOLATION.discrepancyMissing });
    expect(await openKinds()).toEqual(['rejected_then_credited']);
  });
});
