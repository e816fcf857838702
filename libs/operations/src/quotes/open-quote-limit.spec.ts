import type { AccountId, CurrencyCode, Quote, CreateQuoteInput, Scope, UserId, WorkspaceId } from '@banking/domain';
import { APP_ROLE, type Database, SCHEMA } from '@banking/postgres';
import { PlanProbe, reasonOf, openDatabase } from '@banking/postgres/testing';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { PLAN_BY_ORDER } from '../lists/paged-list.js';
import { COUNT_OPEN_QUOTES } from './quotes.js';
import { DEMO_RATES } from '@banking/rates';
import { demoDatabase } from '../testing/test-databases.js';

const EXPIRED = 100_000;
const MAX = 5;

let world: Awaited<ReturnType<typeof demoDatabase>>;
let ada: Scope & { workspaceId: WorkspaceId };
let eve: Scope & { workspaceId: WorkspaceId };
let other: Database;
const account = (name: string) => world.demo.accounts[name] as AccountId;

beforeAll(async () => {
  world = await demoDatabase();
  const { users, workspaces } = world.demo;
  ada = {
    actor: users['ada@northwind.example'] as UserId,
    workspaceId: workspaces['Northwind Trading'] as WorkspaceId,
  };
  eve = {
    actor: users['eve@southwind.example'] as UserId,
    workspaceId: workspaces['Southwind Imports'] as WorkspaceId,
  };
  other = await openDatabase({ connection: world.connection, role: APP_ROLE, schema: SCHEMA });
});
afterEach(async () => {
  await world.owner.query('set session_replication_role = replica');
  await world.owner.query('delete from quote_use');
  await world.owner.query('delete from quote');
  await world.owner.query('set session_replication_role = origin');
});
afterAll(async () => {
  await other.end();
  await world.close();
});

const quoting = (database = world.database, validS = 300, openMax = MAX) =>
  new LedgerBankingService(database, world.books, { rates: DEMO_RATES, hasPayoutNetwork: true, validS, openMax });
const toRupees = (name = 'Northwind Trading USD'): CreateQuoteInput =>
  ({ accountID: account(name), targetCurrency: 'INR' as CurrencyCode, amount: '10000' }) as CreateQuoteInput;
const quote = async (service = quoting()): Promise<Quote> => (await service.createQuote(ada, toRupees())).resource;

/** Creates quotes up to the limit of the workspace. The first one expires first. */
async function full(): Promise<Quote> {
  const first = await quote(quoting(world.database, 60));
  for (let more = 1; more < MAX; more += 1) await quote();
  return first;
}

describe('a workspace at its limit of open quotes', () => {
  it('refuses another until the oldest expires, and leaves the key free', async () => {
    await full();
    const options = { idempotencyKey: 'one-too-many' };

    const refusal = await quoting()
      .createQuote(ada, toRupees(), options)
      .catch((error: unknown) => error);

    expect(refusal).toMatchObject({
      reason: 'rate_limited',
      status: 429,
      message: expect.stringContaining('5 open quotes') as string,
    });
    const { retryAfterSeconds = 0 } = refusal as { retryAfterSeconds?: number };
    expect(retryAfterSeconds).toBeGreaterThan(0);
    expect(retryAfterSeconds).toBeLessThanOrEqual(60);
    expect(await quoting(world.database, 300, MAX + 1).createQuote(ada, toRupees(), options)).toMatchObject({
      isReplay: false,
    });
  });

  it('replays a request with its key', async () => {
    const options = { idempotencyKey: 'the-last' };
    for (let more = 1; more < MAX; more += 1) await quote();
    const { resource } = await quoting().createQuote(ada, toRupees(), options);

    expect(await quoting().createQuote(ada, toRupees(), options)).toEqual({ resource, isReplay: true });
  });

  it('does not count those of another workspace', async () => {
    await full();

    expect(await quoting().createQuote(eve, toRupees('Southwind Imports USD'))).toMatchObject({ isReplay: false });
  });

  it('does not count one that an order has used', async () => {
    const first = await full();
    const { rows } = await world.owner.query<{ id: string }>(
      `insert into customer_order (workspace_id, account_id, recipient_id, amount, type, status)
       values ($1, $2, $3, 10000, 'instant', 'active') returning id`,
      [ada.workspaceId, first.edges.account.id, world.demo.recipients['international']],
    );
    await world.owner.query('insert into quote_use (workspace_id, quote_id, order_id) values ($1, $2, $3)', [
      ada.workspaceId,
      first.id,
      rows[0]!.id,
    ]);

    expect(await quote()).toMatchObject({ amount: '10000' });
    expect(await reasonOf(quote())).toBe('rate_limited');
  });

  it('does not count one that has expired', async () => {
    const first = await full();
    await world.owner.query('set session_replication_role = replica');
    await world.owner.query(
      "update quote set created_at = now() - interval '1 hour', expires_at = now() - interval '1 minute' where id = $1",
      [first.id],
    );
    await world.owner.query('set session_replication_role = origin');

    expect(await quote()).toMatchObject({ amount: '10000' });
    expect(await reasonOf(quote())).toBe('rate_limited');
  });
});

describe('two processes that quote for one workspace at once', () => {
  it('create no more than the limit together', async () => {
    const [one, two] = [quoting(), quoting(other)];

    const outcomes = await Promise.all(
      Array.from({ length: 24 }, (_, index) => reasonOf(quote(index % 2 === 0 ? one : two))),
    );

    expect(outcomes.filter((word) => word === undefined)).toHaveLength(MAX);
    expect(new Set(outcomes)).toEqual(new Set([undefined, 'rate_limited']));
  });
});

describe(`a workspace with ${EXPIRED} used and expired quotes`, () => {
  it('counts the open ones without reading the others', async () => {
    await full();
    await world.owner.query('set session_replication_role = replica');
    await world.owner.query(
      `insert into quote (workspace_id, account_id, currency_id, amount, target_currency_id, target_amount, rate, rate_source, rate_as_of,
                          rounding, remainder_numerator, remainder_denominator, created_at, expires_at)
       select $1, $2, 840, 1, 356, 83, '83', 'spec', now(), 'down', 0, 1,
              now() - interval '1 day' - n * interval '1 s', now() - interval '1 day' - n * interval '1 s' + interval '5 min'
       from generate_series(1, $3::int) n`,
      [ada.workspaceId, account('Northwind Trading USD'), EXPIRED],
    );
    await world.owner.query(
      'insert into quote_use (workspace_id, quote_id, order_id) select workspace_id, id, id from quote where expires_at < now()',
    );
    await world.owner.query('set session_replication_role = origin');
    const probe = await PlanProbe.open(world, COUNT_OPEN_QUOTES, 'bigint', PLAN_BY_ORDER.statement);

    const { buffers, filtered } = await probe.cost(String(ada.workspaceId), [ada.workspaceId]);
    await probe.close();

    expect(filtered).toBe(0);
    expect(buffers).toBeLessThan(60);
    expect(await reasonOf(quote())).toBe('rate_limited');
  });
});
