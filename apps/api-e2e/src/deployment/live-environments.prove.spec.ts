import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bareEnvironment, isCi } from '../config.js';
import { Child, ComposedPostgres, freePort, postgresPrograms } from './composition.js';
import {
  type Program,
  programOf,
  read,
  readComposition,
  readSettings,
  ROOT,
  type Variables,
  workloads,
} from './deploy-files.js';

// PostgreSQL is a package of Debian. A machine without it skips this, visibly. CI must run it.
const isPossible = isCi() || postgresPrograms() !== undefined;

// The Job of an operator's command has the same program as that of the migrations, and another login.
const WORKLOADS = ['banking-migrate', 'banking-api', 'banking-worker'];

const unit = (program: Program, settings: Variables) => ({ program, environment: settings });
/** The settings of a unit of systemd: its files, and the credentials that systemd hands over. */
function ofUnit(name: string): Variables {
  const text = read(`deploy/systemd/banking-${name}.service`);
  const files = [...text.matchAll(/^EnvironmentFile=\/etc\/banking\/(.+)$/gm)].map(([, file]) => file);
  const credentials = new Map(
    [...text.matchAll(/^LoadCredential=(.+):(.+)$/gm)].map(([, credential, path = '']) => [credential, path]),
  );
  const secrets = [...text.matchAll(/^Environment=(.+)=%d\/(.+)$/gm)].map(([, variable, credential]) => [
    variable,
    credentials.get(credential),
  ]);
  return Object.assign(
    {},
    ...files.map((file) => readSettings(`deploy/systemd/${file}`)),
    Object.fromEntries(secrets),
  ) as Variables;
}

const DEPLOYMENTS = {
  'deploy/kubernetes': WORKLOADS.map((name) => {
    const { container, environment } = new Map(workloads).get(name)!;
    return unit(programOf({ command: container.args })!, environment);
  }),
  'deploy/systemd': [
    unit('apps/cli/dist/main.js', ofUnit('migrate')),
    unit('apps/api/dist/main.js', ofUnit('api')),
    unit('apps/worker/dist/main.js', ofUnit('worker')),
  ],
};

/** The programs outside a sandbox, where a service refuses a login with more rights than it needs. */
(isPossible ? describe : describe.skip)('the environments for real money', () => {
  let folder: string;
  let secrets: string;
  let port: number;
  let postgres: ComposedPostgres;
  const children: Child[] = [];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'banking-live-'));
    chmodSync(folder, 0o755);
    secrets = join(folder, 'secrets');
    execFileSync(join(ROOT, 'deploy/compose/make-secrets.sh'), [secrets], { env: bareEnvironment(), stdio: 'ignore' });
    chmodSync(secrets, 0o755);
    port = await freePort();
    const command = readComposition().services['postgres']?.command ?? [];
    postgres = await ComposedPostgres.start({ folder: join(folder, 'postgres'), secrets, port, command });
    // The composition is a sandbox, whose logins have these too.
    const revoke = 'revoke banking_worker, banking_verifier from banking; revoke banking_worker from operator';
    postgres.psql('-c', revoke);
  });
  afterAll(async () => {
    await Promise.all(children.map((child) => child.stop('SIGKILL')));
    await postgres?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** The same variables with the addresses, ports and files of this machine. */
  async function onThisMachine(environment: Variables): Promise<Variables> {
    const replaced = Object.entries(environment).map(([name, value]) => [
      name,
      value
        .replace('database.example:5432', `localhost:${port}`)
        .replace(/\/run\/secrets\/\w+\/ca\.crt/, join(secrets, 'ca-certificate'))
        .replace('/etc/banking/secrets', secrets)
        .replace('/run/secrets/database/password', join(secrets, 'banking-password'))
        .replace(/\/run\/secrets\/(migrator|operator|worker)\/password/, join(secrets, '$1-password'))
        .replace('/run/secrets/webhooks/key', join(secrets, 'webhook-key')),
    ]);
    const known = Object.fromEntries(replaced) as Record<string, string>;
    // Without a private authority, the URL of systemd's settings trusts those that Node knows.
    const url = new URL(known['DATABASE_URL'] ?? '');
    url.searchParams.set('sslrootcert', join(secrets, 'ca-certificate'));
    const own = { HOST: '127.0.0.1', PORT: '0', HEALTH_PORT: '0', HEALTH_HOST: '127.0.0.1', METRICS_HOST: '127.0.0.1' };
    return { ...bareEnvironment(), ...known, ...own, DATABASE_URL: url.href, METRICS_PORT: String(await freePort()) };
  }

  async function start(program: Program, environment: Variables, ...args: string[]): Promise<Child> {
    const env = await onThisMachine(environment);
    const child = new Child(program, { command: process.execPath, args: [program, ...args], env, cwd: ROOT });
    children.push(child);
    return child;
  }

  describe.each(Object.entries(DEPLOYMENTS))('of %s', (_, units) => {
    const environmentOf = (program: Program) => units.find((one) => one.program === program)?.environment ?? {};

    it('migrate with the login of the migrations', async () => {
      const job = await start('apps/cli/dist/main.js', environmentOf('apps/cli/dist/main.js'), 'migrate');

      expect(await job.succeeded()).toMatch(/^(?:Applied \d+ migrations:|The schema is up to date\.)/);
    });

    it('start a service and a worker, each with its login, and stop them', async () => {
      const api = await start('apps/api/dist/main.js', environmentOf('apps/api/dist/main.js'));
      const worker = await start('apps/worker/dist/main.js', environmentOf('apps/worker/dist/main.js'));

      await api.matched(/^Ready on /m);
      await worker.matched(/"sandbox":false,.*"msg":"working"/);

      expect(await Promise.all([api.stop(), worker.stop()])).toEqual([ENDED, ENDED]);
    });

    it('are refused with the login of the migrations, which has more rights', async () => {
      const environment = {
        ...environmentOf('apps/worker/dist/main.js'),
        ...environmentOf('apps/cli/dist/main.js'),
      };

      const worker = await start('apps/worker/dist/main.js', environment);

      expect((await worker.ended).code).toBe(1);
      expect(worker.output.stderr).toMatch(
        /The login "migrator" .+ so it has a way around the rights of "banking_worker"/,
      );
    });

    it('are refused with the login of each other', async () => {
      const database = ({ DATABASE_URL = '', DATABASE_PASSWORD_FILE = '' }: Variables) => ({
        DATABASE_URL,
        DATABASE_PASSWORD_FILE,
      });
      const [ofApi, ofWorker] = [environmentOf('apps/api/dist/main.js'), environmentOf('apps/worker/dist/main.js')];

      const api = await start('apps/api/dist/main.js', { ...ofApi, ...database(ofWorker) });
      const worker = await start('apps/worker/dist/main.js', { ...ofWorker, ...database(ofApi) });

      expect((await Promise.all([api.ended, worker.ended])).map(({ code }) => code)).toEqual([1, 1]);
      expect(api.output.stderr).toContain('The login "worker" may not act as "banking_api"');
      expect(worker.output.stderr).toContain('The login "banking" may not act as "banking_worker"');
    });
  });

  it('let an operator provision with a login of its own', async () => {
    const operator = new Map(workloads).get('banking-command')!.environment;

    const command = await start('apps/cli/dist/main.js', operator, 'app', 'add', 'Harbour Treasury');

    expect(await command.succeeded()).toContain('Harbour Treasury');
  });
});

const ENDED = { code: 0, signal: null };
