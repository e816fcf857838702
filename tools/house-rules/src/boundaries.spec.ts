import { PROJECTS } from '../projects.mjs';
import { importGraph, isSpec } from './imports.js';
import { type Project, projects } from './workspace.js';

const TYPES: Readonly<Record<string, string>> = { apps: 'app', libs: 'lib', tools: 'tool' };
const SCOPE = '@banking/';
const ROWS = Object.entries(PROJECTS);

const imports = importGraph();

const nameOf = ({ folder }: Project): string => folder.split('/')[1]!;

describe('the table of projects', () => {
  it.each(projects())('has a row for $folder, and its package has both tags', (project) => {
    const type = TYPES[project.folder.split('/')[0]!];

    expect(project.manifest.nx?.tags).toEqual([`scope:${nameOf(project)}`, `type:${type}`]);
    expect(PROJECTS).toHaveProperty([nameOf(project), 'type'], type);
  });

  it('names only projects of the workspace', () => {
    const names = projects().map(nameOf);

    const named = ROWS.flatMap(([name, { mayImport, specsMayImport = [] }]) => [name, ...mayImport, ...specsMayImport]);
    expect(named.filter((name) => !names.includes(name))).toEqual([]);
  });

  it('has only arrows that an import uses', () => {
    const used = usedArrows(() => true);

    const arrows = ROWS.flatMap(([name, { mayImport }]) => mayImport.map((one) => `${name} -> ${one}`));
    expect(arrows.filter((arrow) => !used.has(arrow))).toEqual([]);
  });

  it('has only arrows of specs that a spec uses', () => {
    const used = usedArrows(isSpec);

    const arrows = ROWS.flatMap(([name, { specsMayImport = [] }]) => specsMayImport.map((one) => `${name} -> ${one}`));
    expect(arrows.filter((arrow) => !used.has(arrow))).toEqual([]);
  });

  it('has no cycle, specs included', () => {
    const isCyclic = (name: string, path: readonly string[]): boolean => {
      const { mayImport, specsMayImport = [] } = PROJECTS[name]!;
      return path.includes(name) || [...mayImport, ...specsMayImport].some((other) => isCyclic(other, [...path, name]));
    };

    expect(Object.keys(PROJECTS).filter((name) => isCyclic(name, []))).toEqual([]);
  });
});

/** The arrows that the imports of some files make, each as `operations -> ledger`. */
function usedArrows(isCounted: (file: string) => boolean): ReadonlySet<string> {
  const counted = [...imports].filter(([file]) => isCounted(file));
  return new Set(
    counted.flatMap(([file, imported]) =>
      imported.map(({ specifier }) => `${file.split('/')[1]} -> ${packageOf(specifier)}`),
    ),
  );
}

/** `ledger` of `@banking/ledger/testing`; undefined for a package that is not ours. */
function packageOf(specifier: string): string | undefined {
  return specifier.startsWith(SCOPE) ? specifier.slice(SCOPE.length).split('/')[0] : undefined;
}
