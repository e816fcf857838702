const { readdirSync, readFileSync } = require('node:fs');
const { dirname, join, resolve } = require('node:path');

const WORKSPACE = resolve(__dirname, '../..');
const PROVE = /\.prove\.spec\.ts$/;
/** A file that only imports a spec runs the tests of that spec, with more random runs or larger tables. */
const TWIN = /^\/\*\*[^*]*\*\/\nimport '(\.\/[^']+\.spec)\.js';\s*$/;

/**
 * The specs whose tests `npm run prove` runs too, with more runs. With SKIP_PROVED=true, `npm test` leaves them out: .ci/run starts
 * both commands, and would run the shorter form for nothing.
 */
function provedSpecs() {
  if (process.env.SKIP_PROVED !== 'true') return [];
  return projectFolders().flatMap((folder) =>
    filesBelow(join(folder, 'src')).flatMap((file) => {
      const [, twin] = PROVE.test(file) ? (TWIN.exec(readFileSync(file, 'utf8')) ?? []) : [];
      return twin === undefined ? [] : [`${join(dirname(file), twin)}.ts`];
    }),
  );
}

const projectFolders = () =>
  ['apps', 'libs', 'tools'].flatMap((group) =>
    readdirSync(join(WORKSPACE, group)).map((name) => join(WORKSPACE, group, name)),
  );

function filesBelow(folder) {
  try {
    return readdirSync(folder, { recursive: true }).map((name) => join(folder, name));
  } catch (error) {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return [];
    throw error;
  }
}

module.exports = { provedSpecs };
