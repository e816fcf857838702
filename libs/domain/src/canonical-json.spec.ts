import * as fc from 'fast-check';
import { canonicalItems, canonicalJson, canonicalMembers, type CanonicalValue } from './canonical-json.js';

const text = fc.string({ unit: 'binary' });
const values = fc.letrec<{ value: CanonicalValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.oneof(text, fc.maxSafeInteger(), fc.boolean(), fc.constant(null)),
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(text, tie('value'), { maxKeys: 5 }),
  ),
})).value;

describe('canonical JSON', () => {
  it('is JSON that parses to the same value', () => {
    fc.assert(fc.property(values, (value) => void expect(JSON.parse(canonicalJson(value))).toEqual(value)));
  });

  it('does not depend on the order of members', () => {
    fc.assert(fc.property(values, (value) => canonicalJson(reversed(value)) === canonicalJson(value)));
  });

  it('has one form, which does not change when it is parsed and written again', () => {
    fc.assert(
      fc.property(values, (value) => {
        const written = canonicalJson(value);
        return canonicalJson(JSON.parse(JSON.stringify(value, undefined, 2)) as CanonicalValue) === written;
      }),
    );
  });

  it('orders members by UTF-16 code units, as the example of RFC 8785 section 3.2.3 does', () => {
    const example = {
      '\u20ac': 'Euro Sign',
      '\r': 'Carriage Return',
      '\ufb33': 'Hebrew Letter Dalet With Dagesh',
      '1': 'One',
      '\ud83d\ude00': 'Emoji: Grinning Face',
      '\u0080': 'Control',
      '\u00f6': 'Latin Small Letter O With Diaeresis',
    };

    expect(canonicalJson(example)).toBe(
      '{"\\r":"Carriage Return","1":"One","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis",' +
        '"\u20ac":"Euro Sign","\ud83d\ude00":"Emoji: Grinning Face","\ufb33":"Hebrew Letter Dalet With Dagesh"}',
    );
  });

  it('writes strings and literals as the example of RFC 8785 section 3.2.2 does', () => {
    const example = { string: '\u20ac$\u000F\u000aA\'\u0042\u0022\u005c\\"/', literals: [null, true, false] };

    expect(canonicalJson(example)).toBe(
      '{"literals":[null,true,false],"string":"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    );
  });

  it('writes zero without a sign', () => {
    expect(canonicalJson([0, -0])).toBe('[0,0]');
  });

  it.each([0.5, 1e21, 2 ** 53, NaN, Infinity])('refuses the number %p', (value) => {
    expect(() => canonicalJson([value])).toThrow('not a safe integer');
  });

  it.each([['\ud800'], ['a\udc00b'], [{ '\udfff': 1 }]])('refuses a lone surrogate: %j', (value) => {
    expect(() => canonicalJson(value)).toThrow('surrogate');
  });

  it.each([undefined, 1n, Symbol('s'), () => 1, new Date(0), new Map()])(
    'refuses %p, which JSON cannot represent',
    (value) => {
      expect(() => canonicalJson({ value } as unknown as CanonicalValue)).toThrow();
      expect(() => canonicalJson([value] as unknown as CanonicalValue)).toThrow();
    },
  );

  it.each<[unknown, string]>([
    [0.5, 'not a safe integer, at ""'],
    [{ amount: 2 ** 60 }, 'not a safe integer, at "/amount"'],
    [{ data: [{ name: 'a' }, { name: 'Asha\ud800' }] }, 'a lone surrogate has no UTF-8 form, at "/data/1/name"'],
    [{ data: { 'Asha\ud800': 1 } }, 'a lone surrogate has no UTF-8 form, at "/data"'],
    [{ metadata: { '50100123456789': 0.5 } }, 'not a safe integer, at "/metadata/*"'],
    [{ metadata: { 'Asha Rao': undefined } }, 'not a JSON value, at "/metadata/*"'],
  ])('names the position of %j, and not the value', (value, message) => {
    expect(() => canonicalJson(value as CanonicalValue)).toThrow(new Error(message));
  });

  it('never repeats a value in a message', () => {
    const secret = fc.constantFrom('Zq8typed\ud800', 83.25, 2 ** 61, 1.2345e300);
    const holder = fc.letrec<{ holder: unknown }>((tie) => ({
      holder: fc.oneof(
        { maxDepth: 4 },
        secret,
        fc.tuple(tie('holder'), values),
        fc.record({ a: tie('holder'), b: values }),
      ),
    })).holder;
    fc.assert(
      fc.property(holder, (value) => {
        expect(() => canonicalJson(value as CanonicalValue)).toThrow(
          /^(?!.*(?:Zq8|83|23058|1\.2345))[a-zA-Z0-9,"/ *-]+$/,
        );
      }),
    );
  });

  it('refuses a missing element of an array, which JSON.stringify would fill', () => {
    expect(() => canonicalJson(new Array(1) as CanonicalValue[])).toThrow();
  });
});

/** The same value with the members of every object in the opposite order. */
function reversed(value: CanonicalValue): CanonicalValue {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return (value as readonly CanonicalValue[]).map(reversed);
  const members = Object.entries(value).reverse();
  return Object.fromEntries(members.map(([name, member]) => [name, reversed(member)]));
}

interface Known {
  readonly required: CanonicalValue;
  readonly 'a/b': CanonicalValue | undefined;
  readonly é: CanonicalValue | undefined;
  readonly items: readonly CanonicalValue[];
}

const ifDefined = (value: CanonicalValue | undefined) => (value === undefined ? undefined : canonicalJson(value));

const knownText = canonicalMembers<Known>({
  required: canonicalJson,
  'a/b': ifDefined,
  é: ifDefined,
  items: canonicalItems(canonicalJson),
});

/** The text, or the message of the error. */
function outcomeOf(write: () => string): string {
  try {
    return write();
  } catch (error) {
    return String(error);
  }
}

describe('a writer of members', () => {
  const broken = fc.constantFrom<unknown>(0.5, undefined, '\ud800', { a: [undefined] }, new Date(0));
  const value = fc.oneof({ weight: 5, arbitrary: values }, { weight: 1, arbitrary: broken as typeof values });
  const known = fc.record(
    { required: value, 'a/b': fc.option(value, { nil: undefined }), é: value, items: fc.array(value), other: broken },
    { requiredKeys: ['required', 'items'] },
  ) as fc.Arbitrary<Known>;

  it('writes what `canonicalJson` writes for an object with these members, and has its errors', () => {
    fc.assert(
      fc.property(known, (object) => {
        const { required, items, 'a/b': first, é: second } = object;
        const members = {
          ...(first !== undefined && { 'a/b': first }),
          ...{ items, required },
          ...(second !== undefined && { é: second }),
        };
        expect(outcomeOf(() => knownText(object))).toBe(outcomeOf(() => canonicalJson(members)));
      }),
      { numRuns: 1_000 },
    );
  });

  it('writes an object without members', () => {
    expect(canonicalMembers<{ a?: string }>({ a: ifDefined })({})).toBe('{}');
  });
});
