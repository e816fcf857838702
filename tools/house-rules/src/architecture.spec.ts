import { posix } from 'node:path';
import { importGraph } from './imports.js';
import { read } from './workspace.js';

const PAGE = 'docs/architecture.md';
const STEPS_MAX = 12;
/** Controllers and implementations meet in the port, which Nest injects. */
const PORT = /\bBankingService\b/;

const imports = importGraph();

/** The files of the numbered steps below a heading. */
function stepsBelow(heading: string, text = read(PAGE)): string[] {
  const [section = ''] = (text.split(`\n## ${heading}\n`)[1] ?? '').split('\n## ');
  return [...section.matchAll(/^\d+\. \[[^\]]+\]\(([^)]+)\)/gm)].map(([, link = '']) =>
    posix.join(posix.dirname(PAGE), link),
  );
}

/** The files that a file imports, also through the index of a package. */
function importsOf(file: string): ReadonlySet<string> {
  const targets = (imports.get(file) ?? []).flatMap(({ specifier, target }) => {
    if (target !== undefined) return [target];
    const [, name] = /^@banking\/([\w-]+)$/.exec(specifier) ?? [];
    return name === undefined ? [] : exportsOf(`libs/${name}/src/index.ts`);
  });
  return new Set(targets);
}

const exportsOf = (index: string) => (imports.get(index) ?? []).flatMap(({ target }) => target ?? []);

/** The steps that no earlier step leads to: by an import of either file, or by the port. */
const unreached = (steps: readonly string[]): string[] =>
  steps.filter(
    (step, index) =>
      index > 0 &&
      !steps
        .slice(0, index)
        .some(
          (earlier) =>
            importsOf(earlier).has(step) ||
            importsOf(step).has(earlier) ||
            (PORT.test(read(earlier)) && PORT.test(read(step))),
        ),
  );

describe.each(['The way of a request', 'The way of a payment'])('%s', (heading) => {
  it(`has at most ${STEPS_MAX} steps, each joined to an earlier one`, () => {
    const steps = stepsBelow(heading);

    expect(steps.length).toBeGreaterThan(5);
    expect(steps.length).toBeLessThanOrEqual(STEPS_MAX);
    expect(unreached(steps)).toEqual([]);
  });
});

it('finds a step that nothing leads to', () => {
  const steps = stepsBelow('The way of a request').slice(0, 8);
  const session = 'libs/postgres/src/session.ts';

  expect(unreached([...steps, session])).toEqual([session]);
});
