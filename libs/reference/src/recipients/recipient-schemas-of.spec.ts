import { Ajv2020 } from 'ajv/dist/2020.js';
import { countrySpecs } from 'ibantools';
import { testOrProve } from '@banking/postgres/testing';
import { demoReference } from '../reference-document.js';
import { checkRecipient } from './check-recipient.js';
import { ibanFormatOf } from './iban-formats.js';
import { type CorridorRoute, FIELDS, type BeneficiarySchema, recipientSchemasOf } from './recipient-schema.js';

const CORRIDORS = demoReference().corridors!;
const documents = CORRIDORS.flatMap((corridor) => schemasOf(corridor).map((schema) => ({ corridor, schema })));
/** The schemas that Ajv compiles, which takes much longer than all other checks: one for each pattern of account and routing code. */
const compiled = new Set(
  testOrProve(
    [
      ...new Map(
        documents.map((document) => {
          const { beneficiaryAccountNumber: account, routingCodeValue1: code } = document.schema.properties;
          return [`${account.pattern} ${code.pattern ?? code.const}`, document];
        }),
      ).values(),
    ],
    documents,
  ).map(({ schema }) => schema.$id),
);

describe('the schemas of a corridor', () => {
  it('exist, and are for the beneficiary type of the corridor', () => {
    for (const corridor of CORRIDORS) {
      const schemas = schemasOf(corridor);
      expect(schemas.map(({ properties }) => properties.routingCodeType1.const)).toContain(corridor.routingCodeType);
      for (const { properties } of schemas) {
        expect(properties.destinationCountry.const).toBe(corridor.destinationCountry);
        expect(properties.beneficiaryAccountType.const).toBe(corridor.beneficiaryAccountType);
      }
    }
  });

  it('require the town, and nothing more, where the payment network does', () => {
    const ajv = new Ajv2020({ strict: true, allErrors: true });
    for (const { schema, corridor } of documents) {
      const demanding = schemasOf({ ...corridor, needsPostalAddress: true }).find(
        ({ $id }) => $id === `${schema.$id}:TOWN`,
      )!;

      expect([...demanding.required].sort()).toEqual([...schema.required, 'beneficiaryTownName'].sort());
      if (compiled.has(schema.$id)) expect(ajv.compile(demanding)(demanding.examples[0])).toBe(true);
      expect(checkRecipient([demanding], demanding.examples[0])).toEqual([]);
      const { beneficiaryTownName: _, ...without } = demanding.examples[0]!;
      expect(checkRecipient([demanding], without).map(({ path, reason }) => `${path} ${reason}`)).toEqual([
        '/data/beneficiaryTownName required',
      ]);
    }
  });

  it('compile in strict Ajv and accept their example', () => {
    const ajv = new Ajv2020({ strict: true, allErrors: true });

    for (const { schema } of documents) {
      if (compiled.has(schema.$id)) {
        const validate = ajv.compile(schema);
        expect([schema.$id, validate(schema.examples[0]), validate({})]).toEqual([schema.$id, true, false]);
      }
      expect([schema.$id, checkRecipient([schema], schema.examples[0])]).toEqual([schema.$id, []]);
    }
  });

  it('have unique URNs as ids', () => {
    const ids = documents.map(({ schema }) => schema.$id);

    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.filter((id) => !/^urn:banking:recipient-schema(:[A-Za-z-]+){5,6}$/.test(id))).toEqual([]);
  });

  it('have the eight fields and the elements of an address, each with a description and an example', () => {
    for (const { schema, corridor } of documents) {
      expect(Object.keys(schema.properties)).toEqual([...FIELDS]);
      expect(schema.additionalProperties).toBe(false);
      expect(FIELDS.filter((field) => !schema.required.includes(field))).toEqual([
        ...(corridor.payoutMethod === 'SWIFT' ? [] : ['beneficiaryAddress']),
        ...['beneficiaryStreetName', 'beneficiaryBuildingNumber', 'beneficiaryPostCode', 'beneficiaryTownName'],
      ]);
      for (const { description, examples } of Object.values(schema.properties)) {
        expect(description).toMatch(/^[A-Z].*\.$/);
        expect(examples).toHaveLength(1);
      }
    }
  });

  it('name the dated source of the format of each code', () => {
    for (const { schema } of documents) {
      const { beneficiaryAccountNumber: account, routingCodeValue1: code } = schema.properties;
      for (const field of [account, code]) {
        expect(field.const ?? field.$comment).toMatch(/\(\d{4}(-\d{2}(-\d{2})?)?\)$|^(CPF|CNPJ|PHONE|EMAIL|EVP)$/);
      }
    }
  });
});

describe('recipientSchemasOf', () => {
  const routesTo = (country: string, currency: string) =>
    CORRIDORS.filter(
      ({ destinationCountry, destinationCurrency, payoutMethod }) =>
        destinationCountry === country && destinationCurrency === currency && payoutMethod === 'LOCAL',
    );
  const india = routesTo('IN', 'INR');

  it('lists one schema for each corridor of India, in their order', () => {
    expect(idsOf(recipientSchemasOf(india))).toEqual([
      'urn:banking:recipient-schema:IN:INR:LOCAL:Individual:IFSC',
      'urn:banking:recipient-schema:IN:INR:LOCAL:Corporate:IFSC',
    ]);
  });

  it('returns for local reais in Brazil the branch, and each kind of PIX key for its holder', () => {
    const endings = idsOf(recipientSchemasOf(routesTo('BR', 'BRL'))).map((id) => id.split(':').slice(6).join(' '));

    expect(endings).toEqual([
      ...['Individual BRANCH-CODE', 'Individual PIX-KEY CPF', 'Individual PIX-KEY PHONE', 'Individual PIX-KEY EMAIL'],
      ...['Individual PIX-KEY EVP', 'Corporate BRANCH-CODE', 'Corporate PIX-KEY CNPJ', 'Corporate PIX-KEY PHONE'],
      ...['Corporate PIX-KEY EMAIL', 'Corporate PIX-KEY EVP'],
    ]);
  });

  it.each<[string, Partial<CorridorRoute>]>([
    ['a country without a format of accounts', { destinationCountry: 'AQ' }],
    ['a name of every object', { destinationCountry: '__proto__' }],
    ['a routing code that the country does not have', { routingCodeType: 'SORT CODE' }],
  ])('returns no schema for %s', (_, part) => {
    expect(recipientSchemasOf([{ ...india[0]!, ...part }])).toEqual([]);
  });

  it('returns the same frozen objects each time', () => {
    const [first] = recipientSchemasOf(india);

    expect(recipientSchemasOf(india)[0]).toBe(first);
    expect(() => Object.assign(first?.properties.beneficiaryName ?? {}, { maxLength: 1 })).toThrow(TypeError);
  });
});

describe('the IBAN formats', () => {
  const countries = [...new Set(CORRIDORS.map(({ destinationCountry }) => destinationCountry))];

  it('have the countries and lengths of another library, except for Morocco', () => {
    const ours = countries.filter((country) => ibanFormatOf(country) !== undefined);
    const theirs = countries.filter((country) => countrySpecs[country]?.chars);

    expect(ours.filter((country) => ibanFormatOf(country)?.example.length !== countrySpecs[country]?.chars)).toEqual(
      [],
    );
    expect(theirs.filter((country) => !ours.includes(country))).toEqual(['MA']);
  });

  it('are required on each route by BIC to a country with IBANs', () => {
    const asked = documents.filter(({ corridor }) => corridor.routingCodeType === 'SWIFT');
    const otherwise = asked.filter(({ corridor, schema }) => {
      const iban = ibanFormatOf(corridor.destinationCountry);
      return iban !== undefined && schema.properties.beneficiaryAccountNumber.pattern !== iban.pattern;
    });

    expect(otherwise).toEqual([]);
  });
});

function schemasOf(corridor: CorridorRoute): BeneficiarySchema[] {
  return recipientSchemasOf([corridor]);
}

function idsOf(schemas: readonly BeneficiarySchema[]): string[] {
  return schemas.map(({ $id }) => $id);
}
