import { RULE_VIOLATION, SQLSTATE } from '@banking/postgres';
import type { AccountId, Quote, CreateQuoteInput, RecipientId } from '@banking/domain';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { DEMO_RATES } from '@banking/rates';
import { sql } from '@banking/postgres/testing';
import { orderWorld, type OrderWorld } from '../testing/order-world.js';
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
    hasPayoutNetwork: true,
    validS,
  });
  const quoteInput = { accountID: usd, recipientID: ravi, amount: '250000', ...part } as CreateQuoteInput;
  return (await service.createQuote(ada, quoteInput)).resource;
};

describe('the constraints of quotes', () => {
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
