import type { Account, AccountId, CreateQuoteInput, Order } from '@banking/domain';
import { EVE, idOf, type Service } from '../service.js';
import { IN_EUR, type OrderPart, pathsOf, Payer } from './paying.js';
import { faultsIn } from './shapes.js';

/** Instant orders. */
export function ordersContract(provide: () => Service): void {
  const service = provide();
  const ada = new Payer(service);
  const ravi = () => idOf(service.world, 'recipients', 'international');
  const toRavi = (part: OrderPart = {}) => ({
    amount: '250000',
    recipientID: ravi(),
    type: 'instant',
    purposeCode: 'IR002',
    ...part,
  });
  const transactionOf = ({ edges }: Order) => edges.executions?.[0]?.edges.transaction;

  describe('instant orders', () => {
    it('debits amount and fee for an international payment and submits the payout', async () => {
      const { id } = await ada.account('1000000');

      const { status, headers, body } = await ada.send(
        id,
        toRavi({ description: 'Invoice 4711', metadata: { team: 'a' } }),
      );

      const order = body as Order;
      expect(status).toBe(200);
      expect(faultsIn(order, 'Order')).toEqual([]);
      expect(headers.get('location')).toBe(`/accounts/${id}/orders/${order.id}`);
      expect(order).toMatchObject({
        amount: '250000',
        status: 'completed',
        type: 'instant',
        metadata: { team: 'a' },
        edges: { executions: [{ sequence: 1, status: 'pending' }] },
      });
      const transaction = transactionOf(order);
      expect(transaction).toMatchObject({ status: 'pending', edges: { internationalRemittance: { edges: {} } } });
      expect(transaction?.edges?.transfers).toMatchObject([
        {
          type: 'spot',
          direction: 'debit',
          amount: '250000',
          feeAmount: '600',
          purpose: 'IR002',
          description: 'Invoice 4711',
        },
        { type: 'fee', direction: 'debit', amount: '600' },
      ]);
      expect(await ada.balanceOf(id)).toBe('749400');
      expect((await ada.view.transfers.listPage({ accountId: id })).items.map(({ amount }) => amount)).toEqual([
        '600',
        '250000',
        '1000000',
      ]);
    });

    it('returns the same order for a read, except for later network events', async () => {
      const { id } = await ada.account('1000000');
      const { edges: was, ...placed } = (await ada.send(id, toRavi())).body as Order;

      const { edges, ...read } = await ada.view.orders.get(id, placed.id);

      expect(read).toEqual(placed);
      expect(edges.executions?.map((run) => run.id)).toEqual(was.executions?.map((run) => run.id));
    });

    it('executes an order at the price of its quote, and refuses the quote to another order', async () => {
      const { id } = await ada.account('1000000');
      const input = { accountID: id, recipientID: ravi(), amount: '250000' } as CreateQuoteInput;
      const { resource: quote } = await ada.view.quotes.create(input);

      const { body } = await ada.send(id, toRavi({ quoteID: quote.id }));

      expect(body).toMatchObject({
        quoteID: quote.id,
        edges: {
          executions: [{ edges: { transaction: { edges: { transfers: [{ feeAmount: quote.feeAmount }, {}] } } } }],
        },
      });
      expect(await ada.send(id, toRavi({ quoteID: quote.id }))).toMatchObject({
        status: 422,
        body: { reason: 'quote_used' },
      });
      expect(await ada.balanceOf(id)).toBe('749400');
    });

    it('moves both balances at once without a fee between accounts of the workspace', async () => {
      const [from, to] = [await ada.account('1000'), await ada.account()];

      const { body } = await ada.send(from.id, {
        amount: '1000',
        recipientID: await ada.recipientOf(to),
        type: 'instant',
      });

      expect(transactionOf(body as Order)).toMatchObject({
        status: 'completed',
        edges: { transfers: [{ type: 'internal', direction: 'debit' }, { direction: 'credit' }] },
      });
      expect([await ada.balanceOf(from.id), await ada.balanceOf(to.id)]).toEqual(['0', '1000']);
    });

    it('converts both sides in one transaction', async () => {
      const [from, to] = [await ada.account('10000'), await ada.account('0', IN_EUR)];
      const recipientID = await ada.recipientOf(to);
      const { resource: quote } = await ada.view.quotes.create({
        accountID: from.id,
        recipientID,
        amount: '10000',
      } as CreateQuoteInput);

      const { body } = await ada.send(from.id, { amount: '10000', recipientID, type: 'instant', quoteID: quote.id });

      const { transfers = [] } = transactionOf(body as Order)?.edges ?? {};
      expect(transfers.map(({ type, direction, amount }) => [type, direction, amount])).toEqual([
        ['spot', 'debit', '10000'],
        ['spot', 'credit', quote.targetAmount],
      ]);
      expect([await ada.balanceOf(from.id), await ada.balanceOf(to.id)]).toEqual(['0', quote.targetAmount]);
    });

    it('credits an account of another workspace and reveals nothing about it', async () => {
      const eve = new Payer(service, 'Southwind Imports', EVE);
      const [from, theirs] = [await ada.account('1000'), await eve.account('0')];

      const { body, text } = await ada.send(from.id, {
        amount: '400',
        recipientID: await ada.recipientOf(theirs),
        type: 'instant',
      });

      const order = body as Order;
      expect(order).toMatchObject({
        status: 'completed',
        edges: { executions: [{ status: service.hasCrossings === true ? 'pending' : 'completed' }] },
      });
      expect(transactionOf(order)?.edges?.transfers).toHaveLength(1);
      expect(text).not.toMatch(/Southwind|Imports/);
      const status = await ada.finalStatus(from.id, order.id);
      expect(status).toBe('completed');
      expect([await ada.balanceOf(from.id), await eve.balanceOf(theirs.id)]).toEqual(['600', '400']);
    });

    it('replays the response for a repeated idempotency key in any field order, and moves no money', async () => {
      const { id } = await ada.account('1000000');
      const key = { 'Idempotency-Key': `order-${id}` };
      const first = await ada.send(id, toRavi(), key);
      const turned = JSON.stringify(Object.fromEntries(Object.entries(toRavi()).reverse()), undefined, 3);

      const [again, reordered] = [await ada.send(id, toRavi(), key), await ada.send(id, turned, key)];

      for (const { status, text, headers } of [again, reordered]) {
        expect([status, text, headers.get('idempotent-replayed')]).toEqual([200, first.text, 'true']);
        expect(headers.get('location')).toBe(first.headers.get('location'));
      }
      expect(first.headers.has('idempotent-replayed')).toBe(false);
      expect(await ada.send(id, toRavi({ amount: '250001' }), key)).toMatchObject({
        status: 422,
        body: { reason: 'idempotency_key_reused' },
      });
      expect(await ada.balanceOf(id)).toBe('749400');
    });

    it('places one order for concurrent repetitions, which all get its response', async () => {
      const { id } = await ada.account('1000000');

      const responses = await Promise.all(
        Array.from({ length: 6 }, () => ada.send(id, toRavi(), { 'Idempotency-Key': `at-once-${id}` })),
      );

      expect(new Set(responses.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
      expect(responses.filter(({ headers }) => !headers.has('idempotent-replayed'))).toHaveLength(1);
      expect(await ada.balanceOf(id)).toBe('749400');
    });

    it('scopes idempotency keys to the account, and releases a key after a refusal', async () => {
      const [one, other] = [await ada.account('1000'), await ada.account()];
      const key = { 'Idempotency-Key': `orders-${one.id}` };
      const body = { amount: '600', recipientID: await ada.recipientOf(await ada.account()), type: 'instant' };
      expect((await ada.send(one.id, body, key)).status).toBe(200);

      expect(await ada.send(other.id, body, key)).toMatchObject({
        status: 422,
        body: { reason: 'insufficient_funds' },
      });
      await ada.view.sandbox.fund({ accountId: other.id, amount: '600' as never });
      const { status, headers } = await ada.send(other.id, body, key);

      expect([status, headers.has('idempotent-replayed')]).toEqual([200, false]);
    });

    it('executes one of many concurrent orders if the balance covers one', async () => {
      const [from, to] = [await ada.account('1000'), await ada.account()];
      const body = { amount: '600', recipientID: await ada.recipientOf(to), type: 'instant' };

      const responses = await Promise.all(Array.from({ length: 8 }, () => ada.send(from.id, body)));

      expect(responses.map(({ status }) => status).sort()).toEqual([200, 422, 422, 422, 422, 422, 422, 422]);
      expect([await ada.balanceOf(from.id), await ada.balanceOf(to.id)]).toEqual(['400', '600']);
      expect(await ada.ordersOf(from.id)).toHaveLength(1);
    });

    it('ignores method override headers', async () => {
      const { id } = await ada.account('1000000');

      expect((await ada.send(id, toRavi(), { 'X-HTTP-Method-Override': 'DELETE' })).status).toBe(200);
    });

    it('refuses an order from or to a disabled account', async () => {
      const [off, on] = [await ada.account('1000'), await ada.account('1000')];
      const [toOff, toOn] = [await ada.recipientOf(off), await ada.recipientOf(on)];
      await ada.view.accounts.change(off.id, { status: 'disabled' });
      const body = { amount: '1', type: 'instant' };

      expect(await ada.send(off.id, { ...body, recipientID: toOn })).toMatchObject({
        status: 422,
        body: { reason: 'account_disabled' },
      });
      expect(await ada.send(on.id, { ...body, recipientID: toOff })).toMatchObject({
        status: 422,
        body: { reason: 'recipient_invalid' },
      });
      expect(await ada.balanceOf(on.id)).toBe('1000');
    });
  });
}

/** Description, part of the body, status, reason, and the paths of the invalid fields. */
type Refused = [string, () => OrderPart & Record<string, unknown>, number, string, readonly string[]];

const NO_AMOUNTS = [
  '',
  '0',
  '-1',
  '+1',
  '01',
  '1.0',
  '1e3',
  '1,000',
  '1 ',
  ' 1',
  '1\n',
  '0x1',
  '１',
  'Infinity',
  'NaN',
  '1\0',
  `1${'0'.repeat(40)}`,
  100,
  2 ** 53,
  1.5,
  true,
  [],
  ['100'],
  {},
];

/** Refused orders, which write no row and move no money. */
export function refusedOrdersContract(provide: () => Service): void {
  const service = provide();
  const ada = new Payer(service);
  const ravi = () => idOf(service.world, 'recipients', 'international');
  const toRavi = (part: OrderPart = {}) => ({
    amount: '250000',
    recipientID: ravi(),
    type: 'instant',
    purposeCode: 'IR002',
    ...part,
  });

  describe('refused orders', () => {
    let account: Account;
    beforeAll(async () => {
      account = await ada.account('1000000');
    });

    it.each<Refused>([
      ['no amount', () => ({ amount: undefined }), 400, 'amount_malformed', ['/amount']],
      ['null for the amount', () => ({ amount: null }), 400, 'amount_malformed', ['/amount']],
      ...NO_AMOUNTS.map((amount): Refused => [
        `the amount ${JSON.stringify(amount)}`,
        () => ({ amount }),
        400,
        'amount_malformed',
        ['/amount'],
      ]),
      ['more than is stored', () => ({ amount: '9223372036854775808' }), 400, 'amount_out_of_range', ['/amount']],
      ['a unit under the limit', () => ({ amount: '999' }), 422, 'amount_below_minimum', ['/amount']],
      ['a unit over the limit', () => ({ amount: '5000001' }), 422, 'amount_above_maximum', ['/amount']],
      ['all there is, and nothing for the fee', () => ({ amount: '1000000' }), 422, 'insufficient_funds', []],
      ['a recipient as a text', () => ({ recipientID: '2' }), 400, 'body_malformed', ['/recipientID']],
      ['no recipient', () => ({ recipientID: undefined }), 400, 'body_malformed', ['/recipientID']],
      ['an unknown recipient', () => ({ recipientID: 999_999 }), 422, 'recipient_invalid', ['/recipientID']],
      ['no type', () => ({ type: undefined }), 400, 'body_malformed', ['/type']],
      ['another type', () => ({ type: 'express' }), 400, 'body_malformed', ['/type']],
      ['a NUL in the description', () => ({ description: 'a\0b' }), 400, 'body_malformed', ['/description']],
      [
        'two lines of description',
        () => ({ description: 'x\r\nSet-Cookie: a' }),
        400,
        'body_malformed',
        ['/description'],
      ],
      ['a long description', () => ({ description: 'x'.repeat(513) }), 400, 'body_malformed', ['/description']],
      ['no purpose', () => ({ purposeCode: undefined }), 422, 'purpose_code_required', ['/purposeCode']],
      ['no known purpose', () => ({ purposeCode: 'IR999' }), 422, 'purpose_code_invalid', ['/purposeCode']],
      ['an unknown quote', () => ({ quoteID: 999_999 }), 422, 'quote_unusable', ['/quoteID']],
      ['the quote of another account', () => ({ quoteID: 1 }), 422, 'quote_unusable', ['/quoteID']],
      ['metadata that is a list', () => ({ metadata: ['a'] }), 400, 'body_malformed', ['/metadata']],
      ['metadata of numbers', () => ({ metadata: { a: 1 } }), 400, 'body_malformed', ['/metadata']],
      [
        'too much metadata',
        () => ({ metadata: Object.fromEntries(Array.from({ length: 21 }, (_, at) => [`k${at}`, 'v'])) }),
        400,
        'body_malformed',
        ['/metadata'],
      ],
      [
        'the reference of another order',
        () => ({ externalReference: 'FAMILY-1' }),
        422,
        'external_reference_reused',
        ['/externalReference'],
      ],
      ['an id of its own', () => ({ id: 7 }), 400, 'field_unknown', ['/id']],
      ['a fee of its own', () => ({ feeAmount: '0' }), 400, 'field_unknown', ['/feeAmount']],
      ['a rate of its own', () => ({ rate: '1' }), 400, 'field_unknown', ['/rate']],
      ['another account', () => ({ accountId: 2 }), 400, 'field_unknown', ['/accountId']],
      ['an approval', () => ({ approved: true }), 400, 'field_unknown', ['/approved']],
      ['a status', () => ({ status: 'completed' }), 400, 'field_unknown', ['/status']],
      ['a transaction', () => ({ edges: { transaction: { id: 1 } } }), 400, 'field_unknown', ['/edges']],
    ])('refuses %s by name and writes nothing', async (_, part, status, reason, paths) => {
      const response = await ada.send(account.id, toRavi(part()));

      expect(response).toMatchObject({ status, body: { reason } });
      expect(pathsOf(response)).toEqual([...paths]);
      expect(await ada.balanceOf(account.id)).toBe('1000000');
      expect(await ada.ordersOf(account.id)).toEqual([]);
    });

    it('refuses a deleted recipient, one of another workspace and the account itself like an unknown recipient', async () => {
      const personal = new Payer(service, 'Ada personal');
      const theirs = await personal.recipientOf(await personal.account());
      const [deleted, itself] = [await ada.recipientOf(await ada.account()), await ada.recipientOf(account)];
      await ada.view.recipients.delete(deleted);

      for (const recipientID of [theirs, deleted, itself]) {
        expect(await ada.send(account.id, toRavi({ recipientID }))).toMatchObject({
          status: 422,
          body: { reason: 'recipient_invalid' },
        });
      }
      const comparable = ({ body }: { body: unknown }) => ({ ...(body as object), requestId: '' });
      expect(comparable(await ada.send(account.id, toRavi({ recipientID: theirs })))).toEqual(
        comparable(await ada.send(account.id, toRavi({ recipientID: 999_999 }))),
      );
    });

    it('gives one response for an unknown account and an account of another workspace', async () => {
      const southwind = idOf(service.world, 'accounts', 'Southwind Imports USD') as AccountId;
      const comparable = ({ status, body }: { status: number; body: unknown }) => ({
        status,
        ...(body as object),
        requestId: '',
      });

      const [theirs, unknown] = [await ada.send(southwind, toRavi()), await ada.send(999_999, toRavi())];

      expect(theirs).toMatchObject({ status: 404, body: { reason: 'account_not_found' } });
      expect(comparable(theirs)).toEqual(comparable(unknown));
    });
  });
}
