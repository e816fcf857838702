import type { Order, CreateQuoteInput } from '@banking/domain';
import { EVE, type Service } from '../service.js';
import { idOf } from '../world.js';
import { IN_EUR, type OrderPart, Payer } from './paying.js';
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
