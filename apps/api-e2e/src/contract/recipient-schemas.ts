import { BankingClient } from '@banking/client';
import type { RecipientSchema } from '@banking/domain';
import { ask } from '../answers.js';
import { ADA, type Service } from '../service.js';
import { mistakesIn } from './shapes.js';

const INDIA = 'countryCode=IN&currencyCode=INR&payoutMethod=LOCAL';

/** Whether a text is one that the field of a schema can hold, as a form in a browser would look. */
function fits({ properties }: RecipientSchema, field: string, text: string): boolean {
  const { pattern = '', maxLength = Infinity, const: only = text, enum: choices = [text] } = properties[field] ?? {};
  return properties[field] !== undefined && new RegExp(pattern, 'u').test(text) && text.length <= maxLength && only === text && choices.includes(text); // prettier-ignore
}

export function recipientSchemasContract(provide: () => Service): void {
  const service = provide();
  const read = (path: string, headers: Record<string, string> = {}) => ask(service, path, { as: ADA, headers });
  const client = () => new BankingClient({ baseUrl: service.url, token: () => service.tokenOf(ADA) });

  describe('and what a corridor asks for', () => {
    it('When it is asked Then every document has the fields it requires, passes its own example, and forbids others', async () => {
      const corridors = await client().listCorridors({}, { country: 'BR' });

      for (const { payoutMethod = '', beneficiaryAccountType, edges } of corridors) {
        const currencyCode = edges.destinationCurrency?.code ?? '';
        const query = { countryCode: 'BR', currencyCode, payoutMethod, beneficiaryAccountType };
        const schemas = await client().listRecipientSchemas({}, query);

        expect(schemas.length).toBeGreaterThan(0);
        expect(mistakesIn(schemas, 'RecipientSchema[]')).toEqual([]);
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

    it('When the corridor is written in small letters or the country with three Then it is the same', async () => {
      const { text } = await read(`/recipients/validation-schema?${INDIA}`);

      for (const other of ['countryCode=in&currencyCode=inr', 'countryCode=IND&currencyCode=INR']) {
        expect((await read(`/recipients/validation-schema?${other}&payoutMethod=LOCAL`)).text).toBe(text);
      }
    });

    it('When nothing is said of the beneficiary Then persons come first, then companies', async () => {
      const { body } = await read(`/recipients/validation-schema?${INDIA}`);

      const kinds = (body as RecipientSchema[]).map(({ properties }) => properties['beneficiaryAccountType']?.const);
      expect(kinds).toEqual(['Individual', 'Corporate']);
    });

    it('When it is asked again with its ETag Then it still holds', async () => {
      const path = `/recipients/validation-schema?${INDIA}`;
      const etag = (await read(path)).headers.get('etag') ?? '';

      expect(await read(path, { 'if-none-match': etag })).toMatchObject({ status: 304, text: '' });
    });

    it.each<[string, string, readonly string[]]>([
      ['', 'parameter_invalid', ['countryCode', 'currencyCode', 'payoutMethod']],
      ['currencyCode=INR&payoutMethod=LOCAL', 'parameter_invalid', ['countryCode']],
      ['countryCode=&currencyCode=INR&payoutMethod=LOCAL', 'parameter_invalid', ['countryCode']],
      ['countryCode=India&currencyCode=INR&payoutMethod=LOCAL', 'parameter_invalid', ['countryCode']],
      ['countryCode=IN&countryCode=DE&currencyCode=INR&payoutMethod=LOCAL', 'parameter_invalid', ['countryCode']],
      ['countryCode=IN&currencyCode=356&payoutMethod=LOCAL', 'parameter_invalid', ['currencyCode']],
      ['countryCode=IN&currencyCode=INR&payoutMethod=local', 'parameter_invalid', ['payoutMethod']],
      [`${INDIA}&beneficiaryAccountType=Savings`, 'parameter_invalid', ['beneficiaryAccountType']],
      [`${INDIA}&country=IN`, 'parameter_unknown', ['country']],
    ])('When the query is %j Then it is refused, and the parameter is named', async (query, reason, paths) => {
      const { status, body } = await read(`/recipients/validation-schema?${query}`);

      expect(status).toBe(400);
      expect(body).toMatchObject({ errorCode: 'invalid_request', reason });
      const { details } = body as { details: { path: string }[] };
      expect(details.map(({ path }) => path).sort()).toEqual([...paths].sort());
    });

    it.each(['ZZ&currencyCode=INR', 'KP&currencyCode=INR', 'IN&currencyCode=CHF', 'IN&currencyCode=ZZZ'])(
      'When the corridor is to %s Then there is none',
      async (corridor) => {
        expect(await read(`/recipients/validation-schema?countryCode=${corridor}&payoutMethod=LOCAL`)).toMatchObject({
          status: 404,
          body: { errorCode: 'invalid_request', reason: 'corridor_not_found' },
        });
      },
    );

    it('When the former path is asked Then it answers byte for byte as its successor, and names that with the query', async () => {
      const former = await read(`/validation-schema?${INDIA}`);
      const successor = await read(`/recipients/validation-schema?${INDIA}`);

      expect([former.status, former.text]).toEqual([200, successor.text]);
      expect(former.headers.get('deprecation')).toMatch(/^@\d{10}$/);
      expect(new Date(former.headers.get('sunset') ?? '').toUTCString()).toBe(former.headers.get('sunset'));
      const link = `</recipients/validation-schema?${INDIA}>; rel="successor-version"`;
      expect(former.headers.get('link')).toBe(link);
      expect(['deprecation', 'sunset', 'link'].filter((name) => successor.headers.has(name))).toEqual([]);
    });

    it('When the former path has no such corridor Then it refuses as its successor does, and carries the same headers', async () => {
      const { status, body, headers } = await read('/validation-schema?countryCode=IN&currencyCode=CHF&payoutMethod=LOCAL'); // prettier-ignore

      expect({ status, body }).toMatchObject({ status: 404, body: { reason: 'corridor_not_found' } });
      expect(headers.get('deprecation')).toMatch(/^@/);
    });
  });

  describe('and the purposes', () => {
    it('When they are listed Then each code has a text, and an ETag says whether they still hold', async () => {
      const { body, headers } = await read('/orders/purposes');

      expect(await client().listPurposes()).toEqual(body);
      expect(body).toMatchObject({ IR001: 'Own account' });
      expect(mistakesIn(Object.values(body as object), 'string[]')).toEqual([]);
      expect((await read('/orders/purposes', { 'if-none-match': headers.get('etag') ?? '' })).status).toBe(304);
    });
  });
}
