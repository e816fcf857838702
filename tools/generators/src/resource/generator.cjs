const { join } = require('node:path');
const { formatFiles, generateFiles } = require('@nx/devkit');
const { CHANGES } = require('./changes.cjs');
const { mistakeInName, spellingsOf } = require('./names.cjs');

const MIGRATIONS = ['libs/ledger/migrations', 'libs/payouts/migrations', 'libs/operations/migrations'];
const DOMAIN = ['libs/domain/src', 'libs/domain/src/resources'];

/**
 * Nx calls this for `nx g @banking/tools:resource <name>`. Nothing is written before it returns; with `--dry-run` nothing at all.
 *
 * @returns what Nx runs after the files are written
 */
async function generate(tree, options) {
  const spellings = addResource(tree, options);
  await formatFiles(tree);
  return () => process.stdout.write(nextSteps(spellings));
}

/**
 * Adds the files of a resource and its entries in the files that list resources.
 *
 * @throws Error when the name cannot be used, or when a file has no place for its entry
 */
function addResource(tree, { name, plural }) {
  const spellings = spellingsOf(name, plural);
  const mistake = mistakeIn(name, spellings) ?? conflictIn(tree, spellings);
  if (mistake !== undefined) throw new Error(mistake);
  generateFiles(tree, join(__dirname, 'files'), '.', { ...spellings, migration: nextMigration(tree) });
  for (const [file, change] of Object.entries(CHANGES)) {
    tree.write(file, change(tree.read(file, 'utf8'), spellings, file));
  }
  return spellings;
}

function mistakeIn(name, { manyKebab }) {
  const mistake = mistakeInName(name) ?? mistakeInName(manyKebab);
  if (mistake !== undefined) return mistake;
  return manyKebab === name ? 'The plural must differ from the name: add --plural <name>.' : undefined;
}

function conflictIn(tree, { pascal, manyKebab }) {
  const folder = `apps/api/src/${manyKebab}`;
  if (tree.exists(folder)) return `The resource exists: ${folder}. Choose another name.`;
  return isExported(tree, pascal) ? `The domain exports ${pascal} already. Choose another name.` : undefined;
}

/** Migrations are numbered through all packages. */
function nextMigration(tree) {
  const numbers = MIGRATIONS.flatMap((folder) => tree.children(folder)).map((file) => Number(file.slice(0, 4)));
  return String(Math.max(...numbers) + 1).padStart(4, '0');
}

function isExported(tree, pascal) {
  const declaration = new RegExp(`^export (?:abstract )?(?:class|const|function|interface|type) ${pascal}\\b`, 'm');
  const files = DOMAIN.flatMap((folder) => tree.children(folder).map((file) => `${folder}/${file}`));
  return files.some((file) => file.endsWith('.ts') && declaration.test(tree.read(file, 'utf8')));
}

function nextSteps({ pascal, kebab, manyKebab, camel }) {
  return `
Next:
  1. Add the fields: to the migration (before a deployment applies it), to the query in get-${kebab}.ts,
     to the resource in libs/domain and to the DTO.
  2. Check who may call get${pascal} in apps/api/src/access/access-matrix.ts. The generator allows every member.
  3. Add one to the demo, and an example of the operation.
  4. Run npm run examples, then npm run openapi, and review the difference.
  5. Add cases to the contract suite in apps/api-e2e/src/contract, and the shape to shapes.ts.
     Classify its identifiers in apps/api-e2e/src/isolation/classification.ts.
  6. Run npm test.

GET /${manyKebab}/{${camel}Id} responds as soon as the service is started.
`;
}

module.exports = { default: generate, addResource };
