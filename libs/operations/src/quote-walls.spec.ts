import type { AccountId, Quote, QuoteWish, RecipientId, Scope, UserId, WorkspaceId } from '@banking/domain';
import { LedgerBankingService } from './ledger-banking-service.js';
import { DEMO_RATES } from './rates/demo-rate-source.js';
import { demoWorld, sql } from './testing/worlds.js';

let world: Awaited<ReturnType<typeof demoWorld>>;
let ada: Scope & { workspaceId: WorkspaceId };
let eve: Scope & { workspaceId: WorkspaceId };
let usd: AccountId;
let ravi: RecipientId;

beforeAll(async () => {
  world = await demoWorld();
  const workspace = (name: string) => world.demo.workspaces[name] as WorkspaceId;
  ada = { actor: world.demo.users['ada@northwind.example'] as UserId, workspaceId: workspace('Northwind Trading') };
  eve = { actor: world.demo.users['eve@southwind.example'] as UserId, workspaceId: workspace('Southwind Imports') };
  usd = account('Northwind Trading USD');
  ravi = world.demo.recipients['international'] as RecipientId;
});
afterAll(() => world.close());

const account = (name: string) => world.demo.accounts[name] as AccountId;
const toNobody = (targetCurrency: string) => ({ recipientID: undefined, targetCurrency });
const quote = async (part: object = {}, validS = 300) => {
  const service = new LedgerBankingService(world.database, world.books, { rates: DEMO_RATES, validS });
  const wish = { accountID: usd, recipientID: ravi, amount: '250000', ...part } as QuoteWish;
  return (await service.createQuote(ada, wish)).resource;
};

describe('Given the walls around quotes', () => {
  const scope = () => ({ workspaces: [ada.workspaceId] });
  const send = (text: string, ...values: unknown[]) => world.database.flight(scope(), [sql(text, ...values)]);

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
  /** It holds for a microsecond. */
  const expired = () => quote({}, 0.000_001);

  it('When two orders name one quote at once, Then one of them has it', async () => {
    const given = await quote();
    const orders = [await order(given), await order(given), await order(given)];

    const outcomes = await Promise.allSettled(orders.map((id) => use(given.id, id)));

    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const codes = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [(outcome.reason as { code: string }).code] : [])); // prettier-ignore
    expect(codes).toEqual(['23505', '23505']);
  });

  it('When an order names two quotes, Then it has one', async () => {
    const [one, other] = [await quote(), await quote()];
    const id = await order(one);
    await use(one.id, id);

    await expect(use(other.id, id)).rejects.toMatchObject({ code: '23505' });
  });

  it('When it has expired, Then it cannot be used', async () => {
    const given = await expired();

    await expect(use(given.id, await order(given))).rejects.toMatchObject({ code: 'BK007' });
  });

  it('When it expires while the database transaction of its order runs, Then it can be used: what was read behind the locks holds', async () => {
    const given = await quote();
    const orderId = await order(given);
    await world.owner.query('begin; set local session_replication_role = replica');
    await world.owner.query('update quote set expires_at = statement_timestamp() where id = $1', [given.id]);
    await world.owner.query('set local session_replication_role = origin');

    await world.owner.query('insert into quote_use (workspace_id, quote_id, order_id) values ($1, $2, $3)', [ada.workspaceId, given.id, orderId]); // prettier-ignore

    await world.owner.query('rollback');
  });

  it('When an order is another payment, Then it cannot name the quote', async () => {
    const given = await quote();

    await expect(use(given.id, await order(given, { amount: '250001' }))).rejects.toMatchObject({ code: 'BK007' });
    const eur = account('Northwind Trading EUR');
    await expect(use(given.id, await order(given, { account: eur }))).rejects.toMatchObject({ code: 'BK007' });
    await expect(use(given.id, 999_999)).rejects.toMatchObject({ code: '23503' });
    await use(given.id, await order(given));
  });

  it('When it was given to nobody, Then an order to anybody may name it', async () => {
    const given = await quote(toNobody('INR'));

    await use(given.id, await order(given));
  });

  it('When another workspace reads it, uses it or writes its own there, Then it cannot', async () => {
    const given = await quote();
    const orderId = await order(given);
    const theirs = { workspaces: [eve.workspaceId] };
    const uses = sql('insert into quote_use (workspace_id, quote_id, order_id) values ($1, $2, $3)', ada.workspaceId, given.id, orderId); // prettier-ignore
    const own = sql('insert into quote_use (workspace_id, quote_id, order_id) values ($1, $2, $3)', eve.workspaceId, given.id, orderId); // prettier-ignore

    expect(await world.database.flight(theirs, [sql('select id from quote')])).toEqual([[]]);
    expect(await world.database.flight({}, [sql('select id from quote')])).toEqual([[]]);
    await expect(world.database.flight(theirs, [uses])).rejects.toMatchObject({ code: expect.stringMatching(/^(42501|BK007)$/) as string }); // prettier-ignore
    await expect(world.database.flight(theirs, [own])).rejects.toMatchObject({ code: '23503' });
    await use(given.id, orderId);
    expect(await world.database.flight(theirs, [sql('select quote_id from quote_use')])).toEqual([[]]);
  });

  it.each([
    `update quote set rate = '84'`,
    `update quote set expires_at = expires_at + interval '1 hour'`,
    'delete from quote',
    'truncate quote',
    'update quote_use set order_id = order_id',
    'delete from quote_use',
  ])('When a program tries to %s, Then it may not', async (text) => {
    await expect(send(text)).rejects.toMatchObject({ code: '42501' });
  });

  it('When the owner itself tries, Then what holds and what was used stays, and what expired unused goes', async () => {
    const [holding, used, over] = [await quote(), await quote(), await expired()];
    await use(used.id, await order(used));
    const remove = (id: number) => world.owner.query('delete from quote where id = $1', [id]);

    await expect(remove(holding.id)).rejects.toMatchObject({ code: 'BK003' });
    await expect(remove(used.id)).rejects.toMatchObject({ code: 'BK003' });
    expect(await remove(over.id)).toMatchObject({ rowCount: 1 });
    await expect(world.owner.query('delete from quote_use')).rejects.toMatchObject({ code: 'BK003' });
    await expect(world.owner.query(`update quote set rate = '84' where id = $1`, [used.id])).rejects.toMatchObject({ code: 'BK003' }); // prettier-ignore
  });

  /** A quote of 100.00 USD as 8300.00 rupees, as a program would write it, with something else in it. */
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

  it('When a program writes one by itself that adds up, Then the database takes it', async () => {
    await written({});
    await written({
      target_amount: '829999',
      remainder_numerator: '33',
      remainder_denominator: '100',
      rate: `'82.999933'`,
    });
  });

  it.each<[string, Readonly<Record<string, string>>, string]>([
    ['more arrive', { target_amount: '830001' }, 'BK006'],
    ['another rate', { rate: `'83.000001'` }, 'BK006'],
    ['a remainder that is none', { remainder_numerator: '1' }, 'BK006'],
    ['a whole unit left over', { target_amount: '829999', remainder_numerator: '100' }, '23514'],
    ['more arrive than was paid in', { target_amount: '830001', remainder_numerator: '-100' }, '23514'],
    ['nothing arrive', { target_amount: '0' }, '23514'],
    ['nothing leave', { amount: '0' }, '23514'],
    ['a rate below zero', { rate: `'-83'` }, '23514'],
    ['a rate as a float', { rate: `'8.3e1'` }, '23514'],
    ['no source for a conversion', { rate_source: 'null', rate_as_of: 'null' }, '23514'],
    ['a source for none', { target_currency_id: '840', target_amount: '10000', rate: `'1'` }, '23514'],
    ['another rate than one within a currency', { target_currency_id: '840', target_amount: '20000', rate: `'2'`, rate_source: 'null', rate_as_of: 'null' }, '23514'], // prettier-ignore
    ['another rounding', { rounding: `'up'` }, '23514'],
    ['the rounding of before', { rounding: `'half-even'` }, '23514'],
    ['sixteen digits of a rate', { rate: `'83.00000000000001'`, remainder_numerator: '1', remainder_denominator: '100000000' }, '23514'], // prettier-ignore
    ['no end', { expires_at: `'infinity'` }, '23514'],
    ['an end before it began', { expires_at: `statement_timestamp() - interval '1 second'` }, '23514'],
    ['a beginning of its own', { created_at: `statement_timestamp() - interval '1 hour'` }, 'BK006'],
    ['a fee to nobody', { fee_amount: '600' }, '23514'],
    ['a fee below zero', { recipient_id: '2', fee_amount: '-1' }, '23514'],
    ['another currency than the account has', { currency_id: '978' }, '23503'],
    ['another currency than the recipient has', { recipient_id: '3', fee_amount: '0' }, '23503'],
    ['another workspace', { workspace_id: '3' }, '42501'],
  ])('When a program lets there be %s, Then the database refuses it', async (_, part, code) => {
    await expect(written(part)).rejects.toMatchObject({ code });
  });
});
