import { fromBalanceAmount, type AccountId, type Order, type Quote, type QuoteWish, type RecipientId, type Scope, type UserId, type WorkspaceId } from '@banking/domain'; // prettier-ignore
import { verifyBooks } from '@banking/ledger';
import { LedgerBankingService } from './ledger-banking-service.js';
import { DEMO_RATES } from './rates/demo-rate-source.js';
import { expectWellFormed } from './testing/resources.js';
import { demoWorld, sql, wordOf } from './testing/worlds.js';
import { verifyPayments } from './verify-payments.js';

let world: Awaited<ReturnType<typeof demoWorld>>;
let service: LedgerBankingService;
let ada: Scope & { workspaceId: WorkspaceId; actor: UserId };
let usd: AccountId;
let ravi: RecipientId;

beforeAll(async () => {
  world = await demoWorld();
  service = new LedgerBankingService(world.database, world.books, { rates: DEMO_RATES });
  const workspaceId = world.demo.workspaces['Northwind Trading'] as WorkspaceId;
  ada = { actor: world.demo.users['ada@northwind.example'] as UserId, workspaceId };
  usd = account('Northwind Trading USD');
  ravi = world.demo.recipients['international'] as RecipientId;
});
afterAll(() => world.close());

const account = (name: string) => world.demo.accounts[name] as AccountId;
const wish = (part: object = {}) => ({ accountID: usd, recipientID: ravi, targetAmount: '20000000', ...part }) as QuoteWish; // prettier-ignore
const quote = async (part: object = {}) => (await service.createQuote(ada, wish(part))).resource;
const order = async ({ id: quoteID, amount, edges }: Quote, part: object = {}): Promise<Order> => {
  const placed = {
    accountId: edges.account.id,
    recipientID: edges.recipient?.id ?? ravi,
    amount,
    purposeCode: 'IR001',
  };
  return (await service.placeOrder(ada, { ...placed, type: 'instant', quoteID, ...part })).resource;
};
const rowOf = async (table: string, where: string) =>
  (
    await world.owner.query<Record<string, unknown>>(
      `select fixed_side, rounding, remainder_numerator, remainder_denominator from ${table} where ${where}`,
    )
  ).rows[0];

describe('Given a payment of which is said what is to arrive', () => {
  it('When it is quoted, Then exactly that arrives, for the smallest amount that covers it', async () => {
    const given = await quote();

    expectWellFormed(given);
    // 240963.85 would bring 19,999,999.55 INR.
    expect(given).toMatchObject({ amount: '240964', rate: '83', feeAmount: '582', targetAmount: '20000000' });
    expect(await rowOf('quote', `id = ${given.id}`)).toEqual({ fixed_side: 'target', rounding: 'down', remainder_numerator: '1200', remainder_denominator: '100' }); // prettier-ignore
    expect(await service.getQuote(ada, { quoteId: given.id })).toEqual(given);
  });

  it('When an order names the quote, Then the account pays its amount, the target arrives, and the rest is our position', async () => {
    const given = await quote();

    const { edges } = await order(given);

    const { id } = edges.executions![0]!.edges.transaction!;
    const { rows } = await world.owner.query(
      `select a.kind, t.type, t.direction, t.amount::text, c.code from transfer t
         join account a on (a.workspace_id, a.id) = (t.workspace_id, t.account_id) join currency c on c.id = t.currency_id
       where t.workspace_id = $1 and t.transaction_id = $2 order by t.id`,
      [ada.workspaceId, id],
    );
    expect(rows).toEqual([
      { kind: 'customer', type: 'spot', direction: 'debit', amount: '240964', code: 'USD' },
      { kind: 'fx', type: 'spot', direction: 'credit', amount: '240964', code: 'USD' },
      { kind: 'fx', type: 'spot', direction: 'debit', amount: '20000000', code: 'INR' },
      { kind: 'settlement', type: 'spot', direction: 'credit', amount: '20000000', code: 'INR' },
      { kind: 'customer', type: 'fee', direction: 'debit', amount: '582', code: 'USD' },
      { kind: 'fees', type: 'fee', direction: 'credit', amount: '582', code: 'USD' },
    ]);
    expect(await rowOf('conversion', `transaction_id = ${id}`)).toMatchObject({ fixed_side: 'target', remainder_numerator: '1200' }); // prettier-ignore
    expect(await wordOf(order(given))).toBe('quote_used');
  });

  it('When an order names another amount than the quote has, Then it is another payment', async () => {
    const given = await quote();

    for (const amount of ['240963', '240965', given.targetAmount]) {
      expect(await wordOf(order(given, { amount }))).toBe('quote_not_found');
    }
    await order(given);
  });

  it('When no recipient was named, Then the target arrives at the one the order names', async () => {
    const gbp = await service.getAccount(ada, { accountId: account('Northwind Trading GBP') });
    const { resource: own } = await service.addInternalRecipient(ada, { accountCode: gbp.code! });
    const given = await quote({ recipientID: undefined, targetCurrency: 'GBP', targetAmount: '1001' });
    expect(given).not.toHaveProperty('feeAmount');
    const held = fromBalanceAmount(gbp.edges.balances[0]!.amount);

    const { edges } = await order(given, { recipientID: own.id });

    const { edges: after } = await service.getAccount(ada, { accountId: gbp.id });
    expect(fromBalanceAmount(after.balances[0]!.amount)).toBe(held + 1001n);
    const { transfers } = edges.executions![0]!.edges.transaction!.edges;
    expect(transfers!.map(({ direction, amount }) => [direction, amount])).toEqual([
      ['debit', given.amount],
      ['credit', '1001'],
    ]);
  });

  it('When it stays in the currency of the account, Then as much leaves as arrives', async () => {
    const berlin = (await service.listRecipients(ada)).items.find(({ alias }) => alias === 'Berlin office')!;
    const within = { accountID: account('Northwind Trading EUR'), recipientID: berlin.id, targetAmount: '18750' };

    const given = await quote(within);

    expect(given).toMatchObject({ amount: '18750', targetAmount: '18750', rate: '1' });
    await order(given);
  });

  it('When the account holds less than its amount, Then it is quoted, and the order is refused', async () => {
    const { resource: empty } = await service.openAccount(ada, { productID: 1 as never });
    const given = await quote({ accountID: empty.id });

    expect(await wordOf(order(given))).toBe('insufficient_funds');
  });

  it.each<[string, object, string, readonly string[]]>([
    ['both amounts', { amount: '250000' }, 'body_malformed', ['/amount', '/targetAmount']],
    ['neither amount', { targetAmount: undefined }, 'body_malformed', ['/amount', '/targetAmount']],
    ['a target of nothing', { targetAmount: '0' }, 'amount_malformed', []],
    ['a target with a point', { targetAmount: '1.5' }, 'amount_malformed', []],
    ['less than the corridor takes', { targetAmount: '82917' }, 'amount_below_minimum', ['/targetAmount']],
    ['more than the corridor takes', { targetAmount: '415000001' }, 'amount_above_maximum', ['/targetAmount']],
  ])('When it is quoted for %s, Then it is refused, and nothing is kept', async (_, part, reason, paths) => {
    const count = async () => (await world.owner.query('select from quote')).rowCount;
    const before = await count();

    const refused = service.createQuote(ada, wish(part));

    await expect(refused).rejects.toMatchObject({ reason });
    const { details = [] } = (await refused.catch((error: unknown) => error)) as { details?: { path: string }[] };
    expect(details.map(({ path }) => path)).toEqual(paths);
    expect(await count()).toBe(before);
  });

  it('When the request comes again with its key, Then it is the same quote; by the amount it is another request', async () => {
    const key = { idempotencyKey: 'target' };
    const { resource } = await service.createQuote(ada, wish(), key);

    expect(await service.createQuote(ada, wish(), key)).toEqual({ resource, isReplay: true });
    const other = wish({ targetAmount: undefined, amount: resource.amount });
    expect(await wordOf(service.createQuote(ada, other, key))).toBe('idempotency_key_reused');
  });

  it('When everything has been paid, Then books and payments are proven', async () => {
    const all = Object.values(world.demo.workspaces) as WorkspaceId[];
    expect((await verifyBooks(world.database, all)).findings).toEqual([]);
    expect(await verifyPayments(world.database, all)).toEqual([]);
  });
});

describe('Given a program that writes quotes and conversions by itself', () => {
  /** 13 US cents for exactly 10.00 rupees: 0.79 rupees are left over. */
  const target = { target_currency_id: '356', target_amount: '1000', rate: `'83'`, rounding: `'down'`, fixed_side: `'target'`, remainder_numerator: '7900', remainder_denominator: '100', rate_source: `'spec'`, rate_as_of: 'now()' }; // prettier-ignore
  const rows = {
    quote: () => ({ account_id: String(usd), currency_id: '840', amount: '13', expires_at: `statement_timestamp() + interval '5 minutes'` }),
    conversion: () => ({ transaction_id: String((transactions += 1)), source_currency_id: '840', source_amount: '13' }),
  } as const; // prettier-ignore
  let transactions = 900_000;
  const written = (table: 'quote' | 'conversion', part: Readonly<Record<string, string>>) => {
    const row = { workspace_id: String(ada.workspaceId), ...target, ...rows[table](), ...part };
    const text = `insert into ${table} (${Object.keys(row).join()}) values (${Object.values(row).join()})`;
    return world.database.flight({ workspaces: [ada.workspaceId] }, [sql(text)]);
  };
  const paid = (table: 'quote' | 'conversion', amount: string) => ({ [table === 'quote' ? 'amount' : 'source_amount']: amount }); // prettier-ignore

  describe.each(['quote', 'conversion'] as const)('a %s', (table) => {
    it('When the amount is the smallest that covers the target, Then the database takes it', async () => {
      await written(table, {});
      await written(table, { target_amount: '1079', remainder_numerator: '0' });
    });

    it.each<[string, Readonly<Record<string, string>>, string]>([
      ['a cent more leave than is needed', { ...paid(table, '14'), remainder_numerator: '16200' }, 'BK006'],
      ['a cent less leave', { ...paid(table, '12'), remainder_numerator: '-400' }, '23514'],
      ['a remainder that is none', { remainder_numerator: '7800' }, 'BK006'],
      ['a minor unit left over of an amount that is fixed', { fixed_side: `'source'` }, '23514'],
      ['a third side', { fixed_side: `'both'` }, '23514'],
      ['no side', { fixed_side: 'null' }, '23502'],
    ])('When it lets there be %s, Then the database refuses it', async (_, part, code) => {
      await expect(written(table, part)).rejects.toMatchObject({ code });
    });
  });
});

describe('Given a conversion that says another side than its quote fixed', () => {
  it('When payments are verified, Then it is found', async () => {
    const { edges } = await order(await quote());
    const { id } = edges.executions![0]!.edges.transaction!;
    await world.owner.query('alter table conversion drop constraint conversion_rounds_down');
    await world.owner.query('begin; set local session_replication_role = replica');
    await world.owner.query(`update conversion set fixed_side = 'source' where transaction_id = $1`, [id]);
    await world.owner.query('commit');

    const findings = await verifyPayments(world.database, [ada.workspaceId]);

    expect(findings).toContainEqual({
      check: 'every conversion is what passed through our positions, at its rate',
      workspaceId: ada.workspaceId,
      detail: `the conversion of transaction ${id} does not add up`,
    });
  });
});
