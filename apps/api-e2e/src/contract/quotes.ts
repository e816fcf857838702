import { BankingClient } from '@banking/client';
import {
  convert,
  type CreateQuoteInput,
  type CurrencyCode,
  inverse,
  parseTransferAmount,
  type Quote,
  rateOf,
} from '@banking/domain';
import { sendRequest } from '../responses.js';
import { ADA, EVE, idOf, type Service } from '../service.js';
import { faultsIn } from './shapes.js';
import { DATA } from './recipients.js';

/** Requests for quotes by Ada, who pays from the accounts of Northwind Trading. */
function quoteRequests(service: Service) {
  const workspace = () => idOf(service.world, 'workspaces', 'Northwind Trading');
  const account = (name: string) => idOf(service.world, 'accounts', name);
  const usd = () => account('Northwind Trading USD');
  const recipient = () => idOf(service.world, 'recipients', 'international');
  const client = (as = ADA) => new BankingClient({ baseUrl: service.url, token: () => service.tokenOf(as) });
  const view = () => client().workspace(workspace());
  const send = (body: unknown, headers: Record<string, string> = {}) =>
    sendRequest(service, '/quotes', { as: ADA, workspace: workspace(), body, headers });
  const toRavi = (part: object = {}) => ({ accountID: usd(), recipientID: recipient(), amount: '250000', ...part });
  const inCurrency = (targetCurrency: unknown, part: object = {}) => ({
    accountID: usd(),
    targetCurrency,
    amount: '250000',
    ...part,
  });
  return { account, usd, recipient, client, view, send, toRavi, inCurrency };
}

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

/** Quotes that the service refuses, and the limits of their amounts. */
export function refusedQuotesContract(provide: () => Service): void {
  const service = provide();
  const { account, usd, client, view, send, toRavi, inCurrency } = quoteRequests(service);

  describe('quotes', () => {
    it.each<[string, () => unknown, number, string, readonly string[]]>([
      [
        'neither recipient nor currency',
        () => ({ accountID: usd(), amount: '1' }),
        400,
        'body_malformed',
        ['/recipientID', '/targetCurrency'],
      ],
      ['both', () => toRavi({ targetCurrency: 'INR' }), 400, 'body_malformed', ['/recipientID', '/targetCurrency']],
      ['neither amount', () => toRavi({ amount: undefined }), 400, 'body_malformed', ['/amount', '/targetAmount']],
      ['both amounts', () => toRavi({ targetAmount: '1' }), 400, 'body_malformed', ['/amount', '/targetAmount']],
      [
        'a target of nothing',
        () => toRavi({ amount: undefined, targetAmount: '0' }),
        400,
        'amount_malformed',
        ['/targetAmount'],
      ],
      [
        'a target that is a number',
        () => toRavi({ amount: undefined, targetAmount: 1 }),
        400,
        'amount_malformed',
        ['/targetAmount'],
      ],
      [
        'a target beyond what is stored',
        () => toRavi({ amount: undefined, targetAmount: '9223372036854775808' }),
        400,
        'amount_out_of_range',
        ['/targetAmount'],
      ],
      [
        'a target that costs more than is stored',
        () =>
          inCurrency('GBP', {
            accountID: account('Northwind Trading JPY'),
            amount: undefined,
            targetAmount: '9223372036854775807',
          }),
        400,
        'amount_out_of_range',
        ['/targetAmount'],
      ],
      [
        'a target under the limit',
        () => toRavi({ amount: undefined, targetAmount: '82917' }),
        422,
        'amount_below_minimum',
        ['/targetAmount'],
      ],
      ['no account', () => toRavi({ accountID: undefined }), 400, 'body_malformed', ['/accountID']],
      ['an account that is a text', () => toRavi({ accountID: '1' }), 400, 'body_malformed', ['/accountID']],
      ['null for the recipient', () => toRavi({ recipientID: null }), 400, 'body_malformed', ['/recipientID']],
      ['an amount that is a number', () => toRavi({ amount: 250_000 }), 400, 'amount_malformed', ['/amount']],
      ['an amount of nothing', () => toRavi({ amount: '0' }), 400, 'amount_malformed', ['/amount']],
      ['an amount below zero', () => toRavi({ amount: '-1' }), 400, 'amount_malformed', ['/amount']],
      ['more than is stored', () => toRavi({ amount: '9223372036854775808' }), 400, 'amount_out_of_range', ['/amount']],
      ['a currency in small letters', () => inCurrency('inr'), 400, 'currency_unknown', ['/targetCurrency']],
      ['a currency that is gone', () => inCurrency('DEM'), 400, 'currency_unknown', ['/targetCurrency']],
      ['a metal', () => inCurrency('XAU'), 400, 'currency_unknown', ['/targetCurrency']],
      ['a rate of its own', () => toRavi({ rate: '1' }), 400, 'field_unknown', ['/rate']],
      ['a fee of its own', () => toRavi({ feeAmount: '0' }), 400, 'field_unknown', ['/feeAmount']],
      ['a unit under the limit', () => toRavi({ amount: '999' }), 422, 'amount_below_minimum', ['/amount']],
      ['a unit over the limit', () => toRavi({ amount: '5000001' }), 422, 'amount_above_maximum', ['/amount']],
      [
        'nothing that arrives',
        () => inCurrency('GBP', { accountID: account('Northwind Trading JPY'), amount: '1' }),
        422,
        'amount_below_minimum',
        ['/amount'],
      ],
      [
        'an account of another workspace',
        () => toRavi({ accountID: account('Southwind Imports USD') }),
        404,
        'account_not_found',
        [],
      ],
      ['an unknown account', () => toRavi({ accountID: 999_999 }), 404, 'account_not_found', []],
      ['an unknown recipient', () => toRavi({ recipientID: 999_999 }), 422, 'recipient_invalid', ['/recipientID']],
      ['a currency without a rate', () => inCurrency('GEL'), 422, 'rate_unavailable', []],
    ])('refuses a quote for %s', async (_, body, status, reason, paths) => {
      const response = await send(body());

      expect(response).toMatchObject({ status, body: { reason } });
      const { details = [] } = response.body as { details?: { path: string }[] };
      expect(details.map(({ path }) => path).sort()).toEqual([...paths].sort());
    });

    it('quotes amounts at the exact limits', async () => {
      expect(await send(toRavi({ amount: '1000' }))).toMatchObject({ status: 201, body: { feeAmount: '200' } });
      expect(await send(toRavi({ amount: '5000000' }))).toMatchObject({ status: 201, body: { feeAmount: '2500' } });
    });

    it('requires the minimum SWIFT withdrawal', async () => {
      const swift = { countryCode: 'CH', currencyCode: 'CHF', payoutMethod: 'SWIFT' } as const;
      const [schema] = await client().recipientSchemas.list({ ...swift, beneficiaryAccountType: 'Individual' });
      const data = { ...schema?.examples?.[0] };
      const { resource } = await view().recipients.addInternational({ ...swift, saved: false, data });
      const paid = { accountID: account('Northwind Trading EUR'), recipientID: resource.id };

      // The minimum of the corridor is 50.00 EUR. 53.76 CHF are above it, and 53.75 CHF are 49.99… EUR at the written rate.
      expect(await send({ ...paid, amount: '5375' })).toMatchObject({
        status: 422,
        body: { reason: 'amount_below_minimum', message: 'The target amount is below the minimum of 50.00 CHF.' },
      });
      expect(await send({ ...paid, amount: '5376' })).toMatchObject({ status: 201, body: { targetAmount: '5000' } });
    });

    it('refuses quotes for a deleted recipient and keeps existing ones', async () => {
      const country = { countryCode: 'IN', currencyCode: 'INR', payoutMethod: 'LOCAL', saved: false } as const;
      const { resource } = await view().recipients.addInternational({ ...country, data: DATA });
      const { resource: quote } = await view().quotes.create({
        ...toRavi(),
        recipientID: resource.id,
      } as CreateQuoteInput);

      await view().recipients.delete(resource.id);

      expect(await send(toRavi({ recipientID: resource.id }))).toMatchObject({
        status: 422,
        body: { reason: 'recipient_invalid' },
      });
      const { rate, feeAmount, targetAmount, expiresAt } = quote;
      expect(await view().quotes.get(quote.id)).toMatchObject({ rate, feeAmount, targetAmount, expiresAt });
    });

    it('gives one response for an unknown resource and a resource of another workspace', async () => {
      const { resource } = await view().quotes.create(toRavi() as CreateQuoteInput);
      const elsewhere = { as: ADA, workspace: idOf(service.world, 'workspaces', 'Ada personal') };
      const strip = (text: string) => text.replace(/"requestId":"[^"]*"/, '');

      const theirs = await sendRequest(service, `/quotes/${resource.id}`, elsewhere);
      const unknown = await sendRequest(service, '/quotes/999999', elsewhere);

      expect(theirs).toMatchObject({ status: 404, body: { reason: 'quote_not_found' } });
      expect(strip(theirs.text)).toBe(strip(unknown.text));
    });
  });
}
