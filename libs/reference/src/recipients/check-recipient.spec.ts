import type { Known, PayoutMethod } from '@banking/domain';
import { checkRecipient } from './check-recipient.js';
import type { Field, BeneficiarySchema } from './recipient-schema.js';
import { recipientSchemasOf } from './recipient-schemas-of.js';

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
  return recipientSchemasOf({ countryCode, currencyCode, payoutMethod: method as Known<PayoutMethod> });
}

function exampleOf([schema]: readonly BeneficiarySchema[]): Details {
  return { ...schema?.examples[0] };
}
