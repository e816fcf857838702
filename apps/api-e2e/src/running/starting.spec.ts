import { chmodSync, existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { attachEmbeddedServer } from '@banking/embedded-postgres';
import { administer } from '@banking/postgres/testing';
import { demoDataDir, launch, newDataDir, refusedStart, RunningService, type TestDataDir } from '../running-service.js';
import { serviceOfTheRun } from '../service.js';

const service = serviceOfTheRun();

/** Messages to an operator are sentences, without a stack or the name of a class. */
const STACK = /^\s+at .+:\d+:\d+|node:internal|\bError:/m;

describe('service start', () => {
  let folder: TestDataDir;

  beforeAll(async () => {
    folder = await newDataDir();
  });

  afterAll(() => folder.remove());

  it('reports all configuration errors at once with their corrections, and changes nothing', async () => {
    const dataDir = `${folder.path}/never-made`;

    const { code, stdout, stderr } = await refusedStart({
      dataDir,
      environment: {
        PORT: '70000',
        LOG_FORMAT: 'xml',
        LOG_LEVEL: 'loud',
        DOCS: 'maybe',
        DATABASE_OWNER_URL: 'postgres://localhost/x',
        DATABASE_POOL_SIZE: '0',
        CORS_ORIGINS: 'https://app.example/path',
        OIDC_ISSUER: 'http://login.example',
        RATE_LIMIT_PER_SECOND: '-1',
      },
    });

    expect(code).toBe(2);
    for (const name of [
      'PORT',
      'LOG_FORMAT',
      'LOG_LEVEL',
      'DOCS',
      'DATABASE_OWNER_URL',
      'DATABASE_POOL_SIZE',
      'CORS_ORIGINS',
      'OIDC_ISSUER',
      'RATE_LIMIT_PER_SECOND',
    ]) {
      expect(stderr).toMatch(new RegExp(`^ {2}- ${name} .+\\.$`, 'm'));
    }
    expect(stderr).not.toMatch(STACK);
    expect(stdout).toBe('');
    expect(existsSync(dataDir)).toBe(false);
  });

  it('reports a port in use in a sentence and leaves the database of the other service running', async () => {
    const { port } = new URL(service.url);

    const { code, stderr } = await refusedStart({ dataDir: service.dataDir, environment: { PORT: port } });

    expect([1, 2]).toContain(code);
    expect(stderr).toContain(port);
    expect(stderr).toMatch(/PORT/);
    expect(stderr).not.toMatch(STACK);
    expect((await fetch(`${service.url}/health/ready`)).status).toBe(200);
  });
});

/** What the README shows of a first start, after the line of the compiler. */
function quickStart(): string[] {
  const readme = readFileSync(join(__dirname, '../../../../README.md'), 'utf8');
  const [, shown = ''] = /```text\nCompiling [^\n]+\n(.+?)\n```/s.exec(readme) ?? [];
  return shown.split('\n').map(withoutTime);
}

const withoutTime = (line: string) => line.replace(/^\[[\d:]+\] INFO: /, '');

/** Without what differs by folder, port and release. */
const asShown = (line: string) =>
  line
    .replaceAll(/http:\/\/[\d.:]+/g, 'URL')
    .replace(/ in \/.+/, ' in DATA_DIR')
    .replace(/\d+ migrations: .+/, 'N migrations');

describe('the first start on a terminal', () => {
  let folder: TestDataDir;
  let dataDir: string;

  beforeAll(async () => {
    folder = await newDataDir();
    // The user of root's database server passes through it.
    chmodSync(folder.path, 0o755);
    dataDir = join(folder.path, 'data');
  });

  afterAll(() => folder.remove());

  /** The lines up to the ready lines, and those after them, without time and level. */
  const linesOfStart = async () => {
    const running = await RunningService.start({ dataDir, environment: { LOG_FORMAT: 'pretty' } });
    await running.stop();
    const lines = running.log.replaceAll(LATE_WORK, '').trimEnd().split('\n');
    const isReady = lines.findIndex((line) => line.startsWith('A token: ')) + 1;
    const text = (line: string) => withoutTime(line).replaceAll(running.url, 'URL');
    return [lines.slice(0, isReady), lines.slice(isReady)].map((part) => part.map(text));
  };

  /** Work that found no connection in time, with its stack, on a machine that is busy. */
  const LATE_WORK =
    /^.*WARN: work failed.*\n {4}err: .*\n.*\n +"message": "No connection to the database could be had in time\.",\n(?: {4}.*\n)*/gm;

  const READY = [
    'Server listening at URL',
    'Ready on URL - docs page: URL/docs',
    'A token: npm run -s token -- ada@northwind.example',
  ];
  const STOPPED = ['SIGINT: stopping', 'stopped'];

  it('prints a line for each step and the token command last, and keeps the database in DATA_DIR', async () => {
    const first = await linesOfStart();
    const second = await linesOfStart();

    const steps = [
      `created the database in ${dataDir}`,
      expect.stringMatching(/^applying \d\d migrations: 0001-deployment\.sql to \d{4}-[\w-]+\.sql$/),
      'created the demo data',
    ];
    expect(first).toEqual([[...steps, ...READY], STOPPED]);
    expect(second).toEqual([READY, STOPPED]);
    expect(first[0]?.map(asShown)).toEqual(quickStart().map(asShown));
    expect(existsSync(join(dataDir, 'database', 'PG_VERSION'))).toBe(true);
    for (const name of ['signing-key.json', 'webhook-key']) {
      expect([name, statSync(join(dataDir, name)).mode & 0o777]).toEqual([name, 0o600]);
    }
  });
});

describe('the first start', () => {
  let folder: TestDataDir;

  beforeAll(async () => {
    folder = await newDataDir();
  });

  afterAll(() => folder.remove());

  it('ends with 0 when it is interrupted while another process migrates', async () => {
    const server = await attachEmbeddedServer({ dataDir: folder.path });
    await administer({ ...server.connection }, async (client) => {
      await client.query(`select pg_advisory_lock(hashtextextended('migrate banking', 0))`);
      const { child, ended, output } = launch('api', { dataDir: folder.path });
      await output.matched(/waiting for another process that migrates/);
      child.kill('SIGINT');

      expect(await ended).toEqual({ code: 0, signal: null });
      expect(output.stdout).toContain('"msg":"stopped"');
      expect(output.stdout).not.toContain('applying');
      expect(output.stderr).toBe('');
    });
    await server.detach();
  });

  it('does not listen once it was interrupted, ends with 0 and stops its database', async () => {
    const { child, ended, output } = launch('api', { dataDir: folder.path });
    await output.matched(/applying/);
    child.kill('SIGINT');

    expect(await ended).toEqual({ code: 0, signal: null });
    const [, afterwards] = output.stdout.split('SIGINT: stopping');
    expect(afterwards).toContain('"msg":"stopped"');
    expect(afterwards).not.toContain('Server listening');
    expect(existsSync(join(folder.path, 'database', 'postmaster.pid'))).toBe(false);
  });
});

describe('the standard output of a service', () => {
  let folder: TestDataDir;

  beforeAll(async () => {
    folder = await demoDataDir();
  });

  afterAll(() => folder.remove());

  it('has lines of JSON with LOG_FORMAT=json, and when it is ready the address and a command', async () => {
    const { child, ended, output } = launch('api', { dataDir: folder.path });
    await output.matched(/^A token: .*\n/m);
    child.kill('SIGINT');
    await ended;

    const lines = output.stdout.trimEnd().split('\n');
    const others = lines.filter((line) => !line.startsWith('{"level":')).join('\n');
    expect(others).toMatch(/^Ready on http.*\nA token: .*$/);
    expect(output.stderr).toBe('');
  });

  it.each(['json', 'pretty'])('may lose its reader, with LOG_FORMAT=%s', async (format) => {
    const { child, ended, output } = launch('api', { dataDir: folder.path, environment: { LOG_FORMAT: format } });
    const url = await output.matched(/^Ready on (http\S+).*\n/m);
    child.stdout.destroy();

    expect((await fetch(`${url}/apps`)).status).toBe(401);
    expect((await fetch(`${url}/health/ready`)).status).toBe(200);
    child.kill('SIGINT');
    expect(await ended).toEqual({ code: 0, signal: null });
  });
});
