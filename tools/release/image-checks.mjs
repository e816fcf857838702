import { generateKeyPairSync } from 'node:crypto';
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { inContainer, readFirstProcess } from './container.mjs';
import { report } from './command.mjs';
import { freePort, startService } from './processes.mjs';

const SIZE_MAX_MIB = 300;
/** The times of docs/run.md, within which an orchestrator must not kill the process. */
const SERVICE_STOP_MAX_S = 18;
const WORKER_STOP_MAX_S = 15;

/** Starts the programs of the image against a PostgreSQL of this machine. @returns the checks in order, with their results */
export async function checkImage(image) {
  const { TlsServer } = createRequire(import.meta.url)('@banking/embedded-postgres/testing');
  const server = await TlsServer.start();
  const checks = [];
  const check = (name, passed, detail) => {
    report(`${passed ? 'passed' : 'FAILED'}: ${name}`);
    checks.push({ name, passed, detail: String(detail) });
  };
  try {
    checkFiles(image, check);
    const settings = {
      DATABASE_URL: server.url('127.0.0.1', ''),
      ...{ SANDBOX: 'on', DEMO_DATA: 'on' },
    };
    await checkPrograms(image, settings, check);
    return checks;
  } finally {
    await server.stop();
  }
}

function checkFiles({ root, config }, check) {
  const mebibytes = bytesBelow(join(root, config.WorkingDir)) / 1024 / 1024;
  check(`at most ${SIZE_MAX_MIB} MiB without the base`, mebibytes <= SIZE_MAX_MIB, `${mebibytes.toFixed(1)} MiB`);
  const shells = ['bin/sh', 'usr/bin/sh', 'bin/bash', 'usr/bin/env'].filter((path) => existsSync(join(root, path)));
  check('the base of this check has no shell', shells.length === 0, shells.join(' ') || 'none found');
  check(
    'runs node without a shell',
    config.Entrypoint.join(' ') === 'node',
    [...config.Entrypoint, ...config.Cmd].join(' '),
  );
}

async function checkPrograms(image, settings, check) {
  const entry = (args) => [...image.config.Entrypoint, ...args];
  const cli = (...args) => runIn(image, entry(['apps/cli/dist/main.js', ...args]), settings);
  /** The key that signs tokens for this check is the only file that a program writes. */
  const localTokens = { LOCAL_TOKENS: 'on', DATA_DIR: '/data' };

  const written = await runIn(image, entry(['-e', "require('node:fs').writeFileSync('/app/written', '')"]), {});
  check('writes nothing to its root', /EROFS/.test(written.output), /E[A-Z]+/.exec(written.output)?.[0]);
  const migrated = await cli('migrate');
  check('migrates an empty database', migrated.exitCode === 0, `exit code ${migrated.exitCode}`);

  const port = String(await freePort());
  const healthPort = String(await freePort());
  const service = await startIn(
    image,
    entry(image.config.Cmd),
    { ...settings, ...localTokens, PORT: port, WORKER: 'off' },
    /^Ready on /m,
  );
  const worker = await startIn(
    image,
    entry(['apps/worker/dist/main.js']),
    { ...settings, HEALTH_PORT: healthPort },
    /working/,
  );
  try {
    check('starts the service', true, `ready after ${(service.startMs / 1000).toFixed(1)} s`);
    const first = readFirstProcess(service.pid);
    check('service is process 1', first.pidInside === 1, `process ${first.pidInside}`);
    check(
      'service is not root',
      first.uids.every((uid) => uid >= 10_000),
      `uid ${first.uids[0]}, capabilities ${first.capabilities}`,
    );
    check('root of the service is read-only', first.rootIsReadOnly, first.rootIsReadOnly ? 'ro' : 'rw');

    const play = entry(['apps/cli/dist/main.js', 'story', '--url', `http://127.0.0.1:${port}`]);
    const story = await runIn(image, play, { ...settings, ...localTokens });
    check('places orders, and the worker pays them out', story.exitCode === 0, `exit code ${story.exitCode}`);
    const health = image.config.Healthcheck.Test.slice(1);
    for (const [name, setting] of Object.entries({ service: { PORT: port }, worker: { HEALTH_PORT: healthPort } })) {
      const { exitCode } = await runIn(image, health, setting);
      check(`health check of the ${name}`, exitCode === 0, `exit code ${exitCode}`);
    }
    const unhealthy = await runIn(image, health, { PORT: String(await freePort()) });
    check('health check without a service', unhealthy.exitCode === 1, `exit code ${unhealthy.exitCode}`);
  } finally {
    for (const [name, process_, max] of [
      ['service', service, SERVICE_STOP_MAX_S],
      ['worker', worker, WORKER_STOP_MAX_S],
    ]) {
      const { exitCode, stopMs } = await process_.stop();
      const seconds = stopMs / 1000;
      check(
        `${name} stops at SIGTERM`,
        exitCode === 0 && seconds <= max,
        `exit code ${exitCode} after ${seconds.toFixed(1)} s`,
      );
    }
  }
  await checkIdentityProvider(image, entry(image.config.Cmd), settings, check);
  const verified = await cli('verify');
  check('the books verify', verified.exitCode === 0, verified.output.trim().split('\n').at(-1));
}

/** With an identity provider, the service has no file to write. The keys of the provider are in a file, so none is called. */
async function checkIdentityProvider(image, args, settings, check) {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const key = { ...publicKey.export({ format: 'jwk' }), kid: 'check', alg: 'RS256', use: 'sig' };
  writeFileSync(join(image.data, 'jwks.json'), JSON.stringify({ keys: [key] }));
  const provider = { OIDC_ISSUER: 'https://issuer.example', JWKS_FILE: '/data/jwks.json' };
  const port = String(await freePort());
  const service = await startIn(image, args, { ...settings, ...provider, PORT: port }, /^Ready on /m);
  const { status } = await fetch(`http://127.0.0.1:${port}/health/ready`).finally(() => service.stop());
  check('serves with an identity provider and no DATA_DIR', status === 200, `/health/ready ${status}`);
}

/** Runs a program of the image to its end. */
async function runIn(image, args, settings) {
  const { program, args: all, env } = inContainer(image, args, settings);
  const child = spawn(program, all, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
  const [exitCode] = await once(child, 'close');
  return { exitCode, output };
}

/** Starts a program of the image. SIGTERM goes to process 1 of the container, as from a container runtime. */
function startIn(image, args, settings, ready) {
  const { program, args: all, env } = inContainer(image, args, settings);
  return startService(program, all, { env, ready, signalled: (pid) => readFirstProcess(pid).pid });
}

function bytesBelow(folder) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}
