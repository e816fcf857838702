import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmdirSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const APPS = {
  api: 'apps/api',
  cli: 'apps/cli',
  worker: 'apps/worker',
  bench: 'tools/bench',
  faults: 'tools/faults',
};
const NODE_MIN = [20, 19];

const CACHE = join(ROOT, 'node_modules/.cache/banking');
const STAMP = join(CACHE, 'build-stamp');
const LOCK = join(CACHE, 'build-lock');
const COMPILER = join(ROOT, 'node_modules/tsc/bin/tsc');

/** Longer than any build. An older lock belongs to a process that ended, whose id another process may have now. */
const LOCK_AGE_MAX_MS = 10 * 60_000;

const USAGE = `Usage: node tools/run.mjs <app> [arguments of the app]

Starts an app in this process. Compiles first if a source changed since the last build.

Apps: ${Object.keys(APPS).join(', ')}

Short forms: npm start · npm run worker · npm run -s banking -- … · npm run -s token -- <email> · npm run story · npm run bank -- <folder> ·
npm run bench -- … · npm run faults -- …
`;

/** An expected failure: printed as one sentence, without a stack. */
class Stop extends Error {
  constructor(message, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Prints a line to standard error, so that standard output holds the output of the app only. */
function report(sentence) {
  process.stderr.write(`${sentence}\n`);
}

function requireNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > NODE_MIN[0] || (major === NODE_MIN[0] && minor >= NODE_MIN[1])) return;
  throw new Stop(`Node ${process.versions.node} is too old. Install Node ${NODE_MIN.join('.')} or newer.`);
}

function list(folder) {
  return existsSync(folder) ? readdirSync(folder, { withFileTypes: true }) : [];
}

function filesBelow(folder) {
  return list(folder).flatMap((entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesBelow(path) : [path];
  });
}

/** The folders of everything a build compiles. */
function projects() {
  const grouped = ['apps', 'libs'].flatMap((group) =>
    list(join(ROOT, group))
      .filter((entry) => entry.isDirectory())
      .map((entry) => join(ROOT, group, entry.name)),
  );
  return [...new Set([...grouped, ...Object.values(APPS).map((folder) => join(ROOT, folder))])];
}

/** A fingerprint of all a build reads: path, time and size of every source and setting. Specs are not built. */
function fingerprint() {
  const settings = [ROOT, ...projects()].flatMap((folder) =>
    list(folder)
      .filter(({ name }) => name === 'package.json' || /^tsconfig.*\.json$/.test(name))
      .map(({ name }) => join(folder, name)),
  );
  const sources = projects().flatMap((folder) => filesBelow(join(folder, 'src')));

  const hash = createHash('sha256');
  for (const file of [...settings, ...sources.filter((path) => !path.endsWith('.spec.ts'))].sort()) {
    const { mtimeMs, size } = statSync(file, { throwIfNoEntry: false }) ?? {};
    hash.update(`${file}\0${mtimeMs}\0${size}\n`);
  }
  return hash.digest('hex');
}

/** Whether the app is built from the current sources. */
function isBuilt(main, current) {
  if (!existsSync(main) || !existsSync(STAMP) || readFileSync(STAMP, 'utf8') !== current) return false;
  const { references } = JSON.parse(readFileSync(join(ROOT, 'tsconfig.json'), 'utf8'));
  return references.every(({ path }) => existsSync(join(ROOT, dirname(path), 'dist')));
}

function isRunning(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** Runs a file operation that another process may have done already. @returns whether it succeeded */
function attempt(operation, ...expected) {
  try {
    operation();
    return true;
  } catch (error) {
    if (expected.includes(error.code)) return false;
    throw error;
  }
}

/**
 * Clears away the lock of a process that is gone. Two may try this at once, also while a third takes the lock anew: a
 * dead owner's file is removed by its name and the folder only when empty, so a living owner's is never taken.
 */
function clearStaleLock() {
  for (const { name } of list(LOCK)) {
    const owner = join(LOCK, name);
    const age = Date.now() - (statSync(owner, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (!isRunning(Number(name)) || age > LOCK_AGE_MAX_MS) attempt(() => unlinkSync(owner), 'ENOENT');
  }
  attempt(() => rmdirSync(LOCK), 'ENOENT', 'ENOTEMPTY', 'EEXIST');
}

/** Takes the lock if it is free. The folder is the lock, and the file in it names its owner. */
function takeLock() {
  if (!attempt(() => mkdirSync(LOCK), 'EEXIST')) return false;
  return attempt(() => writeFileSync(join(LOCK, String(process.pid)), ''), 'ENOENT');
}

function releaseLock() {
  attempt(() => unlinkSync(join(LOCK, String(process.pid))), 'ENOENT');
  attempt(() => rmdirSync(LOCK), 'ENOENT', 'ENOTEMPTY', 'EEXIST');
}

async function withLock(work) {
  mkdirSync(CACHE, { recursive: true });
  for (let waited = 0; !takeLock(); waited += 1) {
    if (waited === 10) report('Waiting for the build of another process …');
    clearStaleLock();
    await sleep(100);
  }
  try {
    await work();
  } finally {
    releaseLock();
  }
}

/** Compiles all changed sources. A signal ends the compiler, then this process. */
function compile() {
  return new Promise((done, fail) => {
    // A group of its own, to kill: the compiler ignores other signals, and the script that starts it forwards none.
    const compiler = spawn(process.execPath, [COMPILER, '--build'], {
      cwd: ROOT,
      detached: true,
      stdio: ['ignore', 2, 2],
    });
    let endedBy;
    const end = (signal) => {
      endedBy = signal;
      attempt(() => process.kill(-compiler.pid, 'SIGKILL'), 'ESRCH');
    };
    process.on('SIGINT', end).on('SIGTERM', end);
    compiler.once('error', fail);
    compiler.once('exit', (code) => {
      process.off('SIGINT', end).off('SIGTERM', end);
      if (endedBy) fail(new Stop(`${endedBy} stopped the build.`, endedBy === 'SIGINT' ? 130 : 143));
      else if (code === 0) done();
      else fail(new Stop('The sources do not compile. See the errors of TypeScript above.'));
    });
  });
}

async function build(main) {
  if (isBuilt(main, fingerprint())) return;
  try {
    await withLock(() => buildAlone(main));
  } catch (error) {
    if (!['EACCES', 'EROFS'].includes(error.code) || !existsSync(main)) throw error;
    report('The folder is read-only. Starting the last build.');
  }
}

async function buildAlone(main) {
  // Read again: the process that held the lock may have built this, and the stamp must be older than the build.
  const current = fingerprint();
  if (isBuilt(main, current)) return;
  if (!existsSync(COMPILER)) {
    throw new Stop('The compiler is not installed. Run npm ci first.');
  }
  report(existsSync(STAMP) ? 'Compiling the changed sources …' : 'Compiling the sources …');
  await compile();
  const written = `${STAMP}.${process.pid}`;
  writeFileSync(written, current);
  renameSync(written, STAMP);
}

function mistakeIn(app) {
  if (app === undefined) return 'the app is missing';
  return app.startsWith('-') ? `unknown option '${app}'` : `unknown app '${app}'`;
}

async function start([app, ...args]) {
  if (app === '--help' || app === '-h') {
    process.stdout.write(USAGE);
    return;
  }
  if (!Object.hasOwn(APPS, app ?? '')) throw new Stop(`error: ${mistakeIn(app)}\n\n${USAGE.trimEnd()}`, 2);
  requireNode();
  if (!existsSync(join(ROOT, 'node_modules'))) {
    throw new Stop('The dependencies are not installed. Run npm ci first.');
  }

  const main = join(ROOT, APPS[app], 'dist/main.js');
  const shippedWithoutSources = existsSync(main) && !existsSync(join(ROOT, APPS[app], 'src'));
  if (!shippedWithoutSources) await build(main);

  process.argv = [process.argv[0], main, ...args];
  await import(pathToFileURL(main).href);
}

try {
  await start(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof Stop)) throw error;
  report(error.message);
  process.exitCode = error.exitCode;
}
