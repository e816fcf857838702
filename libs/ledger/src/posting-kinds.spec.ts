import type { Timestamp } from '@banking/domain';
import { API_ROLE, bind, compositeOf, OPERATOR_ROLE, RULE_VIOLATION, SQLSTATE, WORKER_ROLE } from '@banking/postgres';
import { sql } from '@banking/postgres/testing';
import { preparePosting } from './books.js';
import { decide } from './decide.js';
import { lockAndRead, postDeposits, postPayments, postReturns, postSandboxDeposits } from './post.js';
import { POST_PAYMENTS, posting, postingValues } from './post.js';
import {
  type Conversion,
  type Entry,
  type Leg,
  type PostedTransaction,
  type Proposal,
  requirePosted,
} from './proposal.js';
import { returnEntry } from './return-entry.js';
import {
  account,
  CENTS,
  comeback,
  crossing,
  EUR,
  euros,
  funding,
  holding,
  NORTH,
  openWorld,
  payment,
  payout,
  post,
  proposal,
  SOUTH,
  USD,
  type World,
} from './testing/world.js';

let world: World;
let ada: number;
let bob: number;

beforeAll(async () => {
  world = await openWorld();
  ada = await account(world, '100.00');
  bob = await account(world);
});
afterAll(() => world.close());

type Write = (posted: readonly PostedTransaction[]) => ReturnType<typeof postDeposits>;

/** Writes what was decided on a proposal as a role, with workspaces that it names itself. */
async function writeAs(role: string, write: Write, ...proposals: readonly Proposal[]): Promise<void> {
  const prepared = await preparePosting(world.books, proposals);
  await world.database.as(role).transaction({ workspaces: [NORTH, SOUTH] }, async (tx) => {
    const { context } = await lockAndRead(tx, prepared);
    await tx.commit(write(proposals.flatMap((one) => requirePosted(decide(context, one)))));
  });
}

const leg = (
  account: Leg['account'],
  direction: 'debit' | 'credit',
  amount: string,
  more: Partial<Pick<Leg, 'type' | 'currencyId'>> = {},
) => ({ account, direction, amount: euros(amount), currencyId: EUR, type: 'internal', ...more }) as Leg;

const FORBIDDEN = { code: SQLSTATE.insufficientPrivilege };
const WRONG = { code: RULE_VIOLATION.wrongPosting };

describe('the role of the API', () => {
  it.each([
    [
      'a transaction',
      `insert into transaction (workspace_id, status, hash) values (${NORTH}, 'completed', decode(repeat('a', 64), 'hex'))`,
    ],
    [
      'a transfer',
      `insert into transfer (workspace_id, transaction_id, account_id, currency_id, direction, amount, type) values (${NORTH}, 1, 1, ${EUR}, 'credit', 1, 'funding')`,
    ],
    ['a balance', `update account set balance = balance + 1`],
    ['the status of a transaction', `update transaction set status = 'failed'`],
    ['the evidence for the verification', 'delete from unverified_posting'],
    ['where the verification stands', 'update verification_position set last_id = 0'],
  ])('cannot write %s', async (_what, text) => {
    await expect(world.database.as(API_ROLE).pipeline({ workspaces: [NORTH] }, [sql(text)])).rejects.toMatchObject(
      FORBIDDEN,
    );
  });

  it.each<[string, Write, () => Proposal]>([
    ['a deposit', postDeposits, () => funding(ada, euros('1.00'))],
    ['a deposit of a sandbox', postSandboxDeposits, () => funding(ada, euros('1.00'))],
    ['a return', postReturns, () => comeback(ada, euros('1.00'))],
    [
      'postings of any kind',
      (posted) => [bind(posting('write_books'), ...postingValues(posted))],
      () => funding(ada, euros('1.00')),
    ],
  ])('cannot post %s', async (_what, write, one) => {
    const before = await holding(world, ada);

    await expect(writeAs(API_ROLE, write, one())).rejects.toMatchObject(FORBIDDEN);
    expect(await holding(world, ada)).toEqual(before);
  });

  it('can post a payment between customers, and one that leaves', async () => {
    const before = await holding(world, ada);

    await writeAs(API_ROLE, postPayments, payment(ada, bob, euros('1.00')), payout(ada, euros('2.00'), euros('0.50')));

    expect((await holding(world, ada)).balance).toBe(before.balance - 350n);
  });
});

describe('a posting of payments', () => {
  const SPOT = { type: 'spot' };
  const PAYOUT = { type: 'payout' };
  const DOLLARS = { ...SPOT, currencyId: USD };
  /** A transaction moves money of a customer. This one breaks no rule of payments. */
  const feeOfAda = () => [leg(ada, 'debit', '0.50', { type: 'fee' }), leg('fees', 'credit', '0.50', { type: 'fee' })];
  const spot = (conversion: Conversion | null = CENTS): Proposal =>
    proposal(
      [
        leg(ada, 'debit', '1.00', SPOT),
        leg('fx', 'credit', '1.00', SPOT),
        leg('fx', 'debit', '1.10', DOLLARS),
        leg('settlement', 'credit', '1.10', DOLLARS),
      ],
      { status: 'pending', conversion: conversion ?? undefined },
    );
  it.each<[string, Partial<Conversion>]>([
    ['another rate', { rate: '1.2' }],
    ['a rate that is no decimal', { rate: '1.1e0' }],
    ['a rate of too many digits', { rate: '1.1000000000000000' }],
    ['a remainder that is none', { remainderNumerator: '1' }],
    ['a remainder below nothing', { rate: '1.099', remainderNumerator: '-1', remainderDenominator: '10' }],
    ['a whole minor unit left over of the amount that is fixed', { rate: '1.11', remainderNumerator: '1' }],
    ['more than its target amount needs', { rate: '1.2', remainderNumerator: '10', fixedSide: 'target' }],
    ['a third side', { fixedSide: 'both' as never }],
    ['no side', { fixedSide: null as never }],
    ['no digest', { digest: undefined as never }],
    ['rounding up', { rounding: 'up' as never }],
    ['a rate of an infinite time', { rateAsOf: 'infinity' as Timestamp }],
    ['a source of its rate that turns its text around', { rateSource: 'sp\u202eec' }],
    ['an infinite remainder', { remainderNumerator: '0', remainderDenominator: 'Infinity' }],
    ['parts of a remainder that are no whole numbers', { remainderDenominator: '0.5' }],
  ])('refuses a conversion with %s', async (_what, more) => {
    const before = await holding(world, ada);

    await expect(writeAs(API_ROLE, postPayments, spot({ ...CENTS, ...more }))).rejects.toMatchObject({
      code: RULE_VIOLATION.wrongConversion,
    });
    expect(await holding(world, ada)).toEqual(before);
  });

  it.each<[string, Write, () => Proposal]>([
    ['from a settlement account', postPayments, () => funding(ada, euros('1.00'))],
    ['from a fee account', postPayments, () => proposal([leg('fees', 'debit', '1.00'), leg(ada, 'credit', '1.00')])],
    ['from an fx account', postPayments, () => proposal([leg('fx', 'debit', '1.00'), leg(ada, 'credit', '1.00')])],
    [
      'from another workspace, which gave none',
      postPayments,
      () => ({
        entries: [
          crossing({ workspaceId: SOUTH, account: 0 }, { workspaceId: NORTH, account: ada }, euros('1.00')).entries[1]!,
        ],
      }),
    ],
    [
      'as a return',
      postPayments,
      () => proposal([leg(ada, 'debit', '1.00'), leg(bob, 'credit', '1.00')], { returnOf: 1 }),
    ],
    ['with a conversion without its terms', postPayments, () => spot(null)],
    ['with a conversion of another amount', postPayments, () => spot({ ...CENTS, targetAmount: '220', rate: '2.2' })],
    ['with a conversion into another currency', postPayments, () => spot({ ...CENTS, targetCurrencyId: 356 })],
    [
      'with a conversion that takes nothing',
      postPayments,
      () =>
        proposal([...feeOfAda(), leg('fx', 'debit', '1.10', DOLLARS), leg('settlement', 'credit', '1.10', DOLLARS)], {
          status: 'pending',
          conversion: CENTS,
        }),
    ],
    [
      'with a conversion of a transaction without one',
      postPayments,
      () => proposal([leg(ada, 'debit', '1.00'), leg(bob, 'credit', '1.00')], { conversion: CENTS }),
    ],
    [
      'with a conversion whose second half is a fee, which a return leaves out',
      postPayments,
      () => ({
        entries: spot().entries.map((entry) => ({
          ...entry,
          legs: entry.legs.map((one) => (one.currencyId === USD ? { ...one, type: 'fee' } : one)),
        })),
      }),
    ],
    [
      'as money that comes back',
      postPayments,
      () => proposal([leg(ada, 'debit', '1.00', { type: 'return' }), leg(bob, 'credit', '1.00', { type: 'return' })]),
    ],
    [
      'as a deposit',
      postPayments,
      () => proposal([leg(ada, 'debit', '1.00', { type: 'funding' }), leg(bob, 'credit', '1.00', { type: 'funding' })]),
    ],
    [
      'to another database of a type without a crossing',
      postPayments,
      () =>
        proposal(
          [leg(ada, 'debit', '1.00', { type: 'payout' }), leg('interworkspace', 'credit', '1.00', { type: 'payout' })],
          { status: 'pending' },
        ),
    ],
    [
      'to another database from nothing',
      postPayments,
      () =>
        proposal([...feeOfAda(), leg('interworkspace', 'debit', '1.00'), leg('interworkspace', 'credit', '1.00')], {
          status: 'pending',
        }),
    ],
    [
      'twice, to another database and from it',
      postPayments,
      () => ({
        entries: [
          ...proposal([leg(ada, 'debit', '1.00'), leg('interworkspace', 'credit', '1.00')], { status: 'pending' })
            .entries,
          ...proposal([leg('interworkspace', 'debit', '1.00'), leg(bob, 'credit', '1.00')]).entries,
        ],
      }),
    ],
    [
      'to another database and to a network at once',
      postPayments,
      () =>
        proposal(
          [
            leg(ada, 'debit', '2.00'),
            leg('interworkspace', 'credit', '1.00'),
            leg('settlement', 'credit', '1.00', { type: 'payout' }),
          ],
          { status: 'pending' },
        ),
    ],
    [
      'over a network, completed before it is sent',
      postPayments,
      () => proposal([leg(ada, 'debit', '1.00', PAYOUT), leg('settlement', 'credit', '1.00', PAYOUT)]),
    ],
    [
      'that is pending and leaves by no way',
      postPayments,
      () =>
        proposal([leg(ada, 'debit', '1.00', { type: 'fee' }), leg('fees', 'credit', '1.00', { type: 'fee' })], {
          status: 'pending',
        }),
    ],
    [
      'to a customer before it is completed',
      postPayments,
      () => proposal([leg(ada, 'debit', '1.00'), leg(bob, 'credit', '1.00')], { status: 'pending' }),
    ],
    [
      'that has failed',
      postPayments,
      () => proposal([leg(ada, 'debit', '1.00'), leg(bob, 'credit', '1.00')], { status: 'failed' as never }),
    ],
  ])('refuses money %s', async (_what, write, one) => {
    const before = await holding(world, ada);

    await expect(writeAs(API_ROLE, write, one())).rejects.toMatchObject(WRONG);
    expect(await holding(world, ada)).toEqual(before);
  });

  it.each<[string, Write]>([
    [
      'transfers of an earlier transaction',
      (posted) => [bind(POST_PAYMENTS, [], ...postingValues(posted).slice(1), [], [])],
    ],
    ['a transaction without transfers', (posted) => [bind(POST_PAYMENTS, postingValues(posted)[0], [], [], [])]],
  ])('refuses %s', async (_what, write) => {
    const before = await holding(world, ada);

    await expect(writeAs(API_ROLE, write, payment(ada, bob, euros('1.00')))).rejects.toMatchObject(WRONG);
    expect(await holding(world, ada)).toEqual(before);
  });

  it('takes money from another workspace of the batch, and no more than it gave', async () => {
    const eve = await account(world, '5.00', { workspaceId: SOUTH });
    const [given, taken] = crossing(
      { workspaceId: SOUTH, account: eve },
      { workspaceId: NORTH, account: ada },
      euros('1.00'),
    ).entries;
    const more = crossing({ workspaceId: SOUTH, account: eve }, { workspaceId: NORTH, account: ada }, euros('1.01'))
      .entries[1]!;

    await expect(writeAs(API_ROLE, postPayments, { entries: [given!, more] })).rejects.toMatchObject(WRONG);
    await writeAs(API_ROLE, postPayments, { entries: [given!, taken!] });

    expect((await holding(world, eve)).balance).toBe(400n);
  });

  it('refuses a payout without a payment network', async () => {
    const without = proposal(spot().entries[0]!.legs, { status: 'pending', conversion: CENTS, rail: undefined });

    await expect(writeAs(API_ROLE, postPayments, without)).rejects.toMatchObject({ code: '23502' });
  });

  it('takes a conversion with its row', async () => {
    await expect(writeAs(API_ROLE, postPayments, spot())).resolves.toBeUndefined();
  });
});

describe('a posting of returns', () => {
  let paid: number;
  beforeEach(async () => {
    const [outcome] = await post(world.books, [payout(ada, euros('2.00'), euros('0.50'))]);
    paid = requirePosted(outcome!)[0]!.id;
  });
  const returned = (legs: readonly Leg[]) =>
    proposal(
      legs.map((one) => ({ ...one, type: 'return' })),
      { returnOf: paid },
    );

  it.each<[string, () => Proposal]>([
    ['of nothing', () => comeback(ada, euros('2.00'))],
    ...(['pending', 'failed'] as const).map((status): [string, () => Proposal] => [
      `that is ${status}`,
      () => ({
        entries: returned([leg(ada, 'credit', '2.00'), leg('settlement', 'debit', '2.00')]).entries.map((entry) => ({
          ...entry,
          status: status as 'pending',
        })),
      }),
    ]),
    [
      'of another type',
      () => proposal([leg(ada, 'credit', '2.00'), leg('settlement', 'debit', '2.00')], { returnOf: paid }),
    ],
    [
      'with a conversion',
      () => ({
        entries: returned([leg(ada, 'credit', '2.00'), leg('settlement', 'debit', '2.00')]).entries.map((entry) => ({
          ...entry,
          conversion: CENTS,
        })),
      }),
    ],
    ['of more', () => returned([leg(ada, 'credit', '2.01'), leg('settlement', 'debit', '2.01')])],
    ['of less', () => returned([leg(ada, 'credit', '1.99'), leg('settlement', 'debit', '1.99')])],
    ['to another account', () => returned([leg(bob, 'credit', '2.00'), leg('settlement', 'debit', '2.00')])],
    ['from another account', () => returned([leg(ada, 'credit', '2.00'), leg('fees', 'debit', '2.00')])],
    [
      'in the direction of the payment',
      () => returned([leg(ada, 'debit', '2.00'), leg('settlement', 'credit', '2.00')]),
    ],
    [
      'with the fee',
      () => returned([leg(ada, 'credit', '2.50'), leg('settlement', 'debit', '2.00'), leg('fees', 'debit', '0.50')]),
    ],
    [
      'twice in one transaction',
      () => returned(['1', '2'].flatMap(() => [leg(ada, 'credit', '2.00'), leg('settlement', 'debit', '2.00')])),
    ],
    [
      'of a transaction of another workspace',
      () => ({
        entries: returned([leg(ada, 'credit', '2.00'), leg('settlement', 'debit', '2.00')]).entries.map((entry) => ({
          ...entry,
          returnOf: 999_999,
        })),
      }),
    ],
  ])('refuses one %s', async (_what, one) => {
    const before = await holding(world, ada);

    await expect(writeAs(WORKER_ROLE, postReturns, one())).rejects.toMatchObject(WRONG);
    expect(await holding(world, ada)).toEqual(before);
  });

  it('takes each transfer back but the fee', async () => {
    const before = await holding(world, ada);

    await writeAs(WORKER_ROLE, postReturns, { entries: [await returnEntry(world.database, NORTH, paid)] });

    expect((await holding(world, ada)).balance).toBe(before.balance + 200n);
  });
});

describe('a posting of arrivals', () => {
  const ARRIVALS = posting('post_arrivals', '$3::posted_arrival[]');
  /** With the arrival of a euro on Ada's account, changed. */
  const arriving =
    (change: { amount?: bigint; outcome?: string; transactionId?: number; isMissing?: boolean } = {}): Write =>
    (posted) => {
      const { amount = 100n, outcome = 'accepted', transactionId = posted[0]!.id, isMissing = false } = change;
      const key = [NORTH, SOUTH, transactionId, 'ffffffffffff'];
      const row = compositeOf([...key, `A${ada}`, EUR, amount, outcome, outcome === 'accepted' ? transactionId : null]);
      return [bind(ARRIVALS, ...postingValues(posted), isMissing ? [] : [row])];
    };
  const arrival = (more: Partial<Entry> = {}) =>
    proposal([leg('interworkspace', 'debit', '1.00'), leg(ada, 'credit', '1.00')], more);

  it.each<[string, Write, () => Proposal]>([
    ['without its row', arriving({ isMissing: true }), arrival],
    ['of another amount', arriving({ amount: 99n }), arrival],
    ['that was refused', arriving({ outcome: 'refused' }), arrival],
    ['with the row of another transaction', arriving({ transactionId: 1 }), arrival],
    ['as a return', arriving(), () => arrival({ returnOf: 1 })],
    ['that is pending', arriving(), () => arrival({ status: 'pending' })],
    [
      'from a settlement account',
      arriving(),
      () => proposal([leg('settlement', 'debit', '1.00'), leg(ada, 'credit', '1.00')]),
    ],
    [
      'as a deposit',
      arriving(),
      () => proposal(arrival().entries[0]!.legs.map((one) => ({ ...one, type: 'funding' }))),
    ],
  ])('refuses one %s', async (_what, write, one) => {
    const before = await holding(world, ada);

    await expect(writeAs(WORKER_ROLE, write, one())).rejects.toMatchObject(WRONG);
    expect(await holding(world, ada)).toEqual(before);
  });

  it('takes one with its row, and is no right of the API', async () => {
    await expect(writeAs(API_ROLE, arriving(), arrival())).rejects.toMatchObject(FORBIDDEN);
    await world.owner.query(
      `insert into account_code (code, workspace_id, account_id, currency_id) values ('A${ada}', ${NORTH}, ${ada}, ${EUR})`,
    );
    const before = await holding(world, ada);

    await writeAs(WORKER_ROLE, arriving(), arrival());

    expect((await holding(world, ada)).balance).toBe(before.balance + 100n);
  });
});

describe('a posting of deposits', () => {
  it.each<[string, () => Proposal]>([
    ['from a customer', () => payment(ada, bob, euros('1.00'))],
    ['from a fee account', () => proposal([leg('fees', 'debit', '1.00'), leg(ada, 'credit', '1.00')])],
    ['of another type', () => proposal([leg('settlement', 'debit', '1.00'), leg(ada, 'credit', '1.00')])],
    ['back to a settlement account', () => proposal([leg(ada, 'debit', '1.00'), leg('settlement', 'credit', '1.00')])],
    [
      'that is pending',
      () => ({
        entries: funding(ada, euros('1.00')).entries.map((entry) => ({ ...entry, status: 'pending' as const })),
      }),
    ],
    [
      'with a conversion',
      () => ({ entries: funding(ada, euros('1.00')).entries.map((entry) => ({ ...entry, conversion: CENTS })) }),
    ],
    [
      'that another system submitted',
      () => ({ entries: funding(ada, euros('1.00')).entries.map((entry) => ({ ...entry, isSubmitted: true })) }),
    ],
    [
      'that is a return',
      () => ({ entries: funding(ada, euros('1.00')).entries.map((entry) => ({ ...entry, returnOf: 1 })) }),
    ],
  ])('refuses one %s', async (what, one) => {
    const isTyped = what === 'of another type';
    const entries = one().entries.map((entry) => ({
      ...entry,
      legs: entry.legs.map((each) => ({ ...each, ...(!isTyped && { type: 'funding' }) })),
    }));

    await expect(writeAs(OPERATOR_ROLE, postDeposits, { entries })).rejects.toMatchObject(WRONG);
  });

  it('is the worker’s in a sandbox only', async () => {
    await writeAs(WORKER_ROLE, postSandboxDeposits, funding(ada, euros('1.00')));
    await expect(writeAs(WORKER_ROLE, postDeposits, funding(ada, euros('1.00')))).rejects.toMatchObject(FORBIDDEN);
    await world.owner.query(
      `set session_replication_role = replica; update deployment_mode set is_sandbox = false; set session_replication_role = origin`,
    );

    await expect(writeAs(WORKER_ROLE, postSandboxDeposits, funding(ada, euros('1.00')))).rejects.toMatchObject({
      code: RULE_VIOLATION.sandboxOnly,
    });
    await expect(writeAs(OPERATOR_ROLE, postDeposits, funding(ada, euros('1.00')))).rejects.toMatchObject({
      code: RULE_VIOLATION.notApprovedByOperator,
    });
    await world.owner.query(
      `set session_replication_role = replica; update deployment_mode set is_sandbox = true; set session_replication_role = origin`,
    );
  });
});
