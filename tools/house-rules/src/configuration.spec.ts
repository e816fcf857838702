import { read } from './workspace.js';

const PAGE = 'docs/configuration.md';

/** The names of environment variables in a text: in capitals, in a usage at the beginning of a line or after a comma. */
const namesIn = (text: string) => [
  ...new Set(text.match(/\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b|\b(?:HOST|PORT|DOCS|WORKER|SANDBOX)\b/g)),
];

/** The usage of each program. A test of api and worker proves that theirs names every variable that the program reads. */
const usages = ['apps/api/src/config.ts', 'apps/worker/src/config.ts', 'apps/cli/src/program.ts'].map((file) => {
  const text = read(file);
  return [
    file,
    namesIn(text.slice(text.search(/^(?:Configuration, by environment|.*Environment variables)/m))),
  ] as const;
});

/** The names in the first columns of the tables of the page. */
const documented = [...read(PAGE).matchAll(/^\| (`[^|]+`) +\|/gm)].flatMap(([, cell = '']) => namesIn(cell));

describe('the page of environment variables', () => {
  it.each(usages)('lists each variable that %s names', (_, names) => {
    expect(names.length).toBeGreaterThan(5);
    expect(names.filter((name) => !documented.includes(name))).toEqual([]);
  });

  it('lists no other variable', () => {
    const named = usages.flatMap(([, names]) => names);

    expect(documented.filter((name) => !named.includes(name))).toEqual([]);
  });
});
