import * as fc from 'fast-check';
import { hasForbiddenCharacter, isFreeText } from '@banking/domain';
import { canonicalJson, type CanonicalValue } from '@banking/domain/proof';
import { demoReference } from '../reference-document.js';
import { checkBeneficiaryTexts, recipientSchemasOf } from './recipient-schema.js';

const [schema] = recipientSchemasOf(
  demoReference().corridors!.filter(
    (corridor) => corridor.destinationCountry === 'IN' && corridor.payoutMethod === 'SWIFT',
  ),
);
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
  const { pattern: source = '' } = schema?.properties.beneficiaryName ?? {};
  const pattern = new RegExp(source, 'u');
  const hasLetter = (text: string) => /[\p{L}\p{N}]/u.test(text);

  it('refuses exactly the characters that free text forbids', () => {
    const others: string[] = [];
    for (let code = 0; code <= 0x10ffff; code += 1) {
      const character = String.fromCodePoint(code);
      if (pattern.test(`a${character}b`) === hasForbiddenCharacter(character)) others.push(code.toString(16));
    }
    expect(others).toEqual([]);
  });

  it('accepts only free text with a letter or digit and without spaces at either end', () => {
    let accepted = 0;
    fc.assert(
      fc.property(texts, (text) => {
        if (!pattern.test(text)) return;
        accepted += 1;
        expect({ text, isFree: isFreeText(text, Infinity), hasLetter: hasLetter(text) }).toEqual({
          text: text.trim(),
          isFree: true,
          hasLetter: true,
        });
      }),
      { numRuns: 2_000 },
    );
    expect(accepted).toBeGreaterThan(100);
  });

  it('accepts all free text that begins with punctuation, a letter or a digit', () => {
    let accepted = 0;
    fc.assert(
      fc.property(texts, (text) => {
        if (!isFreeText(text, Infinity) || text !== text.trim()) return;
        if (!/^[\p{P}\p{S} ]*[\p{L}\p{N}]/u.test(text)) return;
        accepted += 1;
        expect([text, pattern.test(text)]).toEqual([text, true]);
      }),
      { numRuns: 2_000 },
    );
    expect(accepted).toBeGreaterThan(100);
  });

  it('can be read by a person', () => {
    expect(source.length).toBeLessThan(160);
    expect(source).not.toMatch(/\\u/);
  });
});

/** Texts of all characters, and of a few between letters: spaces, punctuation, format and private-use characters, halves of pairs. */
const texts = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({
    unit: fc.constantFrom(
      'a',
      'É',
      '山',
      '1',
      ' ',
      '\u00a0',
      '\u3000',
      '-',
      '(',
      '+',
      '\u0301',
      '𠮷',
      '🏦',
      '\u200b',
      '\ue000',
      '\ud800',
      '\n',
    ),
  }),
  fc
    .tuple(fc.string(), fc.constantFrom('', '\u2028', '\ufffe', '\u{e0041}'), fc.string())
    .map((parts) => parts.join('')),
);
