import { posix } from 'node:path';
import ts from 'typescript';
import { files, read } from './workspace.js';

/** What each file imports, by the file's path from the top of the workspace. */
export type ImportGraph = ReadonlyMap<string, readonly Import[]>;

export interface Import {
  /** As written: `./orders.js`, `@banking/domain`. */
  readonly specifier: string;
  /** The file of the workspace that a relative specifier names. */
  readonly target?: string;
}

const CODE = /^(?:apps|libs|tools)\/.*\.[cm]?[jt]s$/;
const SPEC = /\.spec\.ts$|\/testing\//;

/** Specs, and the builders and servers that only specs use. */
export const isSpec = (file: string): boolean => SPEC.test(file);

/** Reads the imports of every project file once. Type-only, dynamic and re-exporting imports count like any other. */
export function importGraph(): ImportGraph {
  const tracked = new Set(files());
  const code = [...tracked].filter((file) => CODE.test(file));
  return new Map(code.map((file) => [file, importsIn(file, read(file), tracked)]));
}

/** The imports of one file. `tracked` are the files that a relative specifier can name. */
export function importsIn(file: string, code: string, tracked: ReadonlySet<string>): Import[] {
  return ts.preProcessFile(code, true, true).importedFiles.map(({ fileName: specifier }) => {
    const target = specifier.startsWith('.') ? resolve(file, specifier, tracked) : undefined;
    return target === undefined ? { specifier } : { specifier, target };
  });
}

function resolve(file: string, specifier: string, tracked: ReadonlySet<string>): string | undefined {
  const path = posix.join(posix.dirname(file), specifier);
  return [path.replace(/\.(c|m)?js$/, '.$1ts'), path].find((candidate) => tracked.has(candidate));
}
