import {
  fromBalanceAmount,
  type AccountId,
  type Order,
  type Quote,
  type CreateQuoteInput,
  type RecipientId,
  type Scope,
  type UserId,
  type WorkspaceId,
} from '@banking/domain';
import { RULE_VIOLATION, SQLSTATE } from '@banking/postgres';
import { verifyBooks } from '@banking/ledger';
import { expectWellFormed, verifyPayments } from '../testing/order-world.js';
import { sql, reasonOf } from '@banking/postgres/testing';
import { orderWorld, type OrderWorld } from '../testing/order-world.js';
let { world, service } = {} as OrderWorld;
let ada: Scope & { workspaceId: WorkspaceId; actor: UserId };
let usd: AccountId;
let ravi: RecipientId;

beforeAll(async () => {
  ({ world, service } = await orderWorld());
  const workspaceId = world.demo.workspaces['Northwind Trading'] as WorkspaceId;
  ada = { actor: world.demo.users['ada@northwind.example'] as UserId, workspaceId };
  usd = account('Northwind Trading USD');
  ravi = world.demo.recipients['international'] as RecipientId;
});
afterAll(() => world.close());

const account = (name: string) => world.demo.accounts[name] as AccountId;
const quoteInput = (part: object = {}) =>
  ({ accountID: usd, recipientID: ravi, targetAmount: '20000000', ...part }) as CreateQuoteInput;
const quote = async (part: object = {}) => (await service.createQuote(ada, quoteInput(part))).resource;
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

describe('a quote by target amount', () => {
  it('has exactly that target, for the smallest amount that covers it', async () => {
    const given = await quote();

    expectWellFormed(given);
    // 240963.85 USD convert to 19,999,999.55 INR.
    expect(given).toMatchObject({ amount: '240964', rate: '83', feeAmount: '582', targetAmount: '20000000' });
    expect(await rowOf('quote', `id = ${given.id}`)).toEqual({
      fixed_side: 'target',
      rounding: 'down',
      remainder_numerator: '1200',
      remainder_denominator: '100',
    });
    expect(await service.getQuote(ada, { quoteId: given.id })).toEqual(given);
  });

  it('is paid by an order with its amount, and leaves the remainder on the fx account', async () => {
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
    expect(await rowOf('conversion', `transaction_id = ${id}`)).toMatchObject({
      fixed_side: 'target',
      remainder_numerator: '1200',
    });
    expect(await reasonOf(order(given))).toBe('quote_used');
  });

  it('is another payment than an order with another amount', async () => {
    const given = await quote();

    for (const amount of ['240963', '240965', given.targetAmount]) {
      expect(await reasonOf(order(given, { amount }))).toBe('quote_unusable');
    }
    await order(given);
  });

  it('without a recipient has its target arrive at the recipient of the order', async () => {
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

  it('has equal amounts within a currency', async () => {
    const berlin = (await service.listRecipients(ada)).items.find(({ alias }) => alias === 'Berlin office')!;
    const within = { accountID: account('Northwind Trading EUR'), recipientID: berlin.id, targetAmount: '18750' };

    const given = await quote(within);

    expect(given).toMatchObject({ amount: '18750', targetAmount: '18750', rate: '1' });
    await order(given);
  });

  it('is given if the account holds too little, and its order is refused', async () => {
    const { resource: empty } = await service.openAccount(ada, { productID: 1 as never });
    const given = await quote({ accountID: empty.id });

    expect(await reasonOf(order(given))).toBe('insufficient_funds');
  });

  it.each<[string, object, string, readonly string[]]>([
    ['both amounts', { amount: '250000' }, 'body_malformed', ['/amount', '/targetAmount']],
    ['neither amount', { targetAmount: undefined }, 'body_malformed', ['/amount', '/targetAmount']],
    ['a target of nothing', { targetAmount: '0' }, 'amount_malformed', []],
    ['a target with a point', { targetAmount: '1.5' }, 'amount_malformed', []],
    ['less than the corridor takes', { targetAmount: '82917' }, 'amount_below_minimum', ['/targetAmount']],
    ['more than the corridor takes', { targetAmount: '415000001' }, 'amount_above_maximum', ['/targetAmount']],
  ])('is refused for %s, and nothing is stored', async (_, part, reason, paths) => {
    const count = async () => (await world.owner.query('select from quote')).rowCount;
    const before = await count();

    const refused = service.createQuote(ada, quoteInput(part));

    await expect(refused).rejects.toMatchObject({ reason });
    const { details = [] } = (await refused.catch((error: unknown) => error)) as { details?: { path: string }[] };
    expect(details.map(({ path }) => path)).toEqual(paths);
    expect(await count()).toBe(before);
  });

  it('is the same for a retry with its key, and conflicts with a request by amount', async () => {
    const key = { idempotencyKey: 'target' };
    const { resource } = await service.createQuote(ada, quoteInput(), key);

    expect(await service.createQuote(ada, quoteInput(), key)).toEqual({ resource, isReplay: true });
    const other = quoteInput({ targetAmount: undefined, amount: resource.amount });
    expect(await reasonOf(service.createQuote(ada, other, key))).toBe('idempotency_key_reused');
  });

  it('leaves books and payments without findings', async () => {
    const all = Object.values(world.demo.workspaces) as WorkspaceId[];
    expect((await verifyBooks(world.database, all)).findings).toEqual([]);
    expect(await verifyPayments(world.database, all)).toEqual([]);
  });
});

describe('quotes and conversions that a program writes by itself', () => {
  /** 13 US cents for exactly 10.00 rupees, with a remainder of 0.79 rupees. */
  const target = {
    target_currency_id: '356',
    target_amount: '1000',
    rate: `'83'`,
    rounding: `'down'`,
    fixed_side: `'target'`,
    remainder_numerator: '7900',
    remainder_denominator: '100',
    rate_source: `'spec'`,
    rate_as_of: 'now()',
  };
  const rows = {
    quote: () => ({
      account_id: String(usd),
      currency_id: '840',
      amount: '13',
      expires_at: `statement_timestamp() + interval '5 minutes'`,
    }),
    conversion: () => ({ transaction_id: String((transactions += 1)), source_currency_id: '840', source_amount: '13' }),
  } as const;
  let transactions = 900_000;
  const written = (table: 'quote' | 'conversion', part: Readonly<Record<string, string>>) => {
    const row = { workspace_id: String(ada.workspaceId), ...target, ...rows[table](), ...part };
    const text = `insert into ${table} (${Object.keys(row).join()}) values (${Object.values(row).join()})`;
    return world.database.pipeline({ workspaces: [ada.workspaceId] }, [sql(text)]);
  };
  const paid = (table: 'quote' | 'conversion', amount: string) => ({
    [table === 'quote' ? 'amount' : 'source_amount']: amount,
  });

  describe.each(['quote', 'conversion'] as const)('a %s', (table) => {
    it('are accepted if the amount is the smallest that covers the target', async () => {
      await written(table, {});
      await written(table, { target_amount: '1079', remainder_numerator: '0' });
    });

    it.each<[string, Readonly<Record<string, string>>, string]>([
      [
        'a cent more leave than is needed',
        { ...paid(table, '14'), remainder_numerator: '16200' },
        RULE_VIOLATION.wrongConversion,
      ],
      ['a cent less leave', { ...paid(table, '12'), remainder_numerator: '-400' }, SQLSTATE.checkViolation],
      ['a remainder that is none', { remainder_numerator: '7800' }, RULE_VIOLATION.wrongConversion],
      ['a minor unit left over of an amount that is fixed', { fixed_side: `'source'` }, SQLSTATE.checkViolation],
      ['a third side', { fixed_side: `'both'` }, SQLSTATE.checkViolation],
      ['no side', { fixed_side: 'null' }, SQLSTATE.notNullViolation],
    ])('are rejected for %s', async (_, part, code) => {
      await expect(written(table, part)).rejects.toMatchObject({ code });
    });
  });
});

describe('a conversion whose fixed side differs from its quote’s', () => {
  it('is found when payments are verified', async () => {
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
