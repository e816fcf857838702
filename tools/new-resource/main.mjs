import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { format, resolveConfig } from 'prettier';
import { changes } from './changes.mjs';
import { newFiles } from './new-files.mjs';
import { mistakeInName, spellingsOf } from './resource-name.mjs';

const ROOT = resolve(import.meta.dirname, '../..');
const MIGRATIONS = ['libs/ledger/migrations', 'libs/payouts/migrations', 'libs/operations/migrations'];

const USAGE = `Usage: npm run new:resource -- <name> [options]

Begins a resource of a workspace with its first operation, GET /<names>/{<name>Id}, for members: the resource, its table,
its SQL, the DTO, the controller with a spec, and its rows in the port, both backings, the access matrix, the refusals, the
modules and docs/flows.md. What it writes compiles, passes the lint and works; the fields are yours to add.

Arguments:
  name             a noun in the singular, in small letters with dashes, as in standing-order

Options:
  --plural <name>  where adding an s is not enough
  --dry-run        say what would be written, and write nothing
  -h, --help       print this help

Example:
  $ npm run new:resource -- standing-order --dry-run
`;

/** A wish that can not be granted. Its message says why. */
class Misuse extends Error {}

const OPTIONS = {
  help: { type: 'boolean', short: 'h' },
  'dry-run': { type: 'boolean' },
  plural: { type: 'string' },
};

/** What the command line asks for. */
function readArguments(args) {
  const { values, positionals } = parse(args);
  if (values.help) return { help: true };
  const [name, ...more] = positionals;
  if (name === undefined) throw new Misuse("missing required argument 'name'");
  if (more.length > 0) throw new Misuse('too many arguments');
  for (const one of [name, values.plural ?? name]) {
    const mistake = mistakeInName(one);
    if (mistake !== undefined) throw new Misuse(mistake);
  }
  if (values.plural === name) throw new Misuse('the plural must differ from the name');
  return { word: spellingsOf(name, values.plural), isDry: values['dry-run'] === true };
}

function parse(args) {
  try {
    const { tokens, ...parsed } = parseArgs({ args, options: OPTIONS, allowPositionals: true, tokens: true });
    const given = tokens.filter(({ kind }) => kind === 'option').map(({ name }) => name);
    const repeated = given.find((name, index) => given.indexOf(name) !== index);
    if (repeated !== undefined) throw new Misuse(`option '--${repeated}' is given more than once`);
    return parsed;
  } catch (error) {
    if (error instanceof Misuse) throw error;
    const [, option] = /^Unknown option '([^']*)'/.exec(error.message) ?? [];
    throw new Misuse(option === undefined ? error.message : `unknown option '${option}'`);
  }
}

/** Every file to be written, with its text. Nothing is written until all of them are known. */
async function plan(word) {
  const files = newFiles(word, nextMigration());
  const [existing] = [`apps/api/src/${word.manyKebab}`, ...Object.keys(files)].filter((file) => existsSync(at(file)));
  if (existing !== undefined) throw new Misuse(`there is such a resource already: ${existing}`);
  if (isKnownWord(word.pascal)) {
    throw new Misuse(`the domain means something else by ${word.pascal} already: find another name`);
  }

  const made = Object.entries(files).map(([file, text]) => ({ file, text, isNew: true }));
  const changed = Object.entries(changes(word)).map(([file, change]) => ({
    file,
    text: change(readFileSync(at(file), 'utf8')),
    isNew: false,
  }));
  return Promise.all([...made, ...changed].map(formatted));
}

async function formatted({ file, text, isNew }) {
  const style = await resolveConfig(at(file));
  return { file, isNew, text: file.endsWith('.sql') ? text : await format(text, { ...style, filepath: file }) };
}

/** Migrations are numbered through, in whichever library they lie. */
function nextMigration() {
  const numbers = MIGRATIONS.flatMap((folder) => readdirSync(at(folder))).map((name) => Number(name.slice(0, 4)));
  return String(Math.max(...numbers) + 1).padStart(4, '0');
}

function isKnownWord(pascal) {
  const known = new RegExp(`^export (?:abstract )?(?:class|const|function|interface|type) ${pascal}\\b`, 'm');
  const folders = ['libs/domain/src', 'libs/domain/src/resources'];
  return folders.some((folder) =>
    readdirSync(at(folder)).some(
      (name) => name.endsWith('.ts') && known.test(readFileSync(at(join(folder, name)), 'utf8')),
    ),
  );
}

function at(file) {
  return join(ROOT, file);
}

function nextSteps({ pascal, kebab, manyKebab, camel }) {
  return `
Next:
  1. Give it its fields: the migration (before it is applied anywhere), the statement in get-${kebab}.ts,
     the resource in libs/domain and the DTO.
  2. Say in the access matrix who may call get${pascal}: now it is every member of the workspace.
  3. Make one in the demo world, and name it under \`examples\` in the controller.
  4. npm run examples, then npm run openapi: the document with answers that were given. Look at the difference.
  5. Say what it promises over HTTP in apps/api-e2e/src/contract, and its shape in shapes.ts.
  6. Where sibling teams want it short, add it to \`workspace()\` of libs/client.
  7. npm test

GET /${manyKebab}/{${camel}Id} answers as soon as the service is started.
`;
}

async function main(args) {
  const { help, word, isDry } = readArguments(args);
  if (help) {
    process.stdout.write(USAGE);
    return;
  }
  const files = await plan(word);
  for (const { file, text, isNew } of files) {
    if (!isDry) {
      mkdirSync(dirname(at(file)), { recursive: true });
      writeFileSync(at(file), text);
    }
    process.stdout.write(`${isDry ? 'would ' : ''}${isNew ? 'write ' : 'change'} ${file}\n`);
  }
  process.stdout.write(isDry ? 'Nothing was written.\n' : nextSteps(word));
}

main(process.argv.slice(2)).catch((error) => {
  if (!(error instanceof Misuse)) throw error;
  process.stderr.write(`error: ${error.message}\n\n${USAGE}`);
  process.exitCode = 2;
});
