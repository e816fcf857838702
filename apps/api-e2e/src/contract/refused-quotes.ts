import type { CreateQuoteInput } from '@banking/domain';
import { sendRequest } from '../responses.js';
import { ADA, type Service } from '../service.js';
import { idOf } from '../world.js';
import { quoteRequests } from './quote-requests.js';
import { DATA } from './recipients.js';

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
