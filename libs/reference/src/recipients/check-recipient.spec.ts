import * as fc from 'fast-check';
import { checkRecipient } from './check-recipient.js';
import { demoReference } from '../reference-document.js';
import { type Field, type BeneficiarySchema, recipientSchemasOf } from './recipient-schema.js';

const CORRIDORS = demoReference().corridors!;

type Details = Partial<Record<Field, unknown>> & Record<string, unknown>;

const ACCOUNT = 'beneficiaryAccountNumber';
const CODE = 'routingCodeValue1';

describe('checkRecipient for the details of the beneficiary', () => {
  it.each([
    ['beneficiaryName', ['Müller & Söhne', '中国银行', "O'Brien, Seán", '3M', '(株) 山田', 'علیرضا']],
    ['beneficiaryAddress', ['1 Rue de la Paix, Paris', '東京都千代田区1-1', 'x'.repeat(140), '#12, Marine Drive']],
    ['beneficiaryCountryCode', ['IN', 'FR']],
  ] as const)('accepts valid texts in %s', (field, texts) => {
    for (const text of texts) expect([text, faultsOf('IN USD SWIFT', { [field]: text })]).toEqual([text, []]);
  });

  it.each([
    ['beneficiaryName', '', 'format'],
    ['beneficiaryName', ' Ravi', 'format'],
    ['beneficiaryName', 'Ravi ', 'format'],
    ['beneficiaryName', '...', 'format'],
    ['beneficiaryName', '- -', 'format'],
    ['beneficiaryName', 'Ra\u0000vi', 'format'],
    ['beneficiaryName', 'Ra\nvi', 'format'],
    ['beneficiaryName', 'Ra\u202evi', 'format'],
    ['beneficiaryName', 'Ra\ud800vi', 'format'],
    ['beneficiaryName', '\u200b', 'format'],
    ['beneficiaryName', 'Ra\u200cvi', 'format'],
    ['beneficiaryName', 'Ra\ue000vi', 'format'],
    ['beneficiaryName', 'Ra\u{e0041}vi', 'format'],
    ['beneficiaryAccountNumber', '50100123456789\n', 'format'],
    ['beneficiaryName', 'x'.repeat(141), 'too_long'],
    ['beneficiaryName', 'x'.repeat(1_000_000), 'too_long'],
    ['beneficiaryName', 7, 'type'],
    ['beneficiaryName', 2 ** 60, 'type'],
    ['beneficiaryName', null, 'type'],
    ['beneficiaryName', ['Ravi'], 'type'],
    ['beneficiaryName', { toString: 'Ravi' }, 'type'],
    ['beneficiaryName', undefined, 'required'],
    ['beneficiaryAddress', undefined, 'required'],
    ['beneficiaryAddress', 'x'.repeat(141), 'too_long'],
    ['beneficiaryAddress', 'a\tb', 'format'],
    ['beneficiaryCountryCode', 'in', 'value'],
    ['beneficiaryCountryCode', 'XX', 'value'],
    ['beneficiaryCountryCode', 'UK', 'value'],
    ['beneficiaryCountryCode', 'IND', 'value'],
    ['destinationCountry', 'FR', 'value'],
    ['destinationCountry', 'in', 'value'],
    ['beneficiaryAccountType', 'Person', 'value'],
    ['routingCodeType1', 'IFSC', 'value'],
  ])('refuses %s with the value %j and the reason %s', (field, value, reason) => {
    const faults = faultsOf('IN USD SWIFT', { [field]: value });

    expect(faults.map(({ path, reason }) => [path, reason])).toEqual([[`/data/${field}`, reason]]);
    expect(faults[0]?.message.startsWith(`${field} `)).toBe(true);
    expect(faults[0]?.message.length).toBeLessThan(400);
  });

  it('accepts 70 characters in a name over SEPA, and counts two UTF-16 units as one character', () => {
    expect(faultsOf('DE EUR LOCAL', { beneficiaryName: '𠮷'.repeat(70) })).toEqual([]);
    expect(reasonsOf('DE EUR LOCAL', { beneficiaryName: 'x'.repeat(71) })).toEqual(['/data/beneficiaryName too_long']);
  });

  it('accepts a missing address on a local route', () => {
    expect(faultsOf('IN INR LOCAL', { beneficiaryAddress: undefined })).toEqual([]);
  });
});

describe('checkRecipient for an address in elements', () => {
  const LENGTHS = {
    beneficiaryStreetName: 70,
    beneficiaryBuildingNumber: 16,
    beneficiaryPostCode: 16,
    beneficiaryTownName: 35,
  } as const;
  const ELEMENTS = Object.keys(LENGTHS) as (keyof typeof LENGTHS)[];

  it('accepts a town with any of the others, and refuses any of the others without it', () => {
    fc.assert(
      fc.property(fc.constantFrom('IN USD SWIFT', 'DE EUR LOCAL'), fc.subarray(ELEMENTS), (route, given) => {
        const changes = Object.fromEntries(
          ELEMENTS.map((field) => [field, given.includes(field) ? 'x'.repeat(LENGTHS[field]) : undefined]),
        );
        const missing = given.includes('beneficiaryTownName') ? [] : given;
        expect(faultsOf(route, changes).map(({ path, message }) => [path, message.split('.')[0]])).toEqual(
          missing.map((field) => ['/data/beneficiaryTownName', `beneficiaryTownName is required with ${field}`]),
        );
      }),
    );
  });

  it.each(Object.entries(LENGTHS))('accepts in %s at most %i characters of text', (field, max) => {
    expect(reasonsOf('IN USD SWIFT', { [field]: 'x'.repeat(max + 1) })).toEqual([`/data/${field} too_long`]);
    expect(reasonsOf('IN USD SWIFT', { [field]: ' 1' })).toEqual([`/data/${field} format`]);
    expect(reasonsOf('IN USD SWIFT', { [field]: '-' })).toEqual([`/data/${field} format`]);
  });
});

describe('checkRecipient for invalid data', () => {
  const schemas = schemasOf('IN INR LOCAL');

  it.each([undefined, null, 'text', 7, true, [], [{}]])('reports once that %j is not an object', (data) => {
    expect(checkRecipient(schemas, data)).toEqual([
      { path: '/data', reason: 'type', message: 'data must be an object.' },
    ]);
  });

  it('reports each missing field of an empty object once', () => {
    const faults = checkRecipient(schemas, {});

    expect(faults.map(({ reason }) => reason)).toEqual(Array(7).fill('required'));
    expect(new Set(faults.map(({ path }) => path)).size).toBe(7);
  });

  it('ignores fields of the prototype', () => {
    expect(checkRecipient(schemas, Object.create(exampleOf(schemas))).map(({ reason }) => reason)).toEqual(
      Array(7).fill('required'),
    );
  });

  it.each(['iban', '__proto__', 'constructor', 'toString', '', '\u0000', 'Ravi Menon', 'x'.repeat(1_000)])(
    'refuses the unknown field %j, and repeats it only if it has the form of a field name',
    (name) => {
      const data = JSON.parse(`{${JSON.stringify(name)}: 1, ${JSON.stringify(exampleOf(schemas)).slice(1)}`) as object;

      const [fault, ...others] = checkRecipient(schemas, data);

      const shown = ['iban', 'constructor', 'toString'].includes(name) ? `/data/${name}` : '/data';
      expect([fault?.path, fault?.reason, others]).toEqual([shown, 'field_unknown', []]);
    },
  );

  it.each([
    [90, 20],
    [10_000, 1],
  ])('reports for %i unknown fields %i faults', (sent, told) => {
    const data = Object.fromEntries(Array.from({ length: sent }, (_, index) => [`field${index}`, index]));

    expect(checkRecipient(schemas, data)).toHaveLength(told);
  });
});

describe('checkRecipient', () => {
  it('throws without a schema', () => {
    expect(() => checkRecipient([], {})).toThrow('no schema to check against');
  });

  it('refuses a copy of a schema, because it has no check digits', () => {
    expect(() => checkRecipient(structuredClone(schemasOf('IN INR LOCAL')), {})).toThrow('not a document');
  });

  it('repeats no value in a message', () => {
    const typed = 'Zq8-typed';
    const [schema] = schemasOf('BR BRL LOCAL');
    const fields = Object.keys(schema?.properties ?? {});

    for (const field of fields) {
      const faults = faultsOf('BR BRL LOCAL', { [field]: `${typed}\u0000${'9'.repeat(200)}` });
      expect(faults.length).toBeGreaterThan(0);
      expect(JSON.stringify(faults)).not.toContain(typed);
    }
  });

  it('reports bounded faults of fields without their values, and accepts only texts that survive JSON', () => {
    const routes = [
      'IN INR LOCAL',
      'IN USD SWIFT',
      'DE EUR LOCAL',
      'BR BRL LOCAL',
      'MX MXN LOCAL',
      'US USD LOCAL',
      'AR USD SWIFT',
    ];
    const values = fc.oneof(
      fc.constantFrom('', 'SWIFT', 'PIX KEY', 'EVP', 'Corporate', '021000021', 'DEUTDEFF', 'a\u2028b', 'ﬁ', '\ud800'),
      fc.string({ unit: 'binary', maxLength: 200 }),
      fc.jsonValue({ maxDepth: 2 }),
    );
    const [{ properties } = { properties: {} }] = schemasOf('BR BRL LOCAL');
    const fields = Object.keys(properties);
    const changes = fc.dictionary(fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...fields) }, fc.string()), values, {
      maxKeys: 3,
    });
    const seen = { accepted: 0, refused: 0 };
    fc.assert(
      fc.property(
        fc.constantFrom(...routes),
        fc.nat(),
        changes,
        fc.subarray(fields, { maxLength: 2 }),
        (route, at, changed, without) => {
          const schemas = schemasOf(route);
          const data: Details = { ...schemas[at % schemas.length]?.examples[0], ...changed };
          for (const field of without) if (!(field in changed)) delete data[field];

          const faults = checkRecipient(schemas, data);

          seen[faults.length > 0 ? 'refused' : 'accepted'] += 1;
          expect(faults.length).toBeLessThanOrEqual(20);
          const quoted = JSON.stringify(schemas);
          for (const { path, message } of faults) {
            expect(path).toMatch(/^\/data(?:\/[A-Za-z][A-Za-z0-9_]{0,63})?$/);
            expect(message.length).toBeLessThanOrEqual(600);
            expect(message).not.toMatch(/[\p{Cc}\p{Cs}]/u);
            const repeated = Object.values(data).filter(
              (value) =>
                typeof value === 'string' && value.length > 5 && message.includes(value) && !quoted.includes(value),
            );
            expect(repeated).toEqual([]);
          }
          if (faults.length > 0) return;
          expect(checkRecipient(schemas, JSON.parse(JSON.stringify(data)))).toEqual([]);
          expect(Object.keys(data).filter((field) => !fields.includes(field))).toEqual([]);
          for (const value of Object.values(data)) expect(value).toMatch(/^\S(?:[^\p{Cc}\p{Cs}\p{Cf}]{0,278}\S)?$/su);
        },
      ),
      { numRuns: 300 },
    );
    expect(Math.min(seen.accepted, seen.refused)).toBeGreaterThan(5);
  });

  it('reports the faults of the schema that the data is meant for', () => {
    const company = { beneficiaryAccountType: 'Corporate', beneficiaryName: 'Menon Ltd', [CODE]: 'HDFC' };

    expect(reasonsOf('IN INR LOCAL', company)).toEqual([`/data/${CODE} format`]);
    expect(faultsOf('IN INR LOCAL', { beneficiaryAccountType: 'Person' })[0]?.message).toBe(
      'beneficiaryAccountType must be Individual or Corporate.',
    );
    expect(faultsOf('BR BRL LOCAL', { routingCodeType1: 'PIX' })[0]?.message).toBe(
      'routingCodeType1 must be BRANCH CODE or PIX KEY.',
    );
  });

  it('names the kinds of key that the beneficiary can have if the kind is unknown', () => {
    const key = { routingCodeType1: 'PIX KEY', [ACCOUNT]: '12345678909' };

    expect(faultsOf('BR BRL LOCAL', { ...key, [CODE]: 'RG' }).map(({ message }) => message)).toEqual([
      'routingCodeValue1 must be CPF or PHONE or EMAIL or EVP.',
    ]);
  });

  it('requires a company for the key kind CNPJ', () => {
    const key = { routingCodeType1: 'PIX KEY', [CODE]: 'CNPJ', [ACCOUNT]: '00038166000105' };

    expect(faultsOf('BR BRL LOCAL', key).map(({ message }) => message)).toEqual([
      'beneficiaryAccountType must be Corporate.',
    ]);
  });
});

/** The faults of the example of a route with these changes. */
function faultsOf(route: string, changes: Details) {
  const schemas = schemasOf(route);
  const data: Details = { ...exampleOf(schemas), ...changes };
  for (const [field, value] of Object.entries(changes)) if (value === undefined) delete data[field];
  return checkRecipient(schemas, data);
}

function reasonsOf(route: string, changes: Details): string[] {
  return faultsOf(route, changes).map(({ path, reason }) => `${path} ${reason}`);
}

function schemasOf(route: string): BeneficiarySchema[] {
  const [countryCode = '', currencyCode = '', method] = route.split(' ');
  return recipientSchemasOf(
    CORRIDORS.filter(
      ({ destinationCountry, destinationCurrency, payoutMethod }) =>
        destinationCountry === countryCode && destinationCurrency === currencyCode && payoutMethod === method,
    ),
  );
}

function exampleOf([schema]: readonly BeneficiarySchema[]): Details {
  return { ...schema?.examples[0] };
}
