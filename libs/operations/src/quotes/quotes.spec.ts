import { EventEmitter, once } from 'node:events';
import {
  type AccountId,
  convert,
  type CreateQuoteInput,
  fromBalanceAmount,
  type Order,
  parseTransferAmount,
  type Quote,
  type QuoteId,
  rateOf,
  type RecipientId,
  type TransferAmount,
  type UserId,
  type WorkspaceId,
} from '@banking/domain';
import { SANDBOX_ROUTING } from '@banking/payouts';
import { pipelineChannel, RULE_VIOLATION, SQLSTATE } from '@banking/postgres';
import { reasonOf, sql } from '@banking/postgres/testing';
import { DEMO_RATES, NO_RATES, type RateSource } from '@banking/reference';
import { LedgerBankingService } from '../ledger-banking-service.js';
import {
  expectWellFormed,
  orderWorld,
  type OrderWorld,
  expectBooksInOrder,
  verifyPayments,
} from '../testing/order-world.js';

let usd: AccountId;
let ravi: RecipientId;
let { world, ada, eve, service, account: opened, near, order } = {} as OrderWorld;

beforeAll(async () => {
  ({ world, ada, eve, service, account: opened, near, order } = await orderWorld());
});

afterAll(() => world.close());

const account = (name: string) => world.demo.accounts[name] as AccountId;

describe('quotes', () => {
  beforeAll(async () => {
    service = quoting(DEMO_RATES);
    usd = account('Northwind Trading USD');
    ravi = world.demo.recipients['international'] as RecipientId;
  });

  const quoting = (rates?: RateSource) =>
    new LedgerBankingService(world.database, world.books, { ...(rates && { rates }), rails: SANDBOX_ROUTING });

  const quoteInput = (part: Partial<Record<keyof CreateQuoteInput, unknown>> = {}) =>
    ({ accountID: usd, recipientID: ravi, amount: '250000', ...part }) as CreateQuoteInput;

  const quote = async (part: Partial<Record<keyof CreateQuoteInput, unknown>> = {}) =>
    (await service.createQuote(ada, quoteInput(part))).resource;

  const withoutRecipient = (targetCurrency: string, part: object = {}) => ({
    recipientID: undefined,
    targetCurrency,
    ...part,
  });

  /** A source with scripted responses that counts its calls. */
  function toldSource() {
    const told = { asked: 0, isDown: false };
    const rates: RateSource = {
      rateOf: async (from, to) => {
        told.asked += 1;
        return (told.isDown ? NO_RATES : DEMO_RATES).rateOf(from, to);
      },
    };
    return { told, rates };
  }

  describe('a quote of a payment abroad', () => {
    it('shows rate, fee and arriving amount, and is stored as shown', async () => {
      const given = await quote();

      expectWellFormed(given);
      expect(given).toMatchObject({
        amount: '250000',
        rate: '83',
        feeAmount: '600',
        targetAmount: '20750000',
        edges: { account: { id: usd }, recipient: { id: ravi }, targetCurrency: { code: 'INR' } },
      });
      expect(Date.parse(given.expiresAt) - Date.parse(given.createdAt!)).toBe(300_000);
      expect(await service.getQuote(ada, { quoteId: given.id })).toEqual(given);
    });

    it.each([
      ['limited', 1_000],
      ['unlimited', undefined],
    ])('takes three round trips with a key where their number is %s', async (_what, openMax) => {
      const limited = new LedgerBankingService(world.database, world.books, {
        ...{ rates: DEMO_RATES, rails: SANDBOX_ROUTING, openMax },
      });
      // The first one reads the reference data and draws ids.
      await limited.createQuote(ada, quoteInput());
      const trips: unknown[] = [];
      const note = (message: unknown) => void trips.push(message);
      pipelineChannel.start.subscribe(note);

      const { resource } = await limited
        .createQuote(ada, quoteInput(), { idempotencyKey: `trips-${openMax}` })
        .finally(() => pipelineChannel.start.unsubscribe(note));

      expect(trips).toHaveLength(3);
      expect(await limited.createQuote(ada, quoteInput(), { idempotencyKey: `trips-${openMax}` })).toEqual({
        resource,
        isReplay: true,
      });
    });

    it('stores the shown rate and the remainder if the exact rate has no end', async () => {
      const given = await quote(
        withoutRecipient('JPY', { accountID: account('Northwind Trading EUR'), amount: '12345' }),
      );

      const exact = convert(parseTransferAmount('12345'), rateOf('EUR', 'JPY', given.rate), 'down');
      expect(given).toMatchObject({ rate: '179.06976744186', targetAmount: exact.amount.toString() });
      expect(exact.remainder.numerator).not.toBe(0n);
      const { rows } = await world.owner.query(
        `select rounding, remainder_numerator, remainder_denominator, rate_source, rate_as_of::text from quote where id = $1`,
        [given.id],
      );
      expect(rows).toEqual([
        {
          rounding: 'down',
          remainder_numerator: exact.remainder.numerator.toString(),
          remainder_denominator: exact.remainder.denominator.toString(),
          rate_source: 'Demo rates of this project',
          rate_as_of: expect.stringMatching(/^2026-11-21 00:00:00/) as string,
        },
      ]);
    });

    it('has the rate 1 within a currency, also without a source', async () => {
      const berlin = (await service.listRecipients(ada)).items.find(({ alias }) => alias === 'Berlin office')!;
      const within = { accountID: account('Northwind Trading EUR'), recipientID: berlin.id, amount: '18750' };
      const { resource } = await quoting().createQuote(ada, quoteInput(within));

      expect(resource).toMatchObject({ rate: '1', feeAmount: '0', targetAmount: '18750' });
      expect(await reasonOf(quoting().createQuote(ada, quoteInput()))).toBe('rate_unavailable');
    });

    it.each<[string, object, string]>([
      ['both a recipient and a currency', { targetCurrency: 'INR' }, 'body_malformed'],
      ['neither', { recipientID: undefined }, 'body_malformed'],
      ['an amount of nothing', { amount: '0' }, 'amount_malformed'],
      ['an amount with a point', { amount: '1.5' }, 'amount_malformed'],
      ['more than is stored', { amount: '9223372036854775808' }, 'amount_out_of_range'],
      ['a currency that is none', withoutRecipient('inr'), 'currency_unknown'],
      ['a metal', withoutRecipient('XAU'), 'currency_unknown'],
      ['a currency without a rate', withoutRecipient('GEL'), 'rate_unavailable'],
      ['too little for the corridor', { amount: '999' }, 'amount_below_minimum'],
      ['too much for the corridor', { amount: '5000001' }, 'amount_above_maximum'],
      ['an account that is none', { accountID: 999_999 }, 'account_not_found'],
      ['a recipient that is none', { recipientID: 999_999 }, 'recipient_invalid'],
    ])('is refused for %s, and nothing is stored', async (_, part, word) => {
      const count = async () => (await world.owner.query('select from quote')).rowCount;
      const before = await count();

      expect(await reasonOf(quote(part))).toBe(word);

      expect(await count()).toBe(before);
    });

    it('names both fields if it has neither or both', async () => {
      await expect(service.createQuote(ada, quoteInput({ targetCurrency: 'INR' }))).rejects.toMatchObject({
        details: [{ path: '/recipientID' }, { path: '/targetCurrency' }],
      });
    });

    it('is refused if the account is disabled, the corridor closed or the recipient deleted', async () => {
      await service.changeAccount(ada, { accountId: usd, status: 'disabled' });
      expect(await reasonOf(quote())).toBe('account_disabled');
      await service.changeAccount(ada, { accountId: usd, status: 'enabled' });

      await world.owner.query(`update corridor set enabled = false where destination_country = 'IN'`);
      expect(await reasonOf(quote())).toBe('corridor_disabled');
      expect(await quote(withoutRecipient('INR'))).not.toHaveProperty('feeAmount');
      await world.owner.query(`update corridor set enabled = true where destination_country = 'IN'`);

      const { resource } = await service.addInternalRecipient(ada, { accountCode: 'NW0000000001' });
      await service.deleteRecipient(ada, { recipientId: resource.id });
      expect(await reasonOf(quote({ recipientID: resource.id }))).toBe('recipient_invalid');
    });

    it('is refused if the recipient is the account itself, as an order is', async () => {
      const { accountID } = quoteInput();
      const { code = '' } = await service.getAccount(ada, { accountId: accountID as AccountId });
      const { resource } = await service.addInternalRecipient(ada, { accountCode: code });

      expect(await reasonOf(quote({ recipientID: resource.id }))).toBe('recipient_invalid');
    });

    describe('for an account of the service', () => {
      const most = String(Number.MAX_SAFE_INTEGER);
      const more = String(2n ** 53n);
      const MESSAGE = 'The account of the recipient takes no such payment.';
      let payee: AccountId;

      /** A quote, and an order of 1.00, for a new account of a workspace. */
      async function paying(scope: typeof ada) {
        payee = await opened(1, '0', scope);
        const recipientID = await near(payee, ada, scope);
        return {
          quoteOf: (part: object) => quote({ recipientID, amount: undefined, ...part }),
          order: () => service.placeOrder(ada, order(usd, recipientID)),
        };
      }

      it.each([
        ['its own', () => ada, 'The account of the recipient is disabled. Enable it, or name another recipient.'],
        ['another', () => eve, MESSAGE],
      ] as const)(
        'is refused if that account, of %s workspace, is disabled, as an order is',
        async (_, by, message) => {
          const { quoteOf, order: place } = await paying(by());
          await service.changeAccount(by(), { accountId: payee, status: 'disabled' });
          const refusal = { reason: 'recipient_invalid', message, details: [{ path: '/recipientID' }] };

          await expect(quoteOf({ amount: '100' })).rejects.toMatchObject(refusal);
          await expect(place()).rejects.toMatchObject(refusal);
        },
      );

      it.each([
        ['its own', () => ada, { reason: 'balance_limit_exceeded', details: [{ path: '/recipientID' }] }],
        ['another', () => eve, { reason: 'recipient_invalid', message: MESSAGE }],
      ] as const)('is refused above what that account, of %s workspace, can hold', async (_, by, refusal) => {
        const { quoteOf } = await paying(by());

        await expect(quoteOf({ targetAmount: more })).rejects.toMatchObject(refusal);
        expect(await quoteOf({ targetAmount: most })).toMatchObject({ targetAmount: most });
      });

      it.each([
        ['its own', () => ada, { reason: 'balance_limit_exceeded', details: [{ path: '/recipientID' }] }],
        ['another', () => eve, { reason: 'recipient_invalid', message: MESSAGE }],
      ] as const)(
        'discloses no balance: only an order to a full account of %s workspace is refused',
        async (_, by, refusal) => {
          const { quoteOf, order: place } = await paying(by());
          await service.fundAccount(by(), { accountId: payee, amount: most as TransferAmount });

          expect(await quoteOf({ amount: '100' })).toMatchObject({ targetAmount: '100' });
          await expect(place()).rejects.toMatchObject(refusal);
        },
      );
    });

    it('is given if the account holds less', async () => {
      expect(await quote(withoutRecipient('INR', { amount: '999999999999' }))).toMatchObject({
        targetAmount: '82999999999917',
      });
    });
  });

  describe('a quote of a payment to another workspace', () => {
    it('discloses the arriving currency and nothing else', async () => {
      const { code: accountCode = '' } = await service.getAccount(eve, { accountId: account('Southwind Imports USD') });
      const { resource } = await service.addInternalRecipient(ada, { accountCode });

      const given = await quote({
        accountID: account('Northwind Trading GBP'),
        recipientID: resource.id,
        amount: '75500',
      });

      expect(given).toMatchObject({
        feeAmount: '0',
        targetAmount: '99999',
        edges: { targetCurrency: { code: 'USD' } },
      });
      expect(given.edges.recipient).toEqual(resource);
      expect(JSON.stringify(given)).not.toContain('Southwind');
    });

    it('is not found by another workspace', async () => {
      const given = await quote();

      expect(await reasonOf(service.getQuote(eve, { quoteId: given.id }))).toBe('quote_not_found');
      expect(await reasonOf(service.getQuote(ada, { quoteId: 999_999 as QuoteId }))).toBe('quote_not_found');
      expect(await reasonOf(service.createQuote(eve, quoteInput()))).toBe('account_not_found');
      const own = { accountID: account('Southwind Imports USD') };
      expect(await reasonOf(service.createQuote(eve, quoteInput(own)))).toBe('recipient_invalid');
    });
  });

  describe('a quote with a key', () => {
    it('is returned again without a call of the source', async () => {
      const { told, rates } = toldSource();
      const asking = quoting(rates);
      const first = await asking.createQuote(ada, quoteInput(), { idempotencyKey: 'quote' });
      told.isDown = true;

      const again = await asking.createQuote(ada, quoteInput(), { idempotencyKey: 'quote' });

      expect(again).toEqual({ resource: first.resource, isReplay: true });
      expect(told.asked).toBe(1);
      expect(
        await reasonOf(asking.createQuote(ada, quoteInput({ amount: '250001' }), { idempotencyKey: 'quote' })),
      ).toBe('idempotency_key_reused');
    });

    it('leaves the key free if it is refused', async () => {
      const { told, rates } = toldSource();
      told.isDown = true;
      const options = { idempotencyKey: 'down' };
      expect(await reasonOf(quoting(rates).createQuote(ada, quoteInput(), options))).toBe('rate_unavailable');
      told.isDown = false;

      expect(await quoting(rates).createQuote(ada, quoteInput(), options)).toMatchObject({ isReplay: false });
    });

    it('is given once if another request is committed while this one reads', async () => {
      const options = { idempotencyKey: 'between' };
      const pipeline = world.database.pipeline.bind(world.database) as (
        scope: unknown,
        statements: readonly unknown[],
      ) => Promise<unknown[]>;
      let first: unknown;
      const reading = jest.spyOn(world.database, 'pipeline').mockImplementationOnce((async (
        scope: unknown,
        [find, ...reads]: readonly unknown[],
      ) => {
        const [found] = await pipeline(scope, [find]);
        first = (await service.createQuote(ada, quoteInput(), options)).resource;
        return [found, ...(await pipeline(scope, reads))];
      }) as never);

      const { resource, isReplay } = await service.createQuote(ada, quoteInput(), options);

      expect([resource, isReplay]).toEqual([first, true]);
      reading.mockRestore();
    });

    it('is given once for twenty concurrent requests', async () => {
      const given = await Promise.all(
        Array.from({ length: 20 }, () =>
          service
            .createQuote(ada, quoteInput(), { idempotencyKey: 'race' })
            .catch((error: Error & { reason?: string }) => {
              if (error.reason === undefined) throw error;
              return error.reason;
            }),
        ),
      );

      const ids = given.flatMap((made) => (typeof made === 'string' ? [] : [made.resource.id]));
      expect(new Set(ids).size).toBe(1);
      expect(given.filter((made) => typeof made === 'string' && made !== 'idempotency_in_progress')).toEqual([]);
    });

    it('holds no connection while the source is slow', async () => {
      const [asked, answered] = [new EventEmitter(), new EventEmitter()];
      const slow: RateSource = {
        rateOf: async (from, to) => {
          const answer = once(answered, 'answer');
          asked.emit('asked');
          await answer;
          return DEMO_RATES.rateOf(from, to);
        },
      };
      const question = once(asked, 'asked');
      const waiting = quoting(slow).createQuote(ada, quoteInput(), { idempotencyKey: 'slow' });
      await question;

      const { rows } = await world.owner.query(
        `select from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`,
      );
      expect(rows).toEqual([]);
      answered.emit('answer');
      expect(await waiting).toMatchObject({ isReplay: false });
    });
  });
});

describe('quotes by target amount', () => {
  beforeAll(async () => {
    const workspaceId = world.demo.workspaces['Northwind Trading'] as WorkspaceId;
    ada = { actor: world.demo.users['ada@northwind.example'] as UserId, workspaceId };
    usd = account('Northwind Trading USD');
    ravi = world.demo.recipients['international'] as RecipientId;
  });

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
        `select a.kind, t.type, t.direction, t.amount::text, c.code from leg t
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
      await expectBooksInOrder(world.database, all);
    });
  });

  describe('quotes that a program writes by itself', () => {
    /** 13 US cents for exactly 10.00 rupees, with a remainder of 0.79 rupees. */
    const row = () => ({
      workspace_id: String(ada.workspaceId),
      account_id: String(usd),
      currency_id: '840',
      amount: '13',
      expires_at: `statement_timestamp() + interval '5 minutes'`,
      target_currency_id: '356',
      target_amount: '1000',
      rate: `'83'`,
      rounding: `'down'`,
      fixed_side: `'target'`,
      remainder_numerator: '7900',
      remainder_denominator: '100',
      rate_source: `'spec'`,
      rate_as_of: 'now()',
    });
    const written = (part: Readonly<Record<string, string>>) => {
      const quoted = { ...row(), ...part };
      const text = `insert into quote (${Object.keys(quoted).join()}) values (${Object.values(quoted).join()})`;
      return world.database.pipeline({ workspaces: [ada.workspaceId] }, [sql(text)]);
    };

    it('are accepted if the amount is the smallest that covers the target', async () => {
      await written({});
      await written({ target_amount: '1079', remainder_numerator: '0' });
    });

    it.each<[string, Readonly<Record<string, string>>, string]>([
      [
        'a cent more leave than is needed',
        { amount: '14', remainder_numerator: '16200' },
        RULE_VIOLATION.wrongConversion,
      ],
      ['a cent less leave', { amount: '12', remainder_numerator: '-400' }, SQLSTATE.checkViolation],
      ['a remainder that is none', { remainder_numerator: '7800' }, RULE_VIOLATION.wrongConversion],
      ['a minor unit left over of an amount that is fixed', { fixed_side: `'source'` }, SQLSTATE.checkViolation],
      ['a third side', { fixed_side: `'both'` }, SQLSTATE.checkViolation],
      ['no side', { fixed_side: 'null' }, SQLSTATE.notNullViolation],
    ])('are rejected for %s', async (_, part, code) => {
      await expect(written(part)).rejects.toMatchObject({ code });
    });
  });

  describe('a conversion whose fixed side differs from its quote’s', () => {
    it('is found when payments are verified', async () => {
      const { edges } = await order(await quote());
      const { id } = edges.executions![0]!.edges.transaction!;
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
});
