import { demoReference } from '../reference-document.js';
import { recipientSchemasOf } from './recipient-schema.js';

/** 64 KiB, the length limit of a request body. */
const LONG = 65_536;

/** Every pattern of every schema once, with an example that it matches. */
const patterns = new Map(
  recipientSchemasOf(demoReference().corridors!)
    .flatMap(({ properties }) =>
      Object.values(properties).map(({ pattern = '', examples }) => [pattern, examples[0] ?? ''] as const),
    )
    .filter(([pattern]) => pattern !== ''),
);

describe('each pattern of a schema', () => {
  it('is anchored at both ends and matches its example', () => {
    expect(patterns.size).toBeGreaterThan(150);
    for (const [pattern, example] of patterns) {
      expect(pattern).toMatch(/^\^.*\$$/);
      expect([pattern, new RegExp(pattern, 'u').test(example)]).toEqual([pattern, true]);
    }
  });

  it('needs a few steps for each of 64 KiB in a backtracking engine', () => {
    const slow = [...patterns].filter(([pattern, example]) => {
      const run = engineOf(pattern);
      const real = new RegExp(pattern, 'u');
      return pumped(example).some((text) => {
        const { steps, matched } = run(text);
        if (matched !== real.test(text)) throw new Error(`the engine of this test reads ${pattern} otherwise`);
        return steps > 6 * text.length;
      });
    });

    expect(slow).toEqual([]);
  });

  it('is distinguished by the count of steps from an exponential or quadratic pattern', () => {
    expect(engineOf('^(?:[a-z]{1,9}){1,9}$')(`${'a'.repeat(16)}!`).steps).toBeGreaterThan(10_000);
    expect(engineOf('^[a-z]*[a-z]*$')(`${'a'.repeat(200)}!`).steps).toBeGreaterThan(10_000);
  });
});

const ENDS = ['', '\u0000'];
const RUNS = ['0', 'A', 'a', ' ', '!', '! ', 'é', 'a@a.'].flatMap((run) => ENDS.map((end) => run.repeat(LONG) + end));

/** Texts that make engines backtrack: long runs that match, with an end that does not. */
function pumped(example: string): string[] {
  const grown = [example.repeat(LONG / example.length), example + 'a'.repeat(LONG), `${example}@${'a.'.repeat(LONG)}`];
  return [...RUNS, ...grown.flatMap((text) => ENDS.map((end) => text + end))];
}

type Engine = (text: string) => { steps: number; matched: boolean };
type Next = (at: number) => boolean;
type Atom = { readonly one: (char: string) => boolean } | { readonly group: readonly Part[][] };
type Part = { readonly atom: Atom; readonly least: number; readonly most: number };

/** A matcher that backtracks like the engines of browsers and Node, and counts the compared characters. */
function engineOf(pattern: string): Engine {
  const whole = partsOf(pattern.slice(1, -1));
  return (text) => {
    let steps = 0;
    const looks = (one: (char: string) => boolean, at: number) => {
      steps += 1;
      return at < text.length && one(text.charAt(at));
    };
    const sequence = (parts: readonly Part[], index: number, at: number, next: Next): boolean => {
      const part = parts[index];
      if (part === undefined) return next(at);
      const rest: Next = (after) => sequence(parts, index + 1, after, next);
      const { atom } = part;
      return 'one' in atom ? run(atom.one, part, at, rest) : repeat(atom.group, part, 0, at, rest);
    };
    const run = (one: (char: string) => boolean, { least, most }: Part, at: number, next: Next) => {
      let count = 0;
      while (count < most && looks(one, at + count)) count += 1;
      for (; count >= least; count -= 1) if (next(at + count)) return true;
      return false;
    };
    const repeat = (group: readonly Part[][], part: Part, done: number, at: number, next: Next): boolean => {
      const again: Next = (after) => after > at && repeat(group, part, done + 1, after, next);
      if (done < part.most && group.some((choice) => sequence(choice, 0, at, again))) return true;
      return done >= part.least && next(at);
    };
    const matched = sequence(whole, 0, 0, (at) => {
      steps += 1;
      return at === text.length;
    });
    return { steps, matched };
  };
}

/** Parses a pattern into characters, classes and groups with choices, each with its repetition. */
function partsOf(source: string): Part[] {
  const parts: Part[] = [];
  let rest = source;
  while (rest !== '') {
    const [taken, atom] = atomOf(rest);
    rest = rest.slice(taken.length);
    const times = /^(?:[?*+]|\{[0-9]+(?:,[0-9]+)?\})/.exec(rest)?.[0] ?? '';
    rest = rest.slice(times.length);
    parts.push({ atom, ...timesOf(times) });
  }
  return parts;
}

function atomOf(source: string): [taken: string, atom: Atom] {
  if (source.startsWith('(?:')) {
    const taken = groupAt(source);
    return [taken, { group: taken.slice(3, -1).split('|').map(partsOf) }];
  }
  const taken = /^(?:\[(?:\\.|[^\]\\])+\]|\\.|[^()[\]{}?*+|\\])/u.exec(source)?.[0];
  if (taken === undefined) throw new Error(`beyond what this test reads: ${source}`);
  const one = new RegExp(`^${taken}$`, 'u');
  return [taken, { one: (char) => one.test(char) }];
}

/** A group up to its end. Groups contain no groups, and bars only between choices. */
function groupAt(source: string): string {
  const taken = /^\(\?:(?:\[(?:\\.|[^\]\\])+\]|\\.|[^()[\]\\])*\)/u.exec(source)?.[0];
  if (taken === undefined) throw new Error(`beyond what this test reads: ${source}`);
  return taken;
}

function timesOf(text: string): { least: number; most: number } {
  if (text === '') return { least: 1, most: 1 };
  if (text === '?') return { least: 0, most: 1 };
  if (text === '*') return { least: 0, most: Infinity };
  if (text === '+') return { least: 1, most: Infinity };
  const [least, most] = text.slice(1, -1).split(',').map(Number);
  return { least: least ?? 0, most: most ?? least ?? 0 };
}
