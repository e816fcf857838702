import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { exitCodeOf } from './arguments.mjs';
import { ROOT } from './programs.mjs';
import { checksumLines, writeArchive } from './release/archive.mjs';
import { billOfArchive, readBillOfMaterials } from './release/bill-of-materials.mjs';
import { build } from './release/build.mjs';
import { report } from './release/command.mjs';
import { copyContents, EMBEDDED } from './release/contents.mjs';
import { copySources, describeSources, hasChanges } from './release/sources.mjs';

const USAGE = `Usage: npm run package [-- option...]

Builds api, worker and cli of the last commit, and writes to tmp/release:
  banking-<version>.tar.gz             the programs with their production dependencies, for your own PostgreSQL
  banking-<version>-<platform>.tar.gz  the same with the embedded PostgreSQL of this platform
  *.cdx.json                           their bills of materials (CycloneDX)
  SHA256SUMS                           the checksums of these files

The version is that of apps/api with the commit. The same commit results in the same bytes with the same versions of Node and npm.
Prints the sizes of both archives. Needs git and GNU tar.

Options:
  --uncommitted  packages the files of the checkout, with changes that are not committed
  --twice        builds a second time, and fails if a byte differs
  --into=<path>  writes to this empty or new folder instead of tmp/release
  -h, --help     print this help

Exit codes: 0 success; 1 failed; 2 wrong usage.
`;

const INTO = '--into=';
const OPTIONS = ['--uncommitted', '--twice'];

/** Writes the files of the release into a folder. */
async function release(sources, output) {
  const folder = mkdtempSync(join(tmpdir(), 'banking-package-'));
  try {
    const built = join(folder, 'built');
    mkdirSync(built);
    await copySources(sources, built);
    await build(built);
    report('Packing …');
    const name = `banking-${sources.version}`;
    const tree = join(folder, name);
    mkdirSync(tree);
    copyContents(built, tree, sources);

    const bill = await readBillOfMaterials(built);
    const contained = packagesIn(tree);
    const pack = async (file, without) => {
      const rest = new Set(
        [...contained].filter((one) => !without.some((path) => `node_modules/${one}`.startsWith(path))),
      );
      writeFileSync(
        join(output, `${file}.cdx.json`),
        `${JSON.stringify(billOfArchive(bill, sources, rest), null, 2)}\n`,
      );
      return writeArchive(tree, join(output, `${file}.tar.gz`), { ...sources, without });
    };
    const archives = {
      withoutDatabase: await pack(name, [EMBEDDED]),
      withDatabase: await pack(`${name}-${process.platform}-${process.arch}`, []),
    };
    const files = readdirSync(output).sort();
    writeFileSync(join(output, 'SHA256SUMS'), await checksumLines(files.map((file) => join(output, file))));
    return archives;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The packages of a folder as `name@version`. */
function packagesIn(folder) {
  const manifests = readdirSync(folder, { recursive: true }).filter((path) => path.endsWith('/package.json'));
  const read = (path) => JSON.parse(readFileSync(join(folder, path), 'utf8'));
  return new Set(manifests.map(read).flatMap(({ name, version }) => (name && version ? [`${name}@${version}`] : [])));
}

/** Builds again in another folder. @returns whether all bytes are the same */
async function isSameAgain(sources, output) {
  const again = mkdtempSync(join(tmpdir(), 'banking-again-'));
  try {
    await release(sources, again);
    const [first, second] = [output, again].map((folder) => readFileSync(join(folder, 'SHA256SUMS'), 'utf8'));
    if (first !== second) report(`The second build differs.\n\nFirst:\n${first}\nSecond:\n${second}`);
    return first === second;
  } finally {
    rmSync(again, { recursive: true, force: true });
  }
}

const MEBIBYTE = 1024 * 1024;

function printSizes(archives) {
  for (const { file, packedBytes, unpackedBytes } of Object.values(archives)) {
    const [packed, unpacked] = [packedBytes, unpackedBytes].map((bytes) => `${(bytes / MEBIBYTE).toFixed(1)} MiB`);
    process.stdout.write(`${relative(ROOT, file)}: ${packed}, unpacked ${unpacked}\n`);
  }
}

/** An empty folder. One that was given is not emptied, because it may hold other files. */
function prepareOutput(given) {
  const output = given === undefined ? join(ROOT, 'tmp/release') : resolve(given);
  if (given === undefined) rmSync(output, { recursive: true, force: true });
  mkdirSync(output, { recursive: true });
  if (readdirSync(output).length > 0) throw new Error(`${output} is not empty. Choose another folder.`);
  return output;
}

async function main(args) {
  const into = args.find((arg) => arg.startsWith(INTO) && arg.length > INTO.length);
  const options = args.filter((arg) => arg !== into);
  const usageExit = exitCodeOf(options, USAGE, OPTIONS);
  if (usageExit !== undefined) return usageExit;
  const isUncommitted = options.includes('--uncommitted');
  try {
    if (!isUncommitted && hasChanges())
      report('The checkout has changes that are not committed. They are not packaged.');
    const sources = describeSources(isUncommitted);
    const output = prepareOutput(into?.slice(INTO.length));
    const archives = await release(sources, output);
    printSizes(archives);
    if (options.includes('--twice')) {
      if (!(await isSameAgain(sources, output))) return 1;
      process.stdout.write('A second build has the same bytes.\n');
    }
    return 0;
  } catch (error) {
    report(error.message);
    return 1;
  }
}

process.exitCode = await main(process.argv.slice(2));
