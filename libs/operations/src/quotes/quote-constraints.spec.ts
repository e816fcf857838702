import type {
  AccountId,
  CreateQuoteInput,
  CurrencyCode,
  Quote,
  RecipientId,
  Scope,
  UserId,
  WorkspaceId,
} from '@banking/domain';
import { SANDBOX_ROUTING } from '@banking/payouts';
import { API_ROLE, type Database, OPERATOR_ROLE, RULE_VIOLATION, SCHEMA, SQLSTATE } from '@banking/postgres';
import { openDatabase, PlanProbe, reasonOf, sql } from '@banking/postgres/testing';
import { DEMO_RATES } from '@banking/reference';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { PLAN_BY_ORDER } from '../lists/paged-list.js';
import { orderWorld, type OrderWorld } from '../testing/order-world.js';
import { demoDatabase } from '../testing/test-databases.js';
import { COUNT_OPEN_QUOTES } from './quotes.js';

describe('the constraints of quotes', () => {
  let { world, ada, eve } = {} as OrderWorld;
  let usd: AccountId;
  let ravi: RecipientId;

  beforeAll(async () => {
    ({ world, ada, eve } = await orderWorld());
    usd = account('Northwind Trading USD');
    ravi = world.demo.recipients['international'] as RecipientId;
  });

  afterAll(() => world.close());

  const account = (name: string) => world.demo.accounts[name] as AccountId;
  const withoutRecipient = (targetCurrency: string) => ({ recipientID: undefined, targetCurrency });

  const quote = async (part: object = {}, validS = 300) => {
    const service = new LedgerBankingService(world.database, world.books, {
      rates: DEMO_RATES,
      rails: SANDBOX_ROUTING,
      validS,
    });
    const quoteInput = { accountID: usd, recipientID: ravi, amount: '250000', ...part } as CreateQuoteInput;
    return (await service.createQuote(ada, quoteInput)).resource;
  };

  // The constraints bind every role that could write.
  beforeAll(() => world.owner.query(`grant insert on quote_use to ${OPERATOR_ROLE}`));

  const scope = () => ({ workspaces: [ada.workspaceId] });
  const send = (text: string, ...values: unknown[]) => world.database.pipeline(scope(), [sql(text, ...values)]);

  const order = async ({ amount, edges }: Quote, part: Partial<Record<'amount' | 'account', unknown>> = {}) => {
    const { rows } = await world.owner.query<{ id: string }>(
      `insert into customer_order (workspace_id, account_id, recipient_id, amount, type, status)
       values ($1, $2, $3, $4, 'instant', 'active') returning id`,
      [ada.workspaceId, part.account ?? edges.account.id, edges.recipient?.id ?? ravi, part.amount ?? amount],
    );
    return Number(rows[0]!.id);
  };
  const use = (quoteId: number, orderId: number, workspaceId: number = ada.workspaceId) =>
    send('insert into quote_use (workspace_id, quote_id, order_id) values ($1, $2, $3)', workspaceId, quoteId, orderId);
  /** A quote that is valid for a microsecond. */
  const expired = () => quote({}, 0.000_001);

  it('let one of two concurrent orders use a quote', async () => {
    const given = await quote();
    const orders = [await order(given), await order(given), await order(given)];
    const outcomes = await Promise.allSettled(orders.map((id) => use(given.id, id)));

    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const codes = outcomes.flatMap((outcome) =>
      outcome.status === 'rejected' ? [(outcome.reason as { code: string }).code] : [],
    );
    expect(codes).toEqual([SQLSTATE.uniqueViolation, SQLSTATE.uniqueViolation]);
  });

  it('let an order use one quote', async () => {
    const [one, other] = [await quote(), await quote()];
    const id = await order(one);
    await use(one.id, id);

    await expect(use(other.id, id)).rejects.toMatchObject({ code: SQLSTATE.uniqueViolation });
  });

  it('do not let an expired quote be used', async () => {
    const given = await expired();

    await expect(use(given.id, await order(given))).rejects.toMatchObject({ code: RULE_VIOLATION.quoteUnusable });
  });

  it('let a quote be used that expires during the database transaction of its order', async () => {
    const given = await quote();
    const orderId = await order(given);
    await world.owner.query('begin; set local session_replication_role = replica');
    await world.owner.query('update quote set expires_at = statement_timestamp() where id = $1', [given.id]);
    await world.owner.query('set local session_replication_role = origin');

    await world.owner.query('insert into quote_use (workspace_id, quote_id, order_id) values ($1, $2, $3)', [
      ada.workspaceId,
      given.id,
      orderId,
    ]);

    await world.owner.query('rollback');
  });

  it('do not let the order of another payment use the quote', async () => {
    const given = await quote();

    await expect(use(given.id, await order(given, { amount: '250001' }))).rejects.toMatchObject({
      code: RULE_VIOLATION.quoteUnusable,
    });
    const eur = account('Northwind Trading EUR');
    await expect(use(given.id, await order(given, { account: eur }))).rejects.toMatchObject({
      code: RULE_VIOLATION.quoteUnusable,
    });
    await expect(use(given.id, 999_999)).rejects.toMatchObject({ code: SQLSTATE.foreignKeyViolation });
    await use(given.id, await order(given));
  });

  it('let any order use a quote without a recipient', async () => {
    const given = await quote(withoutRecipient('INR'));

    await use(given.id, await order(given));
  });

  it('do not let another workspace read, use or write a quote', async () => {
    const given = await quote();
    const orderId = await order(given);
    const theirs = { workspaces: [eve.workspaceId] };
    const uses = sql(
      'insert into quote_use (workspace_id, quote_id, order_id) values ($1, $2, $3)',
      ada.workspaceId,
      given.id,
      orderId,
    );
    const own = sql(
      'insert into quote_use (workspace_id, quote_id, order_id) values ($1, $2, $3)',
      eve.workspaceId,
      given.id,
      orderId,
    );

    expect(await world.database.pipeline(theirs, [sql('select id from quote')])).toEqual([[]]);
    expect(await world.database.pipeline({}, [sql('select id from quote')])).toEqual([[]]);
    await expect(world.database.pipeline(theirs, [uses])).rejects.toMatchObject({
      code: expect.stringMatching(`^(${SQLSTATE.insufficientPrivilege}|${RULE_VIOLATION.quoteUnusable})$`) as string,
    });
    await expect(world.database.pipeline(theirs, [own])).rejects.toMatchObject({ code: SQLSTATE.foreignKeyViolation });
    await use(given.id, orderId);
    expect(await world.database.pipeline(theirs, [sql('select quote_id from quote_use')])).toEqual([[]]);
  });

  it.each([
    `update quote set rate = '84'`,
    `update quote set expires_at = expires_at + interval '1 hour'`,
    'delete from quote',
    'truncate quote',
    'update quote_use set order_id = order_id',
    'delete from quote_use',
  ])('do not let the app %s', async (text) => {
    await expect(send(text)).rejects.toMatchObject({ code: SQLSTATE.insufficientPrivilege });
  });

  it('do not let the owner change valid or used quotes, only delete expired unused ones', async () => {
    const [holding, used, over] = [await quote(), await quote(), await expired()];
    await use(used.id, await order(used));
    const remove = (id: number) => world.owner.query('delete from quote where id = $1', [id]);

    await expect(remove(holding.id)).rejects.toMatchObject({ code: RULE_VIOLATION.recordChanged });
    await expect(remove(used.id)).rejects.toMatchObject({ code: RULE_VIOLATION.recordChanged });
    expect(await remove(over.id)).toMatchObject({ rowCount: 1 });
    await expect(world.owner.query('delete from quote_use')).rejects.toMatchObject({
      code: RULE_VIOLATION.recordChanged,
    });
    await expect(world.owner.query(`update quote set rate = '84' where id = $1`, [used.id])).rejects.toMatchObject({
      code: RULE_VIOLATION.recordChanged,
    });
  });

  /** A quote of 100.00 USD to 8300.00 rupees with changed columns, as another program could write it. */
  const written = (part: Readonly<Record<string, string>>) => {
    const row: Readonly<Record<string, string>> = {
      workspace_id: String(ada.workspaceId),
      account_id: String(usd),
      currency_id: '840',
      amount: '10000',
      target_currency_id: '356',
      target_amount: '830000',
      rate: `'83'`,
      rate_source: `'spec'`,
      rate_as_of: 'now()',
      rounding: `'down'`,
      remainder_numerator: '0',
      remainder_denominator: '100',
      expires_at: `statement_timestamp() + interval '5 minutes'`,
      ...part,
    };
    return send(`insert into quote (${Object.keys(row).join()}) values (${Object.values(row).join()})`);
  };

  it('accept a quote that adds up from any program', async () => {
    await written({});
    await written({
      target_amount: '829999',
      remainder_numerator: '33',
      remainder_denominator: '100',
      rate: `'82.999933'`,
    });
  });

  it.each<[string, Readonly<Record<string, string>>, string]>([
    ['too high a target', { target_amount: '830001' }, RULE_VIOLATION.wrongConversion],
    ['another rate', { rate: `'83.000001'` }, RULE_VIOLATION.wrongConversion],
    ['a wrong remainder', { remainder_numerator: '1' }, RULE_VIOLATION.wrongConversion],
    ['a whole unit left over', { target_amount: '829999', remainder_numerator: '100' }, SQLSTATE.checkViolation],
    [
      'more that arrives than is paid in',
      { target_amount: '830001', remainder_numerator: '-100' },
      SQLSTATE.checkViolation,
    ],
    ['nothing that arrives', { target_amount: '0' }, SQLSTATE.checkViolation],
    ['nothing that leaves', { amount: '0' }, SQLSTATE.checkViolation],
    ['a rate below zero', { rate: `'-83'` }, SQLSTATE.checkViolation],
    ['a rate as a float', { rate: `'8.3e1'` }, SQLSTATE.checkViolation],
    ['no source for a conversion', { rate_source: 'null', rate_as_of: 'null' }, SQLSTATE.checkViolation],
    ['a source for none', { target_currency_id: '840', target_amount: '10000', rate: `'1'` }, SQLSTATE.checkViolation],
    [
      'another rate than one within a currency',
      { target_currency_id: '840', target_amount: '20000', rate: `'2'`, rate_source: 'null', rate_as_of: 'null' },
      SQLSTATE.checkViolation,
    ],
    ['another rounding', { rounding: `'up'` }, SQLSTATE.checkViolation],
    ['the earlier rounding', { rounding: `'half-even'` }, SQLSTATE.checkViolation],
    [
      'sixteen digits of a rate',
      { rate: `'83.00000000000001'`, remainder_numerator: '1', remainder_denominator: '100000000' },
      SQLSTATE.checkViolation,
    ],
    ['no end', { expires_at: `'infinity'` }, SQLSTATE.checkViolation],
    [
      'an end before its beginning',
      { expires_at: `statement_timestamp() - interval '1 second'` },
      SQLSTATE.checkViolation,
    ],
    [
      'a beginning of its own',
      { created_at: `statement_timestamp() - interval '1 hour'` },
      RULE_VIOLATION.wrongConversion,
    ],
    ['a fee without a recipient', { fee_amount: '600' }, SQLSTATE.checkViolation],
    ['a fee below zero', { recipient_id: '2', fee_amount: '-1' }, SQLSTATE.checkViolation],
    ['another currency than the account has', { currency_id: '978' }, SQLSTATE.foreignKeyViolation],
    ['another currency than the recipient has', { recipient_id: '3', fee_amount: '0' }, SQLSTATE.foreignKeyViolation],
    ['another workspace', { workspace_id: '3' }, SQLSTATE.insufficientPrivilege],
  ])('reject a quote with %s', async (_, part, code) => {
    await expect(written(part)).rejects.toMatchObject({ code });
  });
});

describe('open quote limit', () => {
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
    other = await openDatabase({ connection: world.connection, role: API_ROLE, schema: SCHEMA });
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
    new LedgerBankingService(database, world.books, { rates: DEMO_RATES, rails: SANDBOX_ROUTING, validS, openMax });

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
});
