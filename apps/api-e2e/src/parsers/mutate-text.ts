import type { SeededRandom } from './seeded-random.js';

/** What a mutation may use besides the input itself. */
export interface MutationSource {
  readonly random: SeededRandom;
  readonly tokens: readonly string[];
  /** Inputs that reached new blocks. */
  readonly inputs: readonly string[];
  readonly lengthMax: number;
}

const CHARACTERS = [
  ...' !"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~',
  ...'0123456789aAzZeExX',
  ...[
    '\0',
    '\t',
    '\n',
    '\r',
    '\x7f',
    '\x85',
    '\xa0',
    'ß',
    'İ',
    '٣',
    '１',
    '漢',
    '\u200b',
    '\u2028',
    '\u202e',
    '\ufeff',
  ],
  ...['\ud800', '\udc00', '\u{1f600}', '\u{e0041}', '\u{f0000}', 'e\u0301'],
];
const NUMBERS = [
  ...['0', '1', '-1', '-0', '01', '1e3', '0.5', '1e400', '255', '65536', '2147483648', '4294967296'],
  ...['9007199254740991', '9007199254740993', '9223372036854775807', '9223372036854775808', '99999999999999999999'],
];

type Change = (text: string, from: number, to: number, source: MutationSource) => string;

const cut = (text: string, from: number, to: number, between: string) => text.slice(0, from) + between + text.slice(to);

/** Each takes a text and a range of it. */
const CHANGES: readonly Change[] = [
  (text, from, to) => cut(text, from, to, ''),
  (text, from, to) => cut(text, to, to, text.slice(from, to)),
  (text, from, _, { random }) => cut(text, from, from, random.oneOf(CHARACTERS)),
  (text, from, _, { random }) => cut(text, from, from + 1, random.oneOf(CHARACTERS)),
  (text, from, to, { random, tokens }) => cut(text, from, to, tokens.length > 0 ? random.oneOf(tokens) : ''),
  (text, from, _, { random, tokens }) => cut(text, from, from, tokens.length > 0 ? random.oneOf(tokens) : ''),
  (text, from, to, { random }) => cut(text, from, to, random.oneOf(NUMBERS)),
  (text, from, to) => cut(text, from, to, [...text.slice(from, to)].reverse().join('')),
  (text, from, to, { random }) => {
    const part = text.slice(from, to);
    return cut(text, from, to, random.isOneIn(2) ? part.toUpperCase() : part.toLowerCase());
  },
  (text, from, _, { random }) => {
    const code = text.charCodeAt(from);
    return Number.isNaN(code) ? text : cut(text, from, from + 1, String.fromCharCode(code ^ (1 << random.below(7))));
  },
  (text, from, _, { random, inputs }) => {
    const other = inputs.length > 0 ? random.oneOf(inputs) : '';
    return text.slice(0, from) + other.slice(random.below(other.length + 1));
  },
  // Long inputs show whether the time of a parser grows faster than its input.
  (text, from, to, { random, lengthMax }) => {
    const part = text.slice(from, to);
    const times = part === '' || !random.isOneIn(8) ? 1 + random.below(20) : Math.floor(lengthMax / part.length);
    return cut(text, from, to, part.repeat(times));
  },
];

/** Changes a text in one to four places. The result is at most as long as an input may be. */
export function mutateText(text: string, source: MutationSource): string {
  const { random, lengthMax } = source;
  let changed = text;
  for (let times = 1 + random.below(4); times > 0; times -= 1) {
    const from = random.below(changed.length + 1);
    const to = Math.min(changed.length, from + random.below(random.isOneIn(4) ? changed.length + 1 : 9));
    changed = random.oneOf(CHANGES)(changed, from, to, source).slice(0, lengthMax);
  }
  return changed;
}
