import {
  fromBalanceAmount,
  type AccountId,
  type Created,
  type RecipientId,
  type TransferAmount,
} from '@banking/domain';
import { openBooks } from '@banking/ledger';
import { API_ROLE, type Database, SCHEMA } from '@banking/postgres';
import { Interleaving, reasonOf, testOrProve, type CommitFate, openDatabase } from '@banking/postgres/testing';
import * as fc from 'fast-check';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { orderWorld, type OrderWorld } from '../testing/order-world.js';
import { ORDER_OF_RECORD } from '../orders/order-answers.js';

const RUNS = testOrProve(60, 500);
const seed = Date.now() & 0x7fffffff;

/** The amounts of orders. The last one is more than the account holds. */
const AMOUNTS = [3, 5, 9_000_000_000] as const;
const TOO_MUCH = 2;

interface Request {
  readonly kind: 'order' | 'account';
  readonly process: number;
  readonly key: 'a' | 'b';
  /** Requests with the same number are equal. Of an order, it is the index of its amount. */
  readonly body: number;
}

/** A request with its response. */
interface Sent extends Request {
  readonly id?: number;
  readonly isReplay?: boolean;
  readonly reason?: string | undefined;
}

const common = { process: fc.nat(1), key: fc.constantFrom<Request['key']>('a', 'a', 'a', 'b') };
const REQUESTS: fc.Arbitrary<readonly Request[]> = fc.array(
  fc.oneof(
    fc.record<Request>({ ...common, kind: fc.constant('order'), body: fc.constantFrom(0, 0, 0, 1, TOO_MUCH) }),
    fc.record<Request>({ ...common, kind: fc.constant('account'), body: fc.constantFrom(0, 0, 0, 1) }),
  ),
  { minLength: 2, maxLength: 5 },
);
/** Most runs lose no COMMIT. */
const FATES = fc.oneof(
  { weight: 3, arbitrary: fc.constant<CommitFate[]>([]) },
  {
    weight: 1,
    arbitrary: fc.array(fc.constantFrom<CommitFate>('done', 'lost before', 'lost after'), { maxLength: 3 }),
  },
);

let given: OrderWorld;
let interleaving: Interleaving;
let theirs: Database;
let services: readonly LedgerBankingService[];
let accountId: AccountId;
let recipientID: RecipientId;
let runs = 0;

beforeAll(async () => {
  given = await orderWorld();
  const { world, account, near } = given;
  interleaving = await Interleaving.open(world.connection);
  const limits = { statementTimeoutMs: 20_000, lockTimeoutMs: 20_000, acquireTimeoutMs: 20_000 };
  theirs = await openDatabase({ connection: world.connection, role: API_ROLE, schema: SCHEMA, ...limits });
  services = [world.database, theirs].map((database) => {
    const steps = interleaving.databaseOf(database);
    return new LedgerBankingService(steps, openBooks(steps));
  });
  accountId = await account(1, '1000000');
  recipientID = await near(await account(1, '0'));
});
afterAll(async () => {
  await interleaving.close();
  await theirs.end();
  await given.world.close();
});

function send({ kind, process, key, body }: Request): Promise<Created<{ readonly id: number }>> {
  const service = services[process]!;
  const [run, options] = [`run ${runs}`, { idempotencyKey: `${runs}-${key}` }];
  if (kind === 'account') {
    return service.openAccount(given.ada, { productID: 1 as never, alias: `${run} ${body}` }, options);
  }
  const content = { amount: AMOUNTS[body]!.toString() as TransferAmount, description: run };
  return service.placeOrder(given.ada, { ...given.order(accountId, recipientID), ...content }, options);
}

const sendAll = (requests: readonly Request[]): Promise<Sent[]> =>
  Promise.all(
    requests.map(async (request) => {
      const sending = send(request);
      const reason = await reasonOf(sending);
      if (reason !== undefined) return { ...request, reason };
      const { resource, isReplay } = await sending;
      return { ...request, id: resource.id, isReplay };
    }),
  );

/** What the run created, and the ids that are stored for its keys, such as `order a`. */
async function readRun() {
  const { owner } = given.world;
  const created = await owner.query<Pick<Request, 'kind'> & { id: number; amount: bigint }>(
    `select 'order' as kind, id::int, amount from customer_order where description = $1
     union all select 'account', id::int, 0 from account where alias like $1 || ' %' order by id`,
    [`run ${runs}`],
  );
  const stored = await owner.query<{ name: string; id: number }>(
    `select case split_part(operation, '/', 1) when 'placeOrder' then 'order ' else 'account ' end || right(key, 1) as name,
            coalesce((record ->> 'id')::int, (${ORDER_OF_RECORD})::int) as id
     from idempotency cross join lateral (select answer::jsonb as record) r where key like $1 || '-%'`,
    [runs],
  );
  return { created: created.rows, stored: new Map(stored.rows.map(({ name, id }) => [name, id])) };
}

const readBalance = async () => fromBalanceAmount((await given.balanceOf(accountId)) as number);

const nameOf = ({ kind, key }: Request) => `${kind} ${key}`;

/** The refusals that a request may get beside others with its key. */
function allowedReasons({ kind, body }: Request, others: readonly Request[], fates: readonly CommitFate[]) {
  return [
    // An order waits for the lock of its account instead.
    ...(kind === 'account' && others.length > 0 ? ['idempotency_in_progress'] : []),
    ...(others.some((other) => other.body !== body) ? ['idempotency_key_reused'] : []),
    ...(kind === 'order' && body === TOO_MUCH ? ['insufficient_funds'] : []),
    ...(fates.some((fate) => fate !== 'done') ? ['unavailable', 'outcome_unknown'] : []),
  ];
}

/** The laws of the requests with one key. `id` is that of the stored response. */
function expectOneOutcome(requests: readonly Sent[], id: number | undefined, fates: readonly CommitFate[]): void {
  const [successes, refusals] = [
    requests.filter((sent) => sent.id !== undefined),
    requests.filter((sent) => sent.reason),
  ];
  for (const refused of refusals) {
    const others = requests.filter((sent) => sent !== refused);
    expect(allowedReasons(refused, others, fates)).toContain(refused.reason);
  }
  for (const success of successes) expect(success).toMatchObject({ id, body: successes[0]!.body });
  if (id !== undefined && successes.length === 0)
    expect(refusals.map(({ reason }) => reason)).toContain('outcome_unknown');
  if (fates.some((fate) => fate !== 'done')) return;
  expect(successes.filter(({ isReplay }) => isReplay === false)).toHaveLength(id === undefined ? 0 : 1);
  if (requests.every(({ kind, body }) => kind === 'account' || body !== TOO_MUCH)) expect(id).toBeDefined();
}

describe(`concurrent requests through two processes, with the same keys (seed ${seed})`, () => {
  it('create one resource for each key; the others are replays or refused', async () => {
    const counts: Record<string, number> = {};
    const property = fc.asyncProperty(fc.scheduler(), REQUESTS, FATES, async (scheduler, requests, fates) => {
      runs += 1;
      const before = await readBalance();
      const sent = await interleaving.run(scheduler, () => sendAll(requests), fates);
      const { created, stored } = await readRun();
      expect(created.map(({ id }) => id)).toEqual([...stored.values()].sort((a, b) => a - b));
      const paid = created.reduce((sum, { amount }) => sum + amount, 0n);
      expect(await readBalance()).toBe(before - paid);
      for (const name of new Set(sent.map(nameOf))) {
        expectOneOutcome(
          sent.filter((each) => nameOf(each) === name),
          stored.get(name),
          fates,
        );
      }
      for (const { reason, isReplay } of sent) {
        const outcome = reason ?? (isReplay === true ? 'replay' : 'created');
        counts[outcome] = (counts[outcome] ?? 0) + 1;
      }
    });
    await fc.assert(property, { numRuns: RUNS, seed });
    // Each outcome was compared, so the laws above say something.
    for (const outcome of ['created', 'replay', 'idempotency_in_progress', 'idempotency_key_reused']) {
      expect(counts[outcome]).toBeGreaterThan(0);
    }
    await given.expectInOrder();
  }, 300_000);
});
