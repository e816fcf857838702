import { BankingClient } from '@banking/client';
import type { RecipientSchema } from '@banking/domain';
import { sendRequest } from '../responses.js';
import { ADA, type Service } from '../service.js';
import { faultsIn } from './shapes.js';

export function corridorsContract(provide: () => Service): void {
  const service = provide();
  const read = (path: string) => sendRequest(service, path, { as: ADA });

  describe('GET /recipients/countries/{countryCode}/corridors', () => {
    it('returns the published fields, and limits in the limit currency', async () => {
      const client = new BankingClient({ baseUrl: service.url, token: () => service.tokenOf(ADA) });
      const corridors = await client.corridors.list('IN');

      expect(corridors.length).toBeGreaterThan(0);
      expect(faultsIn(corridors, 'Corridor[]')).toEqual([]);
      for (const corridor of corridors) {
        expect(corridor.destinationCountry).toBe('IN');
        expect(['LOCAL', 'SWIFT']).toContain(corridor.payoutMethod);
        expect(['Individual', 'Corporate']).toContain(corridor.beneficiaryAccountType);
        expect(corridor.edges.destinationCurrency?.id).toBe(corridor.destinationCurrencyID);
        expect(corridor.edges.limitCurrency?.id).toBe(corridor.limitCurrencyID);
        expect(BigInt(corridor.minimumAmount ?? 0)).toBeLessThanOrEqual(BigInt(corridor.maximumAmount ?? 0));
      }
      expect(corridors[0]?.fee).toEqual({
        fixedAmount: '100',
        partsPerMillion: 2_000,
        minimumAmount: '200',
        maximumAmount: '2500',
      });
    });

    it.each(['in', 'In', 'iN', 'IND', 'ind', 'Ind'])('accepts the country code %s', async (country) => {
      const [spelt, plain] = [
        await read(`/recipients/countries/${country}/corridors`),
        await read('/recipients/countries/IN/corridors'),
      ];

      expect(spelt.status).toBe(200);
      expect(spelt.text).toBe(plain.text);
    });

    it.each(['KP', 'AQ', 'BVT'])('returns an empty list for %s, a country without corridors', async (country) => {
      const response = await read(`/recipients/countries/${country}/corridors`);

      expect([response.status, response.text]).toEqual([200, '[]']);
    });

    it.each([
      'ZZ',
      'XX',
      'UK',
      'ZZZ',
      'I',
      'INDIA',
      '12',
      '%F0%9F%87%AE%F0%9F%87%B3',
      'I%20N',
      '%20',
      'IN%00',
      'ın'.replace('ı', '%C4%B1'),
    ])('refuses the country code %s', async (country) => {
      const response = await read(`/recipients/countries/${country}/corridors`);

      expect(response.status).toBe(404);
      expect(response.body).toMatchObject({ errorCode: 'invalid_request', reason: 'country_unknown' });
    });

    it.each(['IN', 'deu', 'KP'])('returns the same bytes on the other path for %s', async (country) => {
      const former = await read(`/countries/${country}/corridors`);
      const canonical = await read(`/recipients/countries/${country}/corridors`);

      expect(former.status).toBe(200);
      expect(former.text).toBe(canonical.text);
    });

    it('links the other path to the canonical one, and names no date of removal', async () => {
      const { headers } = await read('/countries/IN/corridors');
      const canonical = await read('/recipients/countries/IN/corridors');

      expect(headers.get('link')).toBe('</recipients/countries/IN/corridors>; rel="canonical"');
      expect(['deprecation', 'sunset'].filter((name) => headers.has(name))).toEqual([]);
      expect(canonical.headers.has('link')).toBe(false);
    });

    it('returns the same refusal with the link on the other path', async () => {
      const former = await read('/countries/ZZ/corridors');

      expect(former.body).toMatchObject({ errorCode: 'invalid_request', reason: 'country_unknown' });
      expect(former.headers.get('link')).toBe('</recipients/countries/ZZ/corridors>; rel="canonical"');
    });
  });
}

const INDIA = 'countryCode=IN&currencyCode=INR&payoutMethod=LOCAL';

/** Whether a field of a schema accepts a text, as a form in a browser would check it. */
function fits({ properties }: RecipientSchema, field: string, text: string): boolean {
  const { pattern = '', maxLength = Infinity, const: only = text, enum: choices = [text] } = properties[field] ?? {};
  return (
    properties[field] !== undefined &&
    new RegExp(pattern, 'u').test(text) &&
    text.length <= maxLength &&
    only === text &&
    choices.includes(text)
  );
}

export function recipientSchemasContract(provide: () => Service): void {
  const service = provide();
  const read = (path: string, headers: Record<string, string> = {}) => sendRequest(service, path, { as: ADA, headers });
  const client = () => new BankingClient({ baseUrl: service.url, token: () => service.tokenOf(ADA) });

  describe('GET /recipients/validation-schema', () => {
    it('returns schemas that require fields, accept their example and forbid other fields', async () => {
      const corridors = await client().corridors.list('BR');

      for (const { payoutMethod = '', beneficiaryAccountType, edges } of corridors) {
        const currencyCode = edges.destinationCurrency?.code ?? '';
        const query = { countryCode: 'BR', currencyCode, payoutMethod, beneficiaryAccountType };
        const schemas = await client().recipientSchemas.list(query);

        expect(schemas.length).toBeGreaterThan(0);
        expect(faultsIn(schemas, 'RecipientSchema[]')).toEqual([]);
        for (const schema of schemas) {
          const [example = {}] = schema.examples ?? [];
          expect(Object.entries(example).filter(([field, text]) => !fits(schema, field, text))).toEqual([]);
          expect(schema.required.filter((field) => !Object.hasOwn(example, field))).toEqual([]);
          expect(schema.additionalProperties).toBe(false);
          expect(schema.properties['beneficiaryAccountType']?.const).toBe(beneficiaryAccountType);
        }
      }
      expect(corridors.length).toBeGreaterThan(1);
    });

    it('accepts lower-case codes and three-letter country codes', async () => {
      const { text } = await read(`/recipients/validation-schema?${INDIA}`);

      for (const other of ['countryCode=in&currencyCode=inr', 'countryCode=IND&currencyCode=INR']) {
        expect((await read(`/recipients/validation-schema?${other}&payoutMethod=LOCAL`)).text).toBe(text);
      }
    });

    it('lists individuals before companies without a beneficiary type', async () => {
      const { body } = await read(`/recipients/validation-schema?${INDIA}`);

      const kinds = (body as RecipientSchema[]).map(({ properties }) => properties['beneficiaryAccountType']?.const);
      expect(kinds).toEqual(['Individual', 'Corporate']);
    });

    it('returns 304 for a matching ETag', async () => {
      const path = `/recipients/validation-schema?${INDIA}`;
      const etag = (await read(path)).headers.get('etag') ?? '';

      expect(await read(path, { 'if-none-match': etag })).toMatchObject({ status: 304, text: '' });
    });

    it.each<[string, string, readonly string[]]>([
      ['', 'parameter_invalid', ['countryCode', 'currencyCode', 'payoutMethod']],
      ['currencyCode=INR&payoutMethod=LOCAL', 'parameter_invalid', ['countryCode']],
      ['countryCode=&currencyCode=INR&payoutMethod=LOCAL', 'parameter_invalid', ['countryCode']],
      ['countryCode=India&currencyCode=INR&payoutMethod=LOCAL', 'parameter_invalid', ['countryCode']],
      ['countryCode=IN&countryCode=DE&currencyCode=INR&payoutMethod=LOCAL', 'parameter_repeated', ['countryCode']],
      ['countryCode=IN&currencyCode=356&payoutMethod=LOCAL', 'parameter_invalid', ['currencyCode']],
      ['countryCode=IN&currencyCode=INR&payoutMethod=local', 'parameter_invalid', ['payoutMethod']],
      [`${INDIA}&beneficiaryAccountType=Savings`, 'parameter_invalid', ['beneficiaryAccountType']],
      [`${INDIA}&country=IN`, 'parameter_unknown', ['country']],
    ])('refuses the query %j and names the parameter', async (query, reason, paths) => {
      const { status, body } = await read(`/recipients/validation-schema?${query}`);

      expect(status).toBe(400);
      expect(body).toMatchObject({ errorCode: 'invalid_request', reason });
      const { details } = body as { details: { path: string }[] };
      expect(details.map(({ path }) => path).sort()).toEqual([...paths].sort());
    });

    it.each(['ZZ&currencyCode=INR', 'KP&currencyCode=INR', 'IN&currencyCode=CHF', 'IN&currencyCode=ZZZ'])(
      'returns corridor_not_found for %s',
      async (corridor) => {
        expect(await read(`/recipients/validation-schema?countryCode=${corridor}&payoutMethod=LOCAL`)).toMatchObject({
          status: 404,
          body: { errorCode: 'invalid_request', reason: 'corridor_not_found' },
        });
      },
    );

    it('returns the same bytes on the other path, and links to the canonical one with the query', async () => {
      const former = await read(`/validation-schema?${INDIA}`);
      const canonical = await read(`/recipients/validation-schema?${INDIA}`);

      expect([former.status, former.text]).toEqual([200, canonical.text]);
      expect(['deprecation', 'sunset'].filter((name) => former.headers.has(name))).toEqual([]);
      const link = `</recipients/validation-schema?${INDIA}>; rel="canonical"`;
      expect(former.headers.get('link')).toBe(link);
      expect(canonical.headers.has('link')).toBe(false);
    });

    it('returns the same refusal with the link on the other path for an unknown corridor', async () => {
      const { status, body, headers } = await read(
        '/validation-schema?countryCode=IN&currencyCode=CHF&payoutMethod=LOCAL',
      );

      expect({ status, body }).toMatchObject({ status: 404, body: { reason: 'corridor_not_found' } });
      expect(headers.get('link')).toContain('rel="canonical"');
    });
  });

  describe('GET /orders/purposes', () => {
    it('lists codes with descriptions, and returns 304 for a matching ETag', async () => {
      const { body, headers } = await read('/orders/purposes');

      expect(await client().purposes.list()).toEqual(body);
      expect(body).toMatchObject({ IR001: 'Own account' });
      expect(faultsIn(Object.values(body as object), 'string[]')).toEqual([]);
      expect((await read('/orders/purposes', { 'if-none-match': headers.get('etag') ?? '' })).status).toBe(304);
    });

    it('lists those of a country', async () => {
      const { body } = await read('/orders/purposes');

      expect((await read('/orders/purposes?countryCode=in')).body).toEqual(body);
      expect(await client().purposes.list({ countryCode: 'IND' })).toEqual(body);
      expect((await read('/orders/purposes?countryCode=ZZ')).body).toMatchObject({ reason: 'country_unknown' });
      expect((await read('/orders/purposes?countryCode=1')).body).toMatchObject({ reason: 'parameter_invalid' });
    });
  });
}
