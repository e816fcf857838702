import { node } from './node.js';
import { projects, ROOT } from './workspace.js';

jest.setTimeout(300_000);

/** Runs Nx without its daemon and cache, and returns what it printed. */
const nx = (...args: string[]): string => node(ROOT, ['node_modules/nx/dist/bin/nx.js', ...args, '--skip-nx-cache']);

const names = projects().map(({ manifest }) => manifest.name);

describe('the tasks of Nx', () => {
  it('build and type-check every project', () => {
    const builds = nx('run-many', '--targets', 'build,typecheck', '--output-style=static');

    for (const name of names.filter((one) => one !== '@banking/tools'))
      expect(builds).toContain(`nx run ${name}:build`);
    expect(builds).toContain('Successfully ran targets build, typecheck');
  });

  it.each([
    ['libs/domain/src/amount.ts', names.length - 5],
    ['libs/postgres/src/database.ts', 10],
    ['libs/ledger/src/index.ts', 8],
    ['libs/operations/src/index.ts', 6],
    ['apps/api/src/main.ts', 1],
    ['tools/bench/src/main.ts', 1],
  ])('have an order for those that a change of %s affects', (file, atLeast) => {
    const shown = nx('affected', '--files', file, '--targets', 'build,typecheck,test,lint', '--graph', 'stdout');
    const { tasks } = JSON.parse(shown.slice(shown.indexOf('{'))) as {
      readonly tasks: { readonly tasks: Readonly<Record<string, unknown>> };
    };

    const tested = Object.keys(tasks.tasks).filter((task) => task.endsWith(':test'));
    expect(tested.length).toBeGreaterThanOrEqual(atLeast);
  });
});
