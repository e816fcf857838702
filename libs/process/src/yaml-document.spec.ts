import { ConfigError } from './environment-reader.js';
import { readYamlDocument, type ReportMistake } from './yaml-document.js';

const SCHEMA = {
  type: 'object',
  required: ['name'],
  additionalProperties: false,
  properties: {
    name: { type: 'string' },
    kind: { enum: ['small', 'large'] },
    prices: {
      type: 'array',
      maxItems: 3,
      items: {
        type: 'object',
        required: ['amount'],
        additionalProperties: false,
        properties: { amount: { type: 'string', pattern: '^[0-9]+$', description: 'digits in quotes.' } },
      },
    },
  },
};

const read = (text: string) => readYamlDocument<Record<string, unknown>>('prices.yaml', text, SCHEMA);

function mistakesIn(text: string): string[] {
  try {
    read(text);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return [...error.mistakes];
  }
  return [];
}

describe('a YAML document', () => {
  it('is read if it agrees with its schema, as JSON is', () => {
    const expected = { name: 'a', prices: [{ amount: '10' }] };

    expect(read(`name: a\nprices:\n  - amount: "10"\n`)).toEqual(expected);
    expect(read(JSON.stringify(expected))).toEqual(expected);
  });

  it('may name a value once and use it again', () => {
    expect(read(`name: a\nprices:\n  - &ten { amount: "10" }\n  - *ten\n`)).toMatchObject({
      prices: [{ amount: '10' }, { amount: '10' }],
    });
  });

  it.each<[string, string, string[]]>([
    ['a missing member', 'kind: small', ['line 1: The member name is missing. Add it.']],
    [
      'an unknown member',
      'name: a\nprices:\n  - amount: "1"\n    amuont: "2"',
      ['line 4, prices[0].amuont: There is no such member. Remove it, or correct its name.'],
    ],
    [
      'a number instead of a text',
      'name: a\nprices:\n  - { amount: "1" }\n  - { amount: 10 }',
      ['line 4, prices[1].amount: Write a text; in quotes if it consists of digits.'],
    ],
    ['another word', 'name: a\nkind: medium', ['line 2, kind: Write one of: small, large.']],
    [
      'a text of another form',
      'name: a\nprices: [{ amount: "1.5" }]',
      ['line 2, prices[0].amount: Write it as described: digits in quotes.'],
    ],
    [
      'too many elements',
      `name: a\nprices: [${Array<string>(4).fill('{ amount: "1" }').join(', ')}]`,
      ['line 2, prices: It must NOT have more than 3 items.'],
    ],
    ['an empty document', '', ['line 1: Write members with a name and a value.']],
    ['a member given twice', 'name: a\nname: b', ['line 2: This is not YAML: Map keys must be unique.']],
    [
      'a tag',
      'name: !!js/function secret',
      ['line 1: This is not YAML: Unresolved tag: tag:yaml.org,2002:js/function.'],
    ],
    [
      'an unfinished list',
      'name: [secret',
      ['line 1: This is not YAML: Flow sequence in block collection must be sufficiently indented and end with a ].'],
    ],
    [
      'an alias without anchor',
      'name: *secret',
      ['line 1: An alias names no anchor, or there are more than 1000 aliases. Write the values out.'],
    ],
  ])('is refused for %s, with its line and field', (_, text, expected) => {
    expect(mistakesIn(text)).toEqual(expected);
  });

  it('is refused if its aliases multiply', () => {
    const levels = Array.from(
      { length: 8 },
      (__, level) => `l${level + 1}: &l${level + 1} [${Array<string>(9).fill(`*l${level}`).join(', ')}]`,
    );

    expect(mistakesIn(`name: a\nl0: &l0 [x]\n${levels.join('\n')}`)).toEqual([
      'line 1: An alias names no anchor, or there are more than 1000 aliases. Write the values out.',
    ]);
  });

  it('is refused if it is nested too deeply', () => {
    expect(mistakesIn('['.repeat(200_000))).toEqual(['The document is nested too deeply. Remove brackets or dashes.']);
  });

  it('is refused if it is larger than 4 MB', () => {
    expect(mistakesIn(`name: ${'a'.repeat(4 * 1024 * 1024)}`)).toEqual([
      'The document has more than 4 MB. Remove what it does not need.',
    ]);
  });

  it('names all mistakes in one message, at most twenty of them', () => {
    const prices = Array.from({ length: 25 }, (__, index) => `  - { amount: x${index} }`);

    const message = (() => {
      try {
        return void read(`kind: medium\nprices:\n${prices.join('\n')}`);
      } catch (error) {
        return (error as Error).message;
      }
    })();

    expect(message?.split('\n')).toHaveLength(22);
    expect(message).toMatch(/^prices\.yaml has 28 mistakes:\n {2}- line 1: The member name/);
    expect(message).toMatch(/\n {2}- and 8 more$/);
    expect(message).not.toMatch(/medium|x1/);
  });

  it('has the mistakes that no schema finds, in the order of their lines', () => {
    const text = 'name: a\nprices:\n  - amount: "1"\n';
    const check = (_: unknown, report: ReportMistake) => {
      report(['prices', 0, 'missing'], 'None.');
      report(['prices', 0, 'amount'], 'Too small.');
      report([], 'Nothing fits.');
    };

    expect(() => readYamlDocument('prices.yaml', text, SCHEMA, check)).toThrow(
      'prices.yaml has 3 mistakes:\n' +
        '  - line 1: Nothing fits.\n  - line 3, prices[0].missing: None.\n  - line 3, prices[0].amount: Too small.',
    );
  });
});
