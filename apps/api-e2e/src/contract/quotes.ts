import {
  convert,
  type CurrencyCode,
  inverse,
  parseTransferAmount,
  type Quote,
  type CreateQuoteInput,
  rateOf,
} from '@banking/domain';
import { EVE, type Service } from '../service.js';
import { idOf } from '../world.js';
import { quoteRequests } from './quote-requests.js';
import { faultsIn } from './shapes.js';

export function quotesContract(provide: () => Service): void {
  const service = provide();
  const { account, usd, recipient, client, view, send, toRavi, inCurrency } = quoteRequests(service);

  describe('quotes', () => {
    it('quotes an international payment at its Location', async () => {
      const { status, headers, body } = await send(toRavi());

      const quote = body as Quote;
      expect(status).toBe(201);
      expect(faultsIn(quote, 'Quote')).toEqual([]);
      expect(quote).toMatchObject({
        amount: '250000',
        rate: '83',
        feeAmount: '600',
        targetAmount: '20750000',
        edges: { account: { id: usd() }, recipient: { id: recipient() }, targetCurrency: { code: 'INR' } },
      });
      expect(Date.parse(quote.expiresAt) - Date.parse(quote.createdAt ?? '')).toBe(300_000);
      expect(headers.get('location')).toBe(`/quotes/${quote.id}`);
      expect(await view().quotes.get(quote.id)).toEqual(quote);
    });

    it.each([
      ['Northwind Trading USD', 'KWD', '700'],
      ['Northwind Trading EUR', 'JPY', '12345'],
      ['Northwind Trading JPY', 'EUR', '7'],
      ['Northwind Trading KWD', 'IDR', '1'],
      ['Northwind Trading GBP', 'GBP', '9223372036854775807'],
    ])('quotes amounts from %s in %s that the caller can recompute', async (from, to, amount) => {
      const { body } = await send(inCurrency(to, { accountID: account(from), amount }));

      const { amount: paid, rate, targetAmount, edges, ...quote } = body as Quote;
      const code = edges.account.edges.currency.code as CurrencyCode;
      const exact = rateOf(code, edges.targetCurrency.code as CurrencyCode, rate);
      expect(convert(parseTransferAmount(paid), exact, 'down').amount.toString()).toBe(targetAmount);
      expect(quote).not.toHaveProperty('feeAmount');
      expect(edges).not.toHaveProperty('recipient');
    });

    it.each([
      ['Northwind Trading USD', 'INR', '1000'],
      ['Northwind Trading USD', 'KWD', '701'],
      ['Northwind Trading EUR', 'JPY', '12345'],
      ['Northwind Trading JPY', 'EUR', '7'],
      ['Northwind Trading KWD', 'IDR', '1'],
      ['Northwind Trading GBP', 'GBP', '9223372036854775807'],
    ])('quotes from %s an exact target in %s for the smallest amount', async (from, to, targetAmount) => {
      const { resource } = await view().quotes.create({
        accountID: account(from),
        targetCurrency: to,
        targetAmount,
      } as CreateQuoteInput);

      expect(faultsIn(resource, 'Quote')).toEqual([]);
      expect(resource.targetAmount).toBe(targetAmount);
      const code = resource.edges.account.edges.currency.code as CurrencyCode;
      const exact = inverse(rateOf(code, to as CurrencyCode, resource.rate));
      expect(convert(parseTransferAmount(resource.targetAmount), exact, 'up').amount.toString()).toBe(resource.amount);
    });

    it('executes an order with a quote of a target amount', async () => {
      const body = toRavi({ amount: undefined, targetAmount: '20000000' });
      const { resource: quote } = await view().quotes.create(body as CreateQuoteInput);
      expect(quote).toMatchObject({ amount: '240964', feeAmount: '582', targetAmount: '20000000' });
      const paid = {
        accountId: usd() as never,
        recipientID: recipient() as never,
        type: 'instant',
        purposeCode: 'IR001',
        quoteID: quote.id,
      } as const;

      await expect(view().orders.place({ ...paid, amount: '240965' as never })).rejects.toMatchObject({
        reason: 'quote_unusable',
      });
      const { resource: order } = await view().orders.place({ ...paid, amount: quote.amount });

      const { transfers } = order.edges.executions![0]!.edges.transaction!.edges;
      expect(transfers!.map(({ type, amount }) => [type, amount])).toEqual([
        ['spot', '240964'],
        ['fee', '582'],
      ]);
    });

    it('quotes the credited amount without a fee for an account of another workspace', async () => {
      const eve = client(EVE).workspace(idOf(service.world, 'workspaces', 'Southwind Imports'));
      const [theirs] = (await eve.accounts.listPage()).items;
      const { resource } = await view().recipients.addInternal({ accountCode: theirs?.code ?? '', saved: false });

      const { body, text } = await send({
        accountID: account('Northwind Trading GBP'),
        recipientID: resource.id,
        amount: '75500',
      });

      expect(body).toMatchObject({
        feeAmount: '0',
        targetAmount: '99999',
        edges: { targetCurrency: { code: 'USD' } },
      });
      expect(text).not.toMatch(/Southwind|Main/);
    });

    it('replays the response for a repeated idempotency key and creates no second quote', async () => {
      const key = { 'Idempotency-Key': 'quote-again' };
      const first = await send(toRavi(), key);

      const again = await send(toRavi(), key);

      expect([again.status, again.text, again.headers.get('idempotent-replayed')]).toEqual([201, first.text, 'true']);
      expect(await send(toRavi({ amount: '250001' }), key)).toMatchObject({
        status: 422,
        body: { reason: 'idempotency_key_reused' },
      });
    });
  });
}
