import { FORBIDDEN_FOLDERS } from '../projects.mjs';
import { fileCycles, folderCycles } from './cycles.js';
import { type ImportGraph, importGraph, importsIn, isSpec } from './imports.js';

/** A graph of files by their imports, as `importGraph` reads it from code. */
function graphOf(code: Readonly<Record<string, string>>): ImportGraph {
  const tracked = new Set(Object.keys(code));
  return new Map(Object.entries(code).map(([file, text]) => [file, importsIn(file, text, tracked)]));
}

/** The imports of production code that FORBIDDEN_FOLDERS excludes, each as `file -> file`. */
function forbiddenImports(imports: ImportGraph): string[] {
  return Object.entries(FORBIDDEN_FOLDERS).flatMap(([folder, forbidden]) =>
    [...imports]
      .filter(([file]) => file.startsWith(`${folder}/`) && !isSpec(file))
      .filter(([file]) => !forbidden.some((one) => file.startsWith(`${one}/`)))
      .flatMap(([file, imported]) => imported.map(({ target = '' }) => ({ file, target })))
      .filter(({ target }) => forbidden.some((one) => target.startsWith(`${one}/`)))
      .map(({ file, target }) => `${file} -> ${target}`),
  );
}

describe('imports of the repository', () => {
  const imports = importGraph();

  it('have no cycle between files', () => {
    expect(imports.size).toBeGreaterThan(500);
    expect(fileCycles(imports)).toEqual([]);
  });

  it('have no cycle between the folders of the api', () => {
    expect(folderCycles(imports, 'apps/api/src')).toEqual([]);
  });

  it('leave folders independent of those that FORBIDDEN_FOLDERS names', () => {
    expect(forbiddenImports(imports)).toEqual([]);
  });
});

describe('fileCycles', () => {
  it.each([
    ['a value import', `import { b } from './b.js';`],
    ['a type import', `import type { B } from './b.js';`],
    ['a dynamic import', `const b = await import('./b.js');`],
  ])('reports a cycle through %s', (_kind, text) => {
    const code = {
      'libs/x/src/a.ts': text,
      'libs/x/src/b.ts': `export * from './c.js';`,
      'libs/x/src/c.ts': `import './a.js';`,
    };

    expect(fileCycles(graphOf(code))).toEqual([
      'libs/x/src/a.ts -> libs/x/src/b.ts -> libs/x/src/c.ts -> libs/x/src/a.ts',
    ]);
  });

  it('accepts two files that import a third', () => {
    const code = {
      'libs/x/src/a.ts': `import './b.js';\nimport './c.js';`,
      'libs/x/src/b.ts': `import './c.js';`,
      'libs/x/src/c.ts': '',
    };

    expect(fileCycles(graphOf(code))).toEqual([]);
  });
});

describe('folderCycles', () => {
  const code = {
    'apps/api/src/main.ts': `import './http/server.js';`,
    'apps/api/src/http/server.ts': `import '../orders/order.js';`,
    'apps/api/src/orders/order.ts': '',
    'apps/api/src/orders/order.controller.ts': `import '../http/errors.js';`,
    'apps/api/src/http/errors.ts': '',
  };

  it('reports two folders that import each other through different files', () => {
    expect(folderCycles(graphOf(code), 'apps/api/src')).toEqual(['http -> orders -> http']);
    expect(fileCycles(graphOf(code))).toEqual([]);
  });
});

describe('forbiddenImports', () => {
  it.each(['access', 'gateway'])('reports an import of %s by the http folder', (folder) => {
    const target = `apps/api/src/${folder}/caller.ts`;
    const code = { 'apps/api/src/http/errors.ts': `import '../${folder}/caller.js';`, [target]: '' };

    expect(forbiddenImports(graphOf(code))).toEqual([`apps/api/src/http/errors.ts -> ${target}`]);
  });
});
