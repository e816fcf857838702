import {
  type AccountId,
  convert,
  type CurrencyCode,
  type LimitTerms,
  minorUnits,
  rateOf,
  type RecipientId,
  type TransferAmount,
  type UserId,
  type WorkspaceId,
} from '@banking/domain';
import { openBooks } from '@banking/ledger';
import { SANDBOX_ROUTING } from '@banking/payouts';
import { API_ROLE, type Database, SCHEMA } from '@banking/postgres';
import { openDatabase, reasonOf, testOrProve } from '@banking/postgres/testing';
import { DEMO_RATES, writtenRate } from '@banking/reference';
import * as fc from 'fast-check';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { addGrants, addWorkspace } from '../provisioning/index.js';
import { type Member, orderWorld, type OrderWorld, verifyPayments } from '../testing/order-world.js';
import { BatchLimits } from './batch-limits.js';

const RUNS = testOrProve(6, 120);
const seed = Date.now() & 0x7fffffff;
const PEOPLE = ['ada@northwind.example', 'bob@northwind.example'];
const ROLES = ['admin', 'member'] as const;
const CURRENCIES = ['USD', 'USD', 'EUR'] as const;

let at: OrderWorld;
let second: Database;
/** Two processes, each with connections of its own. */
let services: readonly LedgerBankingService[];
let workspaces = 0;

beforeAll(async () => {
  at = await orderWorld();
  second = await openDatabase({ connection: at.world.connection, role: API_ROLE, schema: SCHEMA, poolSize: 4 });
  const terms = { rates: DEMO_RATES, rails: SANDBOX_ROUTING };
  services = [at.service, new LedgerBankingService(second, openBooks(second), terms)];
  // Zones of PostgreSQL to the second, so that a day ends while orders are placed.
  await at.world.owner.query('alter table workspace drop constraint workspace_time_zone');
});
afterAll(async () => {
  await second.end();
  await at.world.close();
});

const plannedOrder = fc.record({
  from: fc.nat(2),
  to: fc.nat(1),
  // 1 arrives as 0 in another currency, and is refused.
  amount: fc.integer({ min: 2, max: 600 }),
  service: fc.nat(1),
  by: fc.nat(1),
});
const planned = fc.record({
  limits: fc.array(
    fc.record({
      scope: fc.constantFrom('workspace', 'account', 'role', 'person'),
      subject: fc.nat(1),
      metric: fc.constantFrom('amount', 'amount', 'count'),
      per: fc.constantFrom('order', 'day', 'day', 'month'),
      value: fc.integer({ min: 0, max: 3_000 }),
      currency: fc.constantFrom('USD', 'EUR', 'GBP'),
    }),
    { minLength: 1, maxLength: 5 },
  ),
  /** Orders that are placed at once, and when midnight is, in seconds from now. */
  rounds: fc.array(
    fc.record({
      orders: fc.array(plannedOrder, { minLength: 1, maxLength: 8 }),
      midnightInS: fc.option(fc.integer({ min: -1, max: 1 })),
    }),
    { minLength: 1, maxLength: 4 },
  ),
});
type Plan = typeof planned extends fc.Arbitrary<infer T> ? T : never;
type PlannedOrder = Plan['rounds'][number]['orders'][number];

/** A workspace of its own with two accounts in USD and one in EUR, and two people. */
interface Place {
  readonly members: readonly Member[];
  readonly ids: readonly AccountId[];
  readonly recipients: readonly RecipientId[];
}

async function openPlace(): Promise<Place> {
  const { provisioning, demo } = at.world;
  workspaces += 1;
  const workspace = { app: 'Northwind Treasury', name: `Limited ${workspaces}` };
  const workspaceId = (await addWorkspace(provisioning, 'ops', workspace)) as WorkspaceId;
  for (const [index, email] of PEOPLE.entries()) {
    await addGrants(provisioning, 'ops', { workspaceId, email, roles: [ROLES[index]!] });
  }
  const members = PEOPLE.map((email): Member => ({ workspaceId, actor: demo.users[email] as UserId }));
  const [ada] = members;
  const account = (product: number, amount: string) => at.account(product, amount, ada);
  const ids = [await account(1, '1000000'), await account(1, '1000000'), await account(2, '1000000')];
  const near = async (product: number) => at.near(await account(product, '0'), ada, ada);
  return { members, ids, recipients: [await near(1), await near(2)] };
}

/** The limits of a plan, one of each measure. */
function limitsOf({ limits }: Plan, { ids, members }: Place): LimitTerms[] {
  const all = limits.map(({ scope, subject, metric, per, value, currency }): LimitTerms => ({
    ...{ scope, metric },
    per: metric === 'count' && per === 'order' ? 'day' : per,
    value: String(metric === 'count' ? value % 12 : value),
    ...(metric === 'amount' && { currency }),
    ...(scope === 'account' && { accountID: ids[subject * 2]! }),
    ...(scope === 'role' && { role: ROLES[subject]! }),
    ...(scope === 'person' && { userID: members[subject]!.actor }),
  }));
  const measure = ({ value: _, ...rest }: LimitTerms) => JSON.stringify(rest);
  return [...new Map(all.map((limit) => [measure(limit), limit])).values()];
}

/** Sets local midnight. Zones of POSIX count to the west. */
async function setMidnight({ members: [ada] }: Place, inS: number): Promise<void> {
  const west = (Math.floor(performance.timeOrigin / 1_000 + performance.now() / 1_000) + inS) % 86_400;
  const two = (part: number) => String(Math.floor(part)).padStart(2, '0');
  const zone = `<T>${two(west / 3_600)}:${two((west / 60) % 60)}:${two(west % 60)}`;
  await at.world.owner.query('update workspace set time_zone = $1 where id = $2', [zone, ada!.workspaceId]);
}

/** A payment as the books have it, with the day and the month that it is in. */
interface Paid {
  readonly transaction_id: bigint;
  readonly account_id: bigint;
  readonly amount: bigint;
  readonly currency: CurrencyCode;
  readonly user_id: bigint | null;
  readonly day: string;
  readonly month: string;
}

const paidIn = async (workspaceId: number) =>
  (
    await at.world.owner.query<Paid>(
      `select t.transaction_id, t.account_id, t.amount, c.code as currency, o.placed_by as user_id,
         (t.created_at at time zone w.time_zone)::date::text as day, to_char(t.created_at at time zone w.time_zone, 'YYYY-MM') as month
       from transfer t join workspace w on w.id = t.workspace_id join currency c on c.id = t.currency_id
         join execution e on (e.workspace_id, e.transaction_id) = (t.workspace_id, t.transaction_id)
         join customer_order o on (o.workspace_id, o.id) = (e.workspace_id, e.order_id)
       where t.workspace_id = $1 and t.direction = 'debit' and t.type <> 'fee'`,
      [workspaceId],
    )
  ).rows;

const nowIn = async (workspaceId: number) =>
  (
    await at.world.owner.query<Pick<Paid, 'day' | 'month'>>(
      `select (clock_timestamp() at time zone time_zone)::date::text as day, to_char(clock_timestamp() at time zone time_zone, 'YYYY-MM') as month
       from workspace where id = $1`,
      [workspaceId],
    )
  ).rows[0]!;

/** What an order counts towards a limit. */
async function worth({ metric, currency }: LimitTerms, amount: bigint, from: CurrencyCode): Promise<bigint> {
  if (metric === 'count') return 1n;
  const to = currency as CurrencyCode;
  if (from === to) return amount;
  const rate = writtenRate(await DEMO_RATES.rateOf(from, to))!;
  return convert(minorUnits(amount), rateOf(from, to, rate), 'up').amount;
}

function isOf(limit: LimitTerms, { members }: Place, accountId: number, placedBy: number): boolean {
  switch (limit.scope) {
    case 'account':
      return limit.accountID === accountId;
    case 'role':
      return members[ROLES.indexOf(limit.role as 'admin')]!.actor === placedBy;
    case 'person':
      return limit.userID === placedBy;
    default:
      return true;
  }
}

/** An order with the reason of its refusal. */
type Outcome = readonly [order: PlannedOrder, reason: string | undefined];

/**
 * What is wrong: a payment of the round in a period that is above its limit, or a refusal although the order fits all limits at the end of
 * the round. A period that another time zone makes may be above its limit, and takes no payment then.
 */
async function faultsOf(
  limits: readonly LimitTerms[],
  place: Place,
  round: readonly Outcome[],
  paidBefore: ReadonlySet<bigint>,
  times: readonly Pick<Paid, 'day' | 'month'>[],
): Promise<string[]> {
  const paid = await paidIn(place.members[0]!.workspaceId);
  const faults: string[] = [];
  const sums = new Map<LimitTerms, Map<string, bigint>>();
  for (const limit of limits) {
    const ofLimit = new Map<string, bigint>();
    const inRound = new Set<string>();
    for (const [index, one] of paid.entries()) {
      if (!isOf(limit, place, Number(one.account_id), Number(one.user_id))) continue;
      const key = limit.per === 'order' ? `order ${index}` : one[limit.per as 'day' | 'month'];
      if (!paidBefore.has(one.transaction_id)) inRound.add(key);
      ofLimit.set(key, (ofLimit.get(key) ?? 0n) + (await worth(limit, one.amount, one.currency)));
    }
    for (const [key, sum] of ofLimit) {
      if (inRound.has(key) && sum > BigInt(limit.value))
        faults.push(`${JSON.stringify(limit)} is exceeded by ${sum} in ${key}`);
    }
    sums.set(limit, ofLimit);
  }
  for (const [order, reason] of round) {
    if (reason === undefined) continue;
    let mayBeRefused = false;
    for (const limit of limits) {
      if (!isOf(limit, place, place.ids[order.from]!, place.members[order.by]!.actor)) continue;
      const counted = await worth(limit, BigInt(order.amount), CURRENCIES[order.from]!);
      const keys = limit.per === 'order' ? ['none'] : times.map((time) => time[limit.per as 'day' | 'month']);
      mayBeRefused ||= keys.some((key) => (sums.get(limit)?.get(key) ?? 0n) + counted > BigInt(limit.value));
    }
    if (reason !== 'limit_exceeded' || !mayBeRefused)
      faults.push(`${JSON.stringify(order)} was refused with ${reason}`);
  }
  return faults;
}

/** Carries out a plan, and returns what is wrong, and how many orders were refused. */
async function carryOut(plan: Plan): Promise<{ faults: string[]; refused: number; findings: string[] }> {
  const place = await openPlace();
  const { members, ids, recipients } = place;
  const [ada] = members;
  const limits = limitsOf(plan, place);
  await at.service.replaceLimits(ada!, { version: 0, limits });
  const faults: string[] = [];
  let refused = 0;
  for (const { orders, midnightInS } of plan.rounds) {
    if (midnightInS !== null) await setMidnight(place, midnightInS);
    const begun = await nowIn(ada!.workspaceId);
    const paidBefore = new Set((await paidIn(ada!.workspaceId)).map((paid) => paid.transaction_id));
    const round = await Promise.all(
      orders.map(async (order): Promise<Outcome> => {
        const amount = String(order.amount) as TransferAmount;
        const input = at.order(ids[order.from]!, recipients[order.to]!, { amount });
        return [order, await reasonOf(services[order.service]!.placeOrder(members[order.by]!, input, at.key()))];
      }),
    );
    refused += round.filter(([, reason]) => reason !== undefined).length;
    faults.push(...(await faultsOf(limits, place, round, paidBefore, [begun, await nowIn(ada!.workspaceId)])));
  }
  const findings = await verifyPayments(at.world.database, [ada!.workspaceId]);
  return { faults, refused, findings: findings.map(({ detail }) => detail) };
}

/** One limit, and orders over two processes that exceed it. */
const ONE_LIMIT: Plan = {
  limits: [{ scope: 'workspace', subject: 0, metric: 'amount', per: 'day', value: 1_000, currency: 'USD' }],
  rounds: [0, 1, 2].map(() => ({
    orders: [0, 1, 0, 1].map((service, from) => ({ from: from % 2, to: 0, amount: 300, service, by: 0 })),
    midnightInS: null,
  })),
};

describe(`limits (seed ${seed})`, () => {
  it('are never exceeded, and refuse nothing that they allow, over two processes', async () => {
    let refusals = 0;
    await fc.assert(
      fc.asyncProperty(planned, async (plan) => {
        const { faults, refused, findings } = await carryOut(plan);
        refusals += refused;
        expect([...faults, ...findings]).toEqual([]);
      }),
      { numRuns: RUNS, seed, endOnFailure: true, examples: [[ONE_LIMIT]] },
    );
    expect(refusals).toBeGreaterThan(0);
  }, 300_000);
});

describe('a planted gap', () => {
  afterEach(async () => {
    jest.restoreAllMocks();
    await at.world.owner.query('alter table unverified_posting enable trigger payment_guard');
  });

  it('in TypeScript is closed by the database, and found because it refuses', async () => {
    jest.spyOn(BatchLimits.prototype, 'refusalOf').mockReturnValue(undefined);
    const rejected = jest.spyOn(at.world.database, 'transaction');

    const { faults, findings } = await carryOut(ONE_LIMIT);

    expect([...faults, ...findings]).toEqual([]);
    const codes = await Promise.all(
      rejected.mock.results.map(({ value }) =>
        (value as Promise<unknown>).then(
          () => undefined,
          (error: { code?: string }) => error.code,
        ),
      ),
    );
    expect(codes).toContain('BK026');
  });

  it('in the database is found by the law and by the verification', async () => {
    await at.world.owner.query('alter table unverified_posting disable trigger payment_guard');

    const { faults, findings } = await carryOut(ONE_LIMIT);

    expect(faults).not.toEqual([]);
    expect(findings).toContainEqual(expect.stringMatching(/^limit \d+ has counted 0 since/));
  });
});
