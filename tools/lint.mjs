import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, projectFolders, run } from './programs.mjs';

const CACHE = join(ROOT, 'node_modules/.cache/banking/eslint');
const RESULTS = join(CACHE, 'results.json');
const TYPES = join(CACHE, 'types');

/** All files are one program of the compiler. One for each project, as `nx lint` has it, takes a third more time for all of them. */
const ONE_PROGRAM = ['--parser-options=projectService:false', '--parser-options=project:./tools/tsconfig.lint.json'];

export const hasLintCache = () => existsSync(RESULTS) && existsSync(TYPES);

/**
 * Runs eslint over the whole repository, in one process, and returns its exit code.
 *
 * Unchanged files come from the cache while no declared type has changed: rules that read types depend on other files too.
 * So the declarations must be built before, if there is a cache.
 */
export async function lint(options) {
  if (!hasLintCache() || readFileSync(TYPES, 'utf8') !== typesDigest()) rmSync(CACHE, { recursive: true, force: true });
  // The results of this run count once keepLintCache has recorded their types.
  rmSync(TYPES, { force: true });
  // Without a project graph in Nx's cache, eslint skips the rule of the boundaries.
  const graph = await run('nx/dist/bin/nx.js', ['show', 'projects'], { heading: 'Projects' });
  if (graph !== 0) return graph;
  const cache = ['--cache', '--cache-strategy=content', `--cache-location=${RESULTS}`];
  return run('eslint/bin/eslint.js', ['.', ...ONE_PROGRAM, ...cache], options);
}

/** Records the types that belong to the results in the cache. Call it only if all declarations were built. */
export function keepLintCache() {
  mkdirSync(CACHE, { recursive: true });
  writeFileSync(TYPES, typesDigest());
}

/** A digest of all declared types, of our lint rules, and of the manifests, which hold the tags of the projects. */
function typesDigest() {
  const digest = createHash('sha256');
  const take = (file) =>
    digest
      .update(file)
      .update('\0')
      .update(readFileSync(join(ROOT, file)))
      .update('\0');
  const folders = projectFolders();
  for (const folder of folders) take(`${folder}/package.json`);
  for (const folder of [...folders.map((one) => `${one}/dist`), 'tools/house-rules/lint']) {
    for (const file of filesIn(folder)) if (/\.(?:d\.ts|mjs)$/.test(file)) take(`${folder}/${file}`);
  }
  return digest.digest('hex');
}

const filesIn = (folder) =>
  existsSync(join(ROOT, folder)) ? readdirSync(join(ROOT, folder), { recursive: true }).sort() : [];
