import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { type Deployment, openDeployment } from '@banking/deployment';
import { attachEmbeddedServer } from '@banking/embedded-postgres';
import { bind, type Database, sqlStatement } from '@banking/postgres';
import { administer, until } from '@banking/postgres/testing';
import { ConfigError } from '@banking/process';
import { readConfig } from './config.js';

describe('the configuration of a worker', () => {
  function mistakesOf(environment: Record<string, string>): readonly string[] {
    try {
      readConfig(environment);
      return [];
    } catch (error) {
      if (error instanceof ConfigError) return error.mistakes;
      throw error;
    }
  }

  it.each([{}, { DATA_DIR: '', DATABASE_URL: ' ', SANDBOX: '' }])(
    'names the embedded database without variables',
    (environment) => {
      expect(readConfig(environment, false)).toEqual({
        deployment: expect.objectContaining({ dataDir: resolve('.data'), databaseUrl: undefined, isSandbox: true }),
        logging: { logLevel: 'info', logPretty: false },
        rates: undefined,
        auditKeptDays: 3_650,
        webhooks: { keys: [], allowedNetworks: [], refusedNetworks: [], isLocal: true },
        health: undefined,
      });
    },
  );

  it('reads the variables of the service with the same meaning', () => {
    const DATABASE_URL = 'postgres://app@127.0.0.1/banking?sslmode=disable';

    expect(readConfig({ DATABASE_URL, SANDBOX: 'off', OIDC_ISSUER: 'https://login.example' }).deployment).toMatchObject(
      {
        databaseUrl: DATABASE_URL,
        isSandbox: false,
        demo: false,
      },
    );
    expect(mistakesOf({ DATABASE_URL, OIDC_ISSUER: 'https://login.example' })).toEqual([
      expect.stringMatching(/^SANDBOX is not set\./),
    ]);
  });

  it('keeps the audit trail for a year at least', () => {
    expect(readConfig({ AUDIT_KEPT_DAYS: '365' }).auditKeptDays).toBe(365);
    expect(mistakesOf({ AUDIT_KEPT_DAYS: '364' })).toEqual([expect.stringMatching(/^AUDIT_KEPT_DAYS /)]);
  });

  it.each(['https://rates.example/eur.json', 'http://127.0.0.1:8080', 'http://[::1]/', 'http://localhost/'])(
    'reads %s as the source of rates, valid for an hour',
    (url) => {
      expect(readConfig({ RATES_URL: url }).rates).toEqual({ url, maxAgeS: 3_600 });
    },
  );

  it.each([
    [{ HEALTH_PORT: '9100' }, { host: '127.0.0.1', port: 9_100 }],
    [
      { HEALTH_PORT: '0', HEALTH_HOST: '0.0.0.0' },
      { host: '0.0.0.0', port: 0 },
    ],
    [{ HEALTH_HOST: '0.0.0.0' }, undefined],
  ])('reads the health address of %j as %j', (environment, health) => {
    expect(readConfig(environment as unknown as Record<string, string>).health).toEqual(health);
  });

  it.each([
    [{ HEALTH_PORT: '65536' }, /^HEALTH_PORT is "65536"/],
    [{ DATABASE_URL: 'mysql://me:secret@db/banking', SANDBOX: 'on' }, /^DATABASE_URL is not a URL/],
    [{ DATABASE_POOL_SIZE: '1' }, /^DATABASE_POOL_SIZE is "1"/],
    [{ DATABASE_POOL_SIZE: '8.5' }, /^DATABASE_POOL_SIZE is "8.5"/],
    [{ DATABASE_NAMED_STATEMENTS: 'no' }, /^DATABASE_NAMED_STATEMENTS is "no"/],
    [{ SANDBOX: 'true' }, /^SANDBOX is "true"/],
    [{ RATES_URL: 'http://me:secret@rates.example' }, /^RATES_URL must begin with https:/],
    [{ RATES_URL: 'http://127.0.0.1.rates.example' }, /^RATES_URL must begin with https:/],
    [{ RATES_MAX_AGE_S: '0' }, /^RATES_MAX_AGE_S is "0"/],
  ])('reports the mistake in %j without a password', (environment, mistake) => {
    const [only, ...more] = mistakesOf(environment as unknown as Record<string, string>);

    expect(more).toEqual([]);
    expect(only).toMatch(mistake);
    expect(only).not.toContain('secret');
  });
});

describe('worker', () => {
  const MAIN = join(__dirname, '../dist/main.js');

  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'banking-worker-')));
  // The database server runs as another user when we are root.
  chmodSync(folder, 0o755);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('refuses a bank with files where there are several databases, before it opens one', () => {
    const railsFile = join(folder, 'rails.yaml');
    const account = '{ currency: EUR, iban: DE89370400440532013000, bic: COBADEFFXXX, holder: Harbour Ltd }';
    writeFileSync(railsFile, `rails: [{ name: b, kind: iso20022, testMode: true, folder: ., accounts: [${account}] }]`);
    const dataDir = join(folder, 'several');

    const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN], {
      env: { ...process.env, DATA_DIR: dataDir, CELLS: '2', RAILS_FILE: railsFile, SANDBOX: 'on' },
      encoding: 'utf8',
    });

    expect(status).not.toBe(0);
    expect(stdout + stderr).toContain(
      'RAILS_FILE has the rail b of kind iso20022, whose files one database writes and reads.',
    );
    expect(existsSync(join(dataDir, 'database'))).toBe(false);
  });

  interface Line {
    readonly msg: string;
    readonly [field: string]: unknown;
  }

  /** A running worker and its log lines. */
  class Started {
    private readonly lines: Line[] = [];

    constructor(readonly process: ChildProcess) {
      const output = createInterface({ input: process.stdout! });
      output.on('line', (line) => this.lines.push(JSON.parse(line) as Line));
    }

    count(msg: string): number {
      return this.lines.filter((line) => line.msg === msg).length;
    }

    /** Waits for the first line with this message, unless it is there already. */
    async line(msg: string): Promise<Line> {
      return (await until(() => this.lines.find((line) => line.msg === msg)))!;
    }
  }

  /** Starts a worker with a health server. */
  async function startHealthy(dataDir: string) {
    const child = spawn(process.execPath, [MAIN], {
      env: { DATA_DIR: dataDir, HEALTH_PORT: '0' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const log = new Started(child);
    const { healthPort } = await log.line('working');
    return {
      log,
      /** The first response to the readiness check with this status. */
      ready: (status: number) =>
        until(
          async () => {
            const response = await fetch(`http://127.0.0.1:${String(healthPort)}/health/ready`);
            return { status: response.status, body: (await response.json()) as unknown };
          },
          (response) => response.status === status,
        ),
      async stop() {
        child.kill('SIGTERM');
        await once(child, 'close');
      },
    };
  }

  describe('the command line of a worker', () => {
    const dataDir = join(folder, 'none');

    function start(args: readonly string[], environment: Record<string, string> = {}) {
      const env = { DATA_DIR: dataDir, ...environment };
      const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...args], { encoding: 'utf8', env });
      return { status, stdout, stderr };
    }

    it('prints a usage with every variable for --help', () => {
      const { status, stdout, stderr } = start(['--help']);

      expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
      expect(stdout).toMatch(/^Usage: npm run worker\n/);
      const read = new Set<string>();
      readConfig(new Proxy<Record<string, string>>({}, { get: (_, name) => void read.add(String(name)) }));
      expect([...read].filter((name) => !stdout.includes(name))).toEqual([]);
    });

    it('reports an unknown option with how to see the usage, and starts nothing', () => {
      const { status, stdout, stderr } = start(['--port', '80']);

      expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
      expect(stderr).toMatch(/^error: unknown option '--port'\nThe option --help prints the usage.\n/);
      expect(existsSync(dataDir)).toBe(false);
    });

    it('reports a mistake in the environment with exit code 2', () => {
      const { status, stderr } = start([], { SANDBOX: 'maybe' });

      expect({ status, stderr }).toEqual({
        status: 2,
        stderr: expect.stringMatching(/^The configuration has a mistake:\n {2}- SANDBOX/),
      });
    });
  });

  describe('a worker', () => {
    const dataDir = join(folder, 'data');
    let deployment: Deployment;

    beforeAll(async () => {
      deployment = await openDeployment({ dataDir, isSandbox: true });
    });
    afterAll(() => deployment.close());

    async function asSuperuser(text: string, values: readonly unknown[] = []): Promise<void> {
      const server = await attachEmbeddedServer({ dataDir });
      await administer(server.connection, (client) => client.query(text, [...values])).finally(() => server.detach());
    }

    it('does due work, logs failures, and stops on SIGTERM', async () => {
      const env = { DATA_DIR: dataDir, HEALTH_PORT: '0' };
      const child = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', 'pipe', 'inherit'] });
      const started = new Started(child);
      const { healthPort } = await started.line('working');
      const ready = async () => (await fetch(`http://127.0.0.1:${String(healthPort)}/health/ready`)).json();
      const work = { parked: {}, unserved: {}, oldestDueSeconds: 0 };
      const first = await ready();
      expect([
        { status: 'ok', work },
        { status: 'ok', work, verification: expect.anything() },
      ]).toContainEqual(first);
      // The first verification is one of the first chores.
      const verified = await until(ready, (body) => Object.hasOwn(body as object, 'verification'));
      expect(verified).toEqual({ status: 'ok', work, verification: { ageSeconds: expect.any(Number) } });

      await asSuperuser(
        `insert into banking.work (workspace_id, kind, subject_id, rail) values (7, 'payout', 5, 'sandbox')`,
      );

      expect(await started.line('work failed')).toMatchObject({
        level: 'warn',
        workspaceId: 7,
        kind: 'payout',
        subjectId: 5,
        tries: 1,
        err: { message: 'transaction 5 has no payout' },
      });
      child.kill('SIGTERM');
      const [[exitCode]] = await Promise.all([once(child, 'exit'), started.line('stopped')]);
      expect(exitCode).toBe(0);
    });

    it('is not ready after a finding in the books, which it reports once', async () => {
      const account = { workspaces: [70] };
      const run = (database: Pick<Database, 'pipeline'>, text: string) =>
        database.pipeline(account, [bind(sqlStatement(`spec.${text.slice(0, 40)}`, text))]);
      const operator = await deployment.openProvisioning();
      try {
        await run(operator, `insert into app (id, name) values (70, 'Spec')`);
        await run(operator, `insert into workspace (id, app_id, name) values (70, 70, 'Spec')`);
        await run(
          deployment.database,
          `insert into account (workspace_id, id, kind, currency_id, product_id, name, type, code)
         values (70, 71, 'customer', 840, 1, 'Ada', 'CACC', 'A71')`,
        );
        // A head that is not the hash of a transaction. No role of the service may write it.
        await asSuperuser(`update banking.account set head = decode($1, 'hex') where id = 71`, ['0'.repeat(64)]);

        const worker = await startHealthy(dataDir);
        try {
          expect(await worker.log.line('payouts stopped')).toMatchObject({
            level: 'error',
            findings: 1,
            workspaceIds: [70],
          });
          const { body } = await worker.ready(503);
          expect(body).toMatchObject({ status: 'payouts_stopped', findings: 1 });
          // The digits of the time may contain any number.
          expect(JSON.stringify({ ...(body as object), stoppedAt: undefined })).not.toContain('71');
        } finally {
          await worker.stop();
        }
        expect(worker.log.count('payouts stopped')).toBe(1);
      } finally {
        await operator.end();
      }
    });

    it('refuses a health port in use before any work', async () => {
      const taken = createServer().listen(0, '127.0.0.1');
      await once(taken, 'listening');
      const env = { DATA_DIR: dataDir, HEALTH_PORT: String((taken.address() as AddressInfo).port) };
      const child = spawn(process.execPath, [MAIN], { env, stdio: 'pipe' });
      const [stdout, stderr, [exitCode]] = await Promise.all([
        text(child.stdout),
        text(child.stderr),
        once(child, 'exit'),
      ]);
      taken.close();

      expect(exitCode).toBe(2);
      expect(stderr).toMatch(/HEALTH_HOST and HEALTH_PORT cannot be listened on \(EADDRINUSE\)/);
      expect(stdout).not.toContain('working');
    });

    // The last, because the database keeps the lack.
    it('exits without the whole schema, and names the command that makes it', async () => {
      await asSuperuser('delete from banking.schema_migration where number = 1');
      const child = spawn(process.execPath, [MAIN], { env: { DATA_DIR: dataDir }, stdio: 'pipe' });
      const [stderr, [exitCode]] = await Promise.all([text(child.stderr), once(child, 'exit')]);

      expect(exitCode).toBe(1);
      expect(stderr).toMatch(/^The database lacks 0001-deployment.+ Run banking migrate first/);
    });
  });
});
