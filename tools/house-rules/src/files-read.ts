import { posix } from 'node:path';
import ts from 'typescript';
import { files, read } from './workspace.js';

/**
 * The tracked files outside of a project's folder that its code names, singly or by their folder: in one string, or in the strings of one call such
 * as `join(ROOT, 'docs', 'release.md')`. Imports are left out, since Nx finds those itself. A name that is not read
 * costs one input too many; a name put together at run time is missed.
 */
export function filesReadBy(folder: string): string[] {
  const tracked = new Set(files());
  const code = [...tracked].filter((file) => file.startsWith(`${folder}/`) && /\.[cm]?[jt]s$/.test(file));
  const named = new Set(code.flatMap((file) => filesNamedIn(file, read(file), tracked)));
  return [...named].filter((file) => !file.startsWith(`${folder}/`)).sort();
}

/** Those of the `tracked` files that the code of `file` names, each from the top of the workspace. */
export function filesNamedIn(file: string, code: string, tracked: ReadonlySet<string>): string[] {
  const named = pathsIn(ts.createSourceFile(file, code, ts.ScriptTarget.Latest, true))
    .flatMap((path) => [posix.join(posix.dirname(file), path), path.replace(/^(?:\.\.?\/)+/, '')])
    .flatMap((path) => (tracked.has(path) ? [path] : filesIn(path, tracked)));
  return [...new Set(named)];
}

/** A folder that is read stands for its files. A single name, such as `docs`, is too common a word to be one. */
function filesIn(folder: string, tracked: ReadonlySet<string>): string[] {
  return folder.includes('/') ? [...tracked].filter((file) => file.startsWith(`${folder}/`)) : [];
}

function pathsIn(node: ts.Node): string[] {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return [];
  const children: string[] = [];
  node.forEachChild((child) => void children.push(...pathsIn(child)));
  if (ts.isStringLiteralLike(node)) return [node.text];
  if (!ts.isCallExpression(node) && !ts.isNewExpression(node)) return children;
  const parts = [...(node.arguments ?? [])].filter((part) => ts.isStringLiteralLike(part)).map(({ text }) => text);
  return parts.length > 1 ? [...children, parts.join('/')] : children;
}
