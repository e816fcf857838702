import { decide, lockAndRead, postReturns, preparePosting, requirePosted, returnEntry } from '@banking/ledger';
import { OPERATOR_ROLE, RULE_VIOLATION, WORKER_ROLE } from '@banking/postgres';
import { plant, sql, until } from '@banking/postgres/testing';
import { type Settlement, settlePayments } from './settle-payments.js';
import { keyOf, NORTH, openWorld, payOut, payoutWorker, SOUTH, work, type World } from './testing/world.js';

let world: World;
let transactionId: number;

beforeAll(async () => {
  world = await openWorld();
});
beforeEach(async () => {
  [transactionId] = (await payOut(world)) as [number];
});
afterAll(() => world.close());

/** As the role, which may do nothing else to the status of a payment. */
const settle = (settlements: readonly Partial<Settlement>[], role = WORKER_ROLE) =>
  world.database.as(role).pipeline(
    { workspaces: [NORTH] },
    settlePayments(
      settlements.map((one) => ({ workspaceId: NORTH, transactionId, ...one })),
      'network',
    ),
  );
const event = (status: string, providerEvent = 'one') => ({ event: { status, providerEvent } });

const plantReturn = () =>
  plant(
    world.owner,
    `insert into transaction (workspace_id, status, hash, return_of) values (${NORTH}, 'completed', decode(repeat('0', 64), 'hex'), ${transactionId})`,
  );

/** As a worker does after its last try. */
const park = async () => {
  await change(`update payout set status = 'submitting', tries = tries + 1 where transaction_id = ${transactionId}`);
  await change(`update payout set status = 'parked', parked_at = now() where transaction_id = ${transactionId}`);
};

const change = (text: string) => world.database.as(WORKER_ROLE).pipeline({ workspaces: [NORTH] }, [sql(text)]);

/** How many sessions wait for a lock. */
async function waiting(): Promise<number> {
  // A database transaction keeps what it has seen of other sessions.
  await world.owner.query('select pg_stat_clear_snapshot()');
  const sessions = `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
  return (await world.owner.query(sessions)).rowCount ?? 0;
}

const stateOf = async () =>
  (
    await world.owner.query(
      `select x.status, p.status as payout, p.reason, (select count(*)::int from work k where k.subject_id = x.id) as work,
              (select array_agg(e.status order by e.id) from remittance_event e where e.transaction_id = x.id) as events
       from transaction x join payout p on p.transaction_id = x.id where x.id = $1`,
      [transactionId],
    )
  ).rows[0];

describe('a payout', () => {
  it.each([WORKER_ROLE, OPERATOR_ROLE])(
    'is completed by its event, with its payout and its work, by %s',
    async (role) => {
      await settle([event('ACSP')], role);
      await settle([{ ...event('ACCC', 'two'), finalStatus: 'completed' }], role);

      expect(await stateOf()).toEqual({
        status: 'completed',
        payout: 'settled',
        reason: null,
        work: 0,
        events: ['ACSP', 'ACCC'],
      });
    },
  );

  it('fails by its event when its money has come back, and while no worker submits it', async () => {
    await plantReturn();
    await settle([{ ...event('RJCT'), finalStatus: 'failed' }]);
    expect(await stateOf()).toMatchObject({ status: 'failed', payout: 'failed', work: 0 });

    [transactionId] = (await payOut(world)) as [number];
    await plantReturn();
    await settle([{ finalStatus: 'failed', reason: 'It cannot leave.' }], OPERATOR_ROLE);
    expect(await stateOf()).toMatchObject({ status: 'failed', reason: 'It cannot leave.', work: 0, events: null });

    [transactionId] = (await payOut(world)) as [number];
    await park();
    await plantReturn();
    await settle([{ finalStatus: 'failed', reason: 'It cannot leave.' }], OPERATOR_ROLE);
    expect(await stateOf()).toMatchObject({ status: 'failed', payout: 'failed', work: 0, events: null });
  });

  it('has an event once, and what the first of it opened', async () => {
    const contradiction = { ...event('PDNG'), discrepancies: ['event_reused'] as const };
    await settle([event('ACSP')]);
    await settle([contradiction]);
    await settle([contradiction]);

    const { rows } = await world.owner.query('select kind from discrepancy where transaction_id = $1', [transactionId]);
    expect(rows).toEqual([{ kind: 'event_reused' }]);
    expect(await stateOf()).toMatchObject({ status: 'pending', events: ['ACSP', 'PDNG'] });
  });
});

describe('the database refuses', () => {
  const COMPLETED = { finalStatus: 'completed' } as const;
  const FAILED = { finalStatus: 'failed' } as const;

  it.each<[string, readonly Partial<Settlement>[]]>([
    ['a payout that is completed without an event', [COMPLETED]],
    ['one that is completed by another event', [{ ...event('ACSP'), ...COMPLETED }]],
    ['one that is completed by its rejection', [{ ...event('RJCT'), ...COMPLETED }]],
    ['one that fails without its return', [{ ...event('RJCT'), ...FAILED }]],
    ['one that fails without event and return', [FAILED]],
    ['a status that is not final', [{ ...event('ACCC'), finalStatus: 'pending' as 'failed' }]],
    ['a final event of a pending payout that does not end it', [event('ACCC')]],
    ['a rejection of a pending payout that does not end it', [event('RJCT')]],
    [
      'a contradiction of what ends it',
      [{ ...event('ACCC'), ...COMPLETED, discrepancies: ['credited_then_rejected'] }],
    ],
    [
      'a contradiction of an event that ends nothing',
      [{ ...event('ACSP'), discrepancies: ['rejected_then_credited'] }],
    ],
    ['a settlement without event and status', [{}]],
    ['two settlements of a payment', [event('ACSP'), event('ACSP', 'two')]],
    ['a transaction that is unknown', [{ transactionId: 999_999_999, ...event('ACSP') }]],
  ])('%s', async (_what, settlements) => {
    const before = await stateOf();

    await expect(settle(settlements)).rejects.toMatchObject({ code: RULE_VIOLATION.wrongSettlement });

    expect(await stateOf()).toEqual(before);
  });

  it('a payout of another workspace than those of the scope', async () => {
    const [elsewhere] = (await payOut(world, { workspaceId: SOUTH })) as [number];

    await expect(
      settle([{ workspaceId: SOUTH, transactionId: elsewhere, ...event('ACCC'), ...COMPLETED }]),
    ).rejects.toMatchObject({ code: RULE_VIOLATION.wrongSettlement });
  });

  it('a payment that is neither payout nor crossing', async () => {
    const { rows } = await world.owner.query<{ id: string }>(
      `select id::text from transaction where workspace_id = ${NORTH} and status = 'completed' order by id limit 1`,
    );
    const completed = Number(rows[0]!.id);
    await plant(world.owner, `update transaction set status = 'pending' where id = ${completed}`);

    for (const given of [event('ACCC'), COMPLETED, { ...event('ACCC'), ...COMPLETED }]) {
      await expect(settle([{ transactionId: completed, ...given }])).rejects.toMatchObject({
        code: RULE_VIOLATION.wrongSettlement,
      });
    }
    await plant(world.owner, `update transaction set status = 'completed' where id = ${completed}`);
  });

  it('a payout that ends twice', async () => {
    await settle([{ ...event('ACCC'), ...COMPLETED }]);
    await plantReturn();

    for (const again of [
      { ...event('ACCC', 'two'), ...COMPLETED },
      { ...event('RJCT'), ...FAILED },
    ]) {
      await expect(settle([again])).rejects.toMatchObject({ code: RULE_VIOLATION.wrongSettlement });
    }
  });

  it('one that fails without an event after a worker began to submit it', async () => {
    expect(await keyOf(world, transactionId)).toMatch(/^payout-/);
    await work(world, payoutWorker(world), 1);
    await plant(world.owner, `update transaction set status = 'pending' where id = ${transactionId}`);
    await plantReturn();

    await expect(settle([FAILED], OPERATOR_ROLE)).rejects.toMatchObject({ code: RULE_VIOLATION.wrongSettlement });
  });

  it.each(['due', 'parked'])('the end without an event of a payout that a network had accepted: %s', async (status) => {
    if (status === 'parked') await park();
    await settle([event('ACSP')]);
    await plantReturn();

    await expect(settle([FAILED], OPERATOR_ROLE)).rejects.toMatchObject({ code: RULE_VIOLATION.wrongSettlement });
  });

  it('the end without an event of a payout that is tried again after it was parked', async () => {
    await park();
    await change(`update payout set status = 'due', parked_at = null where transaction_id = ${transactionId}`);
    await plantReturn();

    await expect(settle([FAILED], OPERATOR_ROLE)).rejects.toMatchObject({ code: RULE_VIOLATION.wrongSettlement });
  });

  it('the end without an event of a payout that a worker has begun meanwhile', async () => {
    await plantReturn();
    await world.owner.query('begin');
    await world.owner.query(
      `update payout set status = 'submitting', tries = tries + 1 where transaction_id = ${transactionId}`,
    );
    const ended = settle([FAILED], OPERATOR_ROLE).catch((error: unknown) => error);
    await until(async () => (await waiting()) > 0);

    await world.owner.query('commit');

    expect(await ended).toMatchObject({ code: RULE_VIOLATION.wrongSettlement });
    expect(await stateOf()).toMatchObject({ status: 'pending', payout: 'submitting' });
  });

  it.each(['settled', 'failed'])('a payout that is %s while its transaction is pending', async (status) => {
    await expect(
      change(`update payout set status = '${status}' where transaction_id = ${transactionId}`),
    ).rejects.toMatchObject({
      code: RULE_VIOLATION.wrongSettlement,
    });
  });

  it('a payout that is begun and not counted', async () => {
    await expect(
      change(`update payout set status = 'submitting' where transaction_id = ${transactionId}`),
    ).rejects.toMatchObject({ code: RULE_VIOLATION.illegalStep });
  });

  it('a contradiction without its discrepancy, also if the scope is left before the commit', async () => {
    await settle([{ ...event('ACCC'), ...COMPLETED }]);
    const [rejection] = settlePayments([{ workspaceId: NORTH, transactionId, ...event('RJCT', 'two') }], 'network');

    for (const last of [`select 1`, `select set_config('app.workspaces', '', true)`]) {
      const written = world.database.as(WORKER_ROLE).pipeline({ workspaces: [NORTH] }, [rejection!, sql(last)]);
      await expect(written).rejects.toMatchObject({ code: RULE_VIOLATION.discrepancyMissing });
    }
  });

  it('a return that resolves the discrepancy of another payout', async () => {
    const [other] = (await payOut(world)) as [number];
    for (const id of [transactionId, other]) await settle([{ transactionId: id, ...event('ACCC'), ...COMPLETED }]);
    const contradiction = { ...event('RJCT', 'two'), discrepancies: ['credited_then_rejected'] as const };
    const resolveWith = async (returnedId: number) => {
      const posting = await preparePosting(world.books, [
        { entries: [await returnEntry(world.database, NORTH, returnedId)] },
      ]);
      return world.database.as(OPERATOR_ROLE).transaction({ workspaces: [NORTH] }, async (tx) => {
        const { context } = await lockAndRead(tx, posting);
        const posted = posting.proposals.flatMap((proposal) => requirePosted(decide(context, proposal)));
        await tx.commit([
          ...settlePayments([{ workspaceId: NORTH, transactionId, ...contradiction }], 'network'),
          ...postReturns(posted),
          sql(`update discrepancy set resolved_at = now(), resolution = 'returned',
                 resolution_transaction_id = ${posted[0]!.id} where transaction_id = ${transactionId}`),
        ]);
      });
    };

    await expect(resolveWith(other)).rejects.toMatchObject({ code: RULE_VIOLATION.returnWithoutReason });
    await expect(resolveWith(transactionId)).resolves.toBeUndefined();
  });
});
