import { spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exitCodeOf } from './arguments.mjs';
import { ROOT, run } from './programs.mjs';
import { buildahIn, makeBaseImage } from './release/base-image.mjs';
import { report, unpack } from './release/command.mjs';
import { checkImage } from './release/image-checks.mjs';

const USAGE = `Usage: npm run image

Builds the image of Containerfile from the release archive in tmp/release, starts it, and checks it: size, user, read-only root,
migration, service and worker, an order, health check and stop. Prints a table of the checks. Run npm run package first.

The base is made of Debian's packages and the Node of this process. Needs root on Linux, and the packages buildah and mmdebstrap.
The database is the embedded PostgreSQL of the checkout, on a port of 127.0.0.1.

Options:
  -h, --help  print this help

Exit codes: 0 every check passed; 1 failed; 2 wrong usage.
`;

const OUTPUT = join(ROOT, 'tmp/release');
const BASE = 'localhost/banking-base';
const IMAGE = 'localhost/banking';

/** What is missing on this machine, in words for an operator; undefined if nothing is. */
function findObstacle() {
  if (process.geteuid?.() !== 0) return 'Run this command as root: it mounts the root of the image.';
  const missing = ['buildah', 'mmdebstrap', 'unshare'].filter(
    (program) => spawnSync(program, ['--version'], { stdio: 'ignore' }).error !== undefined,
  );
  if (missing.length > 0) return `Install ${missing.join(', ')} first.`;
  return findArchive() === undefined ? 'There is no archive in tmp/release. Run npm run package first.' : undefined;
}

/** The archive without a database. */
function findArchive() {
  const names = existsSync(OUTPUT) ? readdirSync(OUTPUT) : [];
  const name = names.find((one) => /^banking-[\d.]+-[0-9a-f]{12}(?:-uncommitted)?\.tar\.gz$/.test(one));
  return name === undefined ? undefined : join(OUTPUT, name);
}

/** Builds the image. @returns its root on this machine and its configuration */
async function buildImage(buildah, folder) {
  const archive = findArchive();
  report(`Making the base image of Debian's packages and Node ${process.versions.node} …`);
  await makeBaseImage(buildah, folder, BASE);
  report('Building the image …');
  const context = await unpack(archive, join(folder, 'context'));
  const isolated = ['--isolation=chroot', '--format=docker', '--pull-never', `--build-arg=BASE=${BASE}`];
  await buildah('build', '--quiet', ...isolated, `--file=${join(context, 'Containerfile')}`, `--tag=${IMAGE}`, context);
  const container = await buildah('from', '--pull-never', IMAGE);
  const inspected = JSON.parse(await buildah('inspect', '--type=image', IMAGE));
  const data = join(folder, 'data');
  mkdirSync(data);
  const { config } = inspected.Docker;
  const user = Number.parseInt(config.User, 10);
  chownSync(data, user, user);
  return { root: await buildah('mount', container), config, data, context };
}

async function main(args) {
  const usageExit = exitCodeOf(args, USAGE);
  if (usageExit !== undefined) return usageExit;
  const obstacle = findObstacle();
  if (obstacle !== undefined) {
    report(obstacle);
    return 1;
  }
  if ((await run('tsc/bin/tsc', ['--build', 'libs/embedded-postgres/tsconfig.build.json'])) !== 0) return 1;

  const folder = mkdtempSync(join(tmpdir(), 'banking-image-'));
  const buildah = buildahIn(folder);
  try {
    const image = await buildImage(buildah, folder);
    const checks = await checkImage(image);
    const width = Math.max(...checks.map(({ name }) => name.length));
    for (const { name, passed, detail } of checks) {
      process.stdout.write(`${passed ? 'passed' : 'FAILED'}  ${name.padEnd(width)}  ${detail}\n`);
    }
    return checks.every(({ passed }) => passed) ? 0 : 1;
  } catch (error) {
    report(error.message);
    return 1;
  } finally {
    await buildah('umount', '--all').catch((error) => report(error.message));
    rmSync(folder, { recursive: true, force: true });
  }
}

process.exitCode = await main(process.argv.slice(2));
