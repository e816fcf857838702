import fc from 'fast-check';
import { hasRepeatedMember } from './repeated-member.js';

describe('hasRepeatedMember', () => {
  const isRepeatedIn = (text: string) => hasRepeatedMember(text, JSON.parse(text));

  it.each([
    '{"a":1,"a":1}',
    '{"a":1,"b":2,"a":2}',
    String.raw`{"a":1,"\u0061":2}`,
    String.raw`{"\"":1,"\u0022":2}`,
    '{"a":1 , "a"\r\n\t : 2}',
    '{"":1,"":2}',
    '{"__proto__":1,"__proto__":2}',
    '{"data":{"a":{"b":1,"b":2}}}',
    '[[{"a":1,"a":2}]]',
    '{"a":{"x":1},"a":{"y":2}}',
    '{"a":[[[[[[[[[[1]]]]]]]]]],"a":1}',
    '{"1":1,"1":2}',
    String.raw`{"\ud800":1,"\uD800":2}`,
  ])('is true for %s', (text) => {
    expect(isRepeatedIn(text)).toBe(true);
  });

  it.each([
    '{}',
    '[]',
    '"a"',
    '1',
    'null',
    '{"a":1,"A":2}',
    '{"a":{"a":{"a":1}},"b":[{"a":1},{"a":2}]}',
    '["a","a","a"]',
    '{"a":"a","b":"a"}',
    String.raw`{"a":"\"a\":1,\"a\":2"}`,
    String.raw`{"a":"\\","b":"\\\"a\":"}`,
    String.raw`{"a":1,"\\u0061":2}`,
    '{"__proto__":1,"constructor":2,"toString":3}',
    String.raw`{"\u00e9":1,"e\u0301":2}`,
  ])('is false for %s', (text) => {
    expect(isRepeatedIn(text)).toBe(false);
  });

  it('is true for exactly the texts with two equal names in one object', () => {
    let repeated = 0;
    fc.assert(
      fc.property(json, ({ text, isRepeated }) => {
        repeated += Number(isRepeated);
        expect(isRepeatedIn(text)).toBe(isRepeated);
      }),
      { numRuns: 2_000 },
    );
    expect(repeated).toBeGreaterThan(20);
  });

  // Quadratic time would take minutes for these.
  it.each([
    ['backslashes', `{"a":"${'\\\\'.repeat(1_000_000)}"}`],
    ['spaces', `{"a"${' '.repeat(2_000_000)}:1}`],
    ['spaces behind texts', `[${'"a"                  ,'.repeat(90_000)}1]`],
    ['names', `{"b":{${Array.from({ length: 200_000 }, (_, at) => `"${at}":1,`).join('')}"b":1}}`],
    ['texts', `[${'"",'.repeat(700_000)}""]`],
  ])('reads 2 MB of %s', (_, text) => {
    expect(isRepeatedIn(text)).toBe(false);
  });

  it('reads lists as deep as 64 KiB allow', () => {
    expect(isRepeatedIn(`{"a":${'['.repeat(30_000)}${']'.repeat(30_000)},"a":1}`)).toBe(true);
  });

  /** A JSON text, and whether one of its objects has two equal names. */
  interface Json {
    readonly text: string;
    readonly isRepeated: boolean;
  }

  const space = fc.constantFrom('', '', '', ' ', '\n\t', '\r\n  ');

  /** A JSON string with some of its characters escaped. */
  const escaped = (value: string) =>
    fc.infiniteStream(fc.boolean()).map((escapes) => {
      const units = Array.from({ length: value.length }, (_, at) => value.charAt(at));
      const written = units.map((unit) =>
        escapes.next().value === true
          ? `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
          : JSON.stringify(unit).slice(1, -1),
      );
      return `"${written.join('')}"`;
    });

  const word = fc
    .oneof(fc.constantFrom('a', 'b', '"', '\\', ':', '":', '__proto__', ''), fc.string({ maxLength: 5 }))
    .chain((value) => escaped(value).map((text) => ({ value, text })));

  const { json } = fc.letrec<{ json: Json }>((tie) => ({
    json: fc.oneof(
      { maxDepth: 5, depthSize: 'small' },
      fc.constantFrom('1', '-0.5e3', 'true', 'null').map((text) => ({ text, isRepeated: false })),
      word.map(({ text }) => ({ text, isRepeated: false })),
      fc.array(tie('json'), { maxLength: 4 }).chain((items) =>
        space.map((gap) => ({
          text: `[${items.map(({ text }) => `${gap}${text}${gap}`).join(',')}]`,
          isRepeated: items.some(({ isRepeated }) => isRepeated),
        })),
      ),
      fc.array(fc.tuple(word, space, tie('json')), { maxLength: 4 }).map((members) => ({
        text: `{${members.map(([name, gap, { text }]) => `${gap}${name.text}${gap}:${gap}${text}`).join(',')}}`,
        isRepeated:
          new Set(members.map(([name]) => name.value)).size < members.length ||
          members.some(([, , { isRepeated }]) => isRepeated),
      })),
    ),
  }));
});
