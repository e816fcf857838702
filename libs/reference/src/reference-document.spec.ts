import * as fc from 'fast-check';
import { demoReference, newProducts, readReferenceDocument, writeReferenceDocument } from './reference-document.js';

const TERMS = `{ limitCurrency: USD, minimumAmount: '1000', maximumAmount: '5000', deliveryTAT: T+1 }`;
const INDIA = `id: 1, destinationCountry: IN, destinationCurrency: INR, payoutMethod: LOCAL, routingCodeType: IFSC, terms: all`;

const read = (...lines: readonly string[]) => readReferenceDocument('reference.yaml', lines.join('\n'));

const corridors = (...lines: readonly string[]) => read(`terms: { all: ${TERMS} }`, 'corridors:', ...lines);

describe('a document of reference data', () => {
  it('has the terms of each corridor written out', () => {
    const { content, effectiveAt } = read(
      'effectiveAt: 2027-01-01T00:00:00+05:30',
      'terms:',
      `  all: { limitCurrency: USD, minimumAmount: '1', maximumAmount: '2', deliveryTAT: T+1, fee: { fixedAmount: '5' } }`,
      'corridors:',
      `  - { ${INDIA}, beneficiaryAccountType: Individual }`,
      `  - { ${INDIA.replace('1', '2')}, beneficiaryAccountType: Corporate, enabled: false }`,
    );

    expect(effectiveAt).toBe('2027-01-01T00:00:00+05:30');
    expect(content.corridors).toMatchObject([
      { id: 1, enabled: true, minimumAmount: '1', fee: { fixedAmount: '5', partsPerMillion: 0, minimumAmount: '0' } },
      { id: 2, enabled: false, maximumAmount: '2' },
    ]);
    expect(Object.keys(content)).toEqual(['corridors']);
  });

  it.each<[string, () => unknown, string]>([
    [
      'an amount that is a number',
      () => read('terms:', '  all:', '    minimumAmount: 1000'),
      'line 3, terms.all.minimumAmount: Write a text; in quotes if it consists of digits.',
    ],
    [
      'a currency that is none',
      () => read('swiftMinimums:', `  XYZ: '1'`),
      'line 2, swiftMinimums.XYZ: ISO 4217 has no such currency',
    ],
    [
      'a metal',
      () => read('products:', '  - { id: 1, name: Gold, currency: XAU }'),
      'line 2, products[0].currency: ISO 4217',
    ],
    [
      'a country that is none',
      () => read('purposes:', '  - { code: A, text: B, countries: [ZZ] }'),
      'line 2, purposes[0].countries[0]: ISO 3166-1',
    ],
    [
      'terms without a name',
      () => corridors(`  - { ${INDIA.replace('all', 'none')}, beneficiaryAccountType: Individual }`),
      'line 3, corridors[0].terms: The document has no terms of this name.',
    ],
    [
      'an id given twice',
      () =>
        corridors(
          `  - { ${INDIA}, beneficiaryAccountType: Individual }`,
          `  - { ${INDIA}, beneficiaryAccountType: Corporate }`,
        ),
      'line 4, corridors[1].id: Another corridor has this id.',
    ],
    [
      'a route given twice',
      () =>
        corridors(
          `  - { ${INDIA}, beneficiaryAccountType: Individual }`,
          `  - { ${INDIA.replace('1', '2')}, beneficiaryAccountType: Individual }`,
        ),
      'line 4, corridors[1]: Another corridor has the same country',
    ],
    [
      'a country without a format of accounts',
      () => corridors(`  - { ${INDIA.replace('IN', 'AQ')}, beneficiaryAccountType: Individual }`),
      'line 3, corridors[0]: There is no format of account numbers',
    ],
    [
      'a maximum below its minimum',
      () => read('terms:', `  all: ${TERMS.replace('5000', '999')}`, 'corridors: []'),
      'line 2, terms.all.maximumAmount: The maximum is below the minimum.',
    ],
    [
      'terms that nothing has',
      () => read('terms:', `  all: ${TERMS}`),
      'line 2, terms.all: No corridor has these terms.',
    ],
    [
      'a code given twice',
      () => read('purposes:', '  - { code: A, text: B }', '  - { code: A, text: C }'),
      'line 3, purposes[1].code: The code is on this list twice.',
    ],
    [
      'a time that is none',
      () => read('effectiveAt: 2027-02-30T00:00:00Z'),
      'line 1, effectiveAt: There is no such time, or it is after the year 9998.',
    ],
    [
      'an invisible character',
      () => read('products:', '  - { id: 1, name: "a\\u202eb", currency: EUR }'),
      'line 2, products[0].name: The text has',
    ],
  ])('is refused for %s, with the line and the field', (_, work, message) => {
    expect(work).toThrow(message);
  });

  it('is written so that it is read as the same content', () => {
    const demo = { ...newProducts(), ...demoReference() };
    const parts = fc.subarray(Object.keys(demo) as (keyof typeof demo)[]);

    fc.assert(
      fc.property(parts, fc.subarray([...demo.corridors!]), (kept, routes) => {
        const content = Object.fromEntries(kept.map((part) => [part, part === 'corridors' ? routes : demo[part]]));
        const text = writeReferenceDocument(content);
        expect(readReferenceDocument('written', text).content).toEqual(content);
      }),
      { numRuns: 20, examples: [[Object.keys(demo) as (keyof typeof demo)[], [...demo.corridors!]]] },
    );
  });
});
