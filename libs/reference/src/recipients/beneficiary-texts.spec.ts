import * as fc from 'fast-check';
import { hasForbiddenCharacter } from '@banking/domain';
import { canonicalJson, type CanonicalValue } from '@banking/domain/proof';
import { checkBeneficiaryTexts } from './beneficiary-texts.js';
import { recipientSchemasOf } from './recipient-schemas-of.js';

const [schema] = recipientSchemasOf({ countryCode: 'IN', currencyCode: 'USD', payoutMethod: 'SWIFT' });
const example = schema?.examples[0] ?? {};
const fields = Object.keys(schema?.properties ?? {});

/** Half of a surrogate pair among letters. */
const halves = fc.tuple(fc.string(), fc.constantFrom('\ud800', '\udfff'), fc.string()).map((parts) => parts.join(''));

describe('checkBeneficiaryTexts', () => {
  it('accepts texts, also if the corridor requires more', () => {
    expect(checkBeneficiaryTexts(example)).toEqual([]);
    expect(checkBeneficiaryTexts({ beneficiaryName: 'x' })).toEqual([]);
    expect(checkBeneficiaryTexts({})).toEqual([]);
  });

  it.each([
    [{ beneficiaryName: 2 ** 60 }, ['/data/beneficiaryName type']],
    [
      { beneficiaryName: 'a\ud800', beneficiaryAddress: null },
      ['/data/beneficiaryName format', '/data/beneficiaryAddress type'],
    ],
    [{ routingCodeValue1: '\0' }, ['/data/routingCodeValue1 format']],
    [{ routingCodeValue1: '\u{e0001}' }, ['/data/routingCodeValue1 format']],
    [{ beneficiaryName: { beneficiaryName: 'x' } }, ['/data/beneficiaryName type']],
    [{ '\ud800': 'x' }, ['/data field_unknown']],
    [{ colour: 1 }, ['/data/colour field_unknown']],
    [JSON.parse('{"__proto__":"x"}'), ['/data field_unknown']],
  ])('reports for %j the faults %j', (data, faults) => {
    expect(checkBeneficiaryTexts(data).map(({ path, reason }) => `${path} ${reason}`)).toEqual(faults);
  });

  it('accepts only details that can be hashed', () => {
    const name = fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...fields) }, fc.string({ unit: 'binary' }));
    const value = fc.oneof(
      { weight: 3, arbitrary: fc.string({ unit: 'binary' }) },
      halves,
      fc.double(),
      fc.jsonValue(),
    );
    let hashed = 0;
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), fc.dictionary(name, value)), (sent) => {
        const data: unknown = JSON.parse(JSON.stringify(sent));
        if (checkBeneficiaryTexts(data).length > 0) return;
        hashed += 1;
        expect(typeof canonicalJson(data as CanonicalValue)).toBe('string');
      }),
      { numRuns: 1_000 },
    );
    expect(hashed).toBeGreaterThan(20);
  });
});

describe('the pattern of a name', () => {
  const pattern = new RegExp(schema?.properties.beneficiaryName.pattern ?? '', 'u');

  it('refuses exactly the characters up to U+FFFF that free text forbids', () => {
    const others: string[] = [];
    for (let code = 0; code <= 0xffff; code += 1) {
      const character = String.fromCharCode(code);
      if (pattern.test(`a${character}b`) === hasForbiddenCharacter(character)) others.push(code.toString(16));
    }
    expect(others).toEqual([]);
  });
});
