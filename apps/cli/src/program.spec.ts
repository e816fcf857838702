import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ConfigError } from '@banking/process';
import { readConfig } from './config.js';
import { orInterrupted, untilSignal } from './deployment.js';
import { ended, World } from './testing/world.js';

describe('usage', () => {
  /** Every command with its required arguments. */
  const COMMANDS: readonly (readonly string[])[] = [
    ['token', 'mia@harbour.example'],
    ['demo'],
    ['migrate'],
    ['verify'],
    ['doctor'],
    ['export', '--workspace', '1'],
    ['prove', 'books.jsonl'],
    ['anchor', '--key', 'anchor.key'],
    ['fund', '3', '1250.00'],
    ['app', 'add', 'Harbour'],
    ['app', 'list'],
    ['app', 'rename', 'Harbour', 'Haven'],
    ['app', 'remove', 'Harbour'],
    ['user', 'add', 'mia@harbour.example', '--app', 'Harbour'],
    ['user', 'list'],
    ['user', 'bind', 'mia@harbour.example', '--issuer', 'https://login.harbour.example', '--subject', '4711'],
    ['user', 'complete', 'mia@harbour.example'],
    ['user', 'suspend', 'mia@harbour.example'],
    ['user', 'resume', 'mia@harbour.example'],
    ['user', 'rename', 'mia@harbour.example', 'mia.stone@harbour.example'],
    ['user', 'remove', 'mia@harbour.example'],
    ['workspace', 'add', 'Shipping', '--app', 'Harbour'],
    ['workspace', 'list'],
    ['workspace', 'rename', '1', 'Logistics'],
    ['workspace', 'set-time-zone', '1', 'Europe/Berlin'],
    ['workspace', 'remove', '1'],
    ['cell', 'add', 'b'],
    ['cell', 'list'],
    ['cell', 'move', '7', '--to', 'b'],
    ['cell', 'archive', '7'],
    ['grant', 'add', 'mia@harbour.example', '--role', 'admin', '--workspace', '1'],
    ['grant', 'list'],
    ['grant', 'remove', 'mia@harbour.example', '--workspace', '1'],
    ['discrepancy', 'list'],
    ['discrepancy', 'resolve', '1', '--workspace', '1', '--return'],
    ['order', 'resume', '12', '--workspace', '1'],
    ['events', 'tail', '--workspace', '1'],
    ['webhooks', 'listen', '--workspace', '1', '--forward', 'http://127.0.0.1:9000/hook'],
    ['webhooks', 'deliveries', '--workspace', '1', '--endpoint', '3'],
    ['webhooks', 'retry', '--workspace', '1', '--endpoint', '3', '--delivery', '9'],
    ['webhooks', 'keys'],
    ['request', 'list'],
    ['request', 'show', '7'],
    ['request', 'withdraw', '7'],
    ['operator', 'add', 'lena'],
    ['payouts', 'resume'],
    ['payouts', 'return', '26', '--workspace', '1', '--note', 'no network serves India'],
    ['rail', 'list'],
    ['rail', 'status'],
    ['rail', 'check', 'bank-a'],
    ['rail', 'adapter', '--port', '0', '--token-file', 'bank.token'],
    ['bank', 'bank-files'],
    ['work', 'list'],
    ['work', 'retry', 'payout', '26', '--workspace', '1'],
    ['work', 'reconcile'],
  ];
  const GROUPS = [
    'app',
    'user',
    'workspace',
    'cell',
    'grant',
    'discrepancy',
    'order',
    'request',
    'operator',
    'events',
    'webhooks',
    'payouts',
    'rail',
    'work',
  ];
  const PATHS = [
    [],
    ...GROUPS.map((group) => [group]),
    ...COMMANDS.map((line) => line.slice(0, GROUPS.includes(line[0]!) ? 2 : 1)),
  ];

  const world = new World();

  afterAll(() => world.close());

  describe('the help of banking', () => {
    it.each(PATHS.map((path): [string, readonly string[]] => [`banking ${path.join(' ')}`.trim(), path]))(
      'prints usage and examples for %s --help',
      async (name, path) => {
        const { exitCode, stdout, stderr } = await world.run([...path, '--help']);

        expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
        // A group with a second name has both in its usage.
        expect(stdout.replace(/^(Usage: \S+ \w+)\|\w+/, '$1').startsWith(`Usage: ${name} [options]`)).toBe(true);
        expect(stdout).toMatch(/\nExamples?:\n {2}\$ /);
      },
    );

    it('marks the options that are required', async () => {
      const { stdout } = await world.run(['events', 'tail', '--help']);

      expect(stdout).toMatch(/^ +--workspace <id> +id of the workspace \(required\)$/m);
      expect(stdout).toMatch(/^ +--json +print one JSON document a line, for programs$/m);
    });

    it('prints the version only', async () => {
      const { version } = JSON.parse(readFileSync(join(__dirname, '../package.json'), 'utf8')) as { version: string };

      expect(await world.runProcess(['--version'])).toEqual({ exitCode: 0, stdout: `${version}\n`, stderr: '' });
    });
  });

  describe('a mistake in the command line', () => {
    const GRANT = ['grant', 'add', 'mia@harbour.example'];
    const DELIVERIES = ['webhooks', 'deliveries', '--workspace', '1', '--endpoint', '3'];
    const USER = ['user', 'add', 'mia@harbour.example', '--app', 'Southwind'];

    it.each<[string, readonly string[]]>([
      ["unknown command 'nosuch'", ['nosuch']],
      ["unknown command 'nosuch'", ['app', 'nosuch']],
      ["unknown command 'nosuch'", ['help', 'nosuch']],
      ["unknown command 'nosuch'", ['app', 'help', 'nosuch']],
      ...COMMANDS.map((line): [string, readonly string[]] => ["unknown option '--nosuch'", [...line, '--nosuch']]),
      ...COMMANDS.map((line): [string, readonly string[]] => ['too many arguments', [...line, 'more']]),
      ["unknown option '--json=yes'", ['verify', '--json=yes']],
      ["missing required argument 'email'", ['token']],
      ["missing required argument 'name'", ['app', 'add']],
      ["missing required argument 'new-name'", ['app', 'rename', 'Harbour']],
      ["missing required argument 'new-email'", ['user', 'rename', 'mia@harbour.example']],
      ["missing required argument 'id'", ['workspace', 'remove']],
      ["required option '--app <name>' not specified", ['user', 'add', 'mia@harbour.example']],
      ["required option '--subject <sub>' not specified", ['user', 'bind', 'mia@harbour.example', '--issuer', 'x']],
      ["required option '--role <role...>' not specified", [...GRANT, '--workspace', '1']],
      ["required option '--workspace <id>' not specified", [...GRANT, '--role', 'admin']],
      ["option '--workspace <id>' argument missing", ['verify', '--workspace']],
      ["required option '--workspace <id>' not specified", ['export']],
      ["missing required argument 'file'", ['prove']],
      ['Allowed choices are viewer, member, approver, admin', [...GRANT, '--workspace', '1', '--role', 'owner']],
      ['Allowed choices are completed, pending', [...USER, '--status', 'done']],
      ['Allowed choices are business, personal', [...USER, '--type', 'robot']],
      ['are needed together', [...USER, '--issuer', 'https://login.harbour.example']],
      ['are needed together', [...USER, '--subject', 'payroll']],
      ['is given more than once', [...GRANT, '--workspace', '1', '--workspace', '2', '--role', 'admin']],
      ['is given more than once', ['verify', '--workspace', '1', '--workspace', '2']],
      ['is given more than once', ['fund', '3', '1.00', '--key', 'a', '--key', 'b']],
      ['is given more than once', ['token', 'a@b', '--lifetime', '1h', '--lifetime', '2h']],
      ...['0', '01', '-1', '+1', '1.0', '1e3', ' 1', '0x1', '9007199254740992', 'one', ''].map(
        (id): [string, readonly string[]] => ['Write an id as digits', ['verify', `--workspace=${id}`]],
      ),
      ['Write an id as digits', ['workspace', 'remove', '1x']],
      ['Write an id as digits', ['fund', 'London', '1.00']],
      ["missing required argument 'amount'", ['fund', '3']],
      ['visible ASCII characters', ['fund', '3', '1.00', '--key', 'two words']],
      ['must not contain control', ['fund', '3', '1.00', '--reference', 'a\tb']],
      ...['0h', '25h', '1441m', '86401s', '8', 'h', '1d', '1.5h', '-1h', '8H'].map(
        (lifetime): [string, readonly string[]] => ['at most 24h', ['token', 'a@b', `--lifetime=${lifetime}`]],
      ),
      ...['hook', 'ftp://127.0.0.1/hook', 'http://user:secret@127.0.0.1/hook', ''].map(
        (url): [string, readonly string[]] => [
          'Write an http or https URL without a user name',
          ['webhooks', 'listen', '--workspace', '1', '--forward', url],
        ],
      ),
      ["required option '--endpoint <id>' not specified", ['webhooks', 'deliveries', '--workspace', '1']],
      ["required option '--delivery <id>' not specified", ['webhooks', 'retry', '--workspace', '1', '--endpoint', '3']],
      ['Allowed choices are pending, delivered, failed', [...DELIVERIES, '--status', 'lost']],
      ["required option '--forward <url>' not specified", ['webhooks', 'listen', '--workspace', '1']],
      ['must not be empty', ['app', 'add', '']],
      ['must not begin or end with a space', ['workspace', 'rename', '1', ' Logistics']],
      ['must not be empty', ['export', '--workspace', '1', '--out', '']],
      ['must not begin or end with a space', ['app', 'add', ' Harbour']],
      ['must not contain control', ['app', 'add', 'Har\u001bbour']],
      ['must not contain control', ['app', 'remove', 'Har\u001bbour']],
      ['must not contain control', ['app', 'add', 'Har\u202ebour']],
      ['must not contain control', ['workspace', 'add', 'Har\u200bbour', '--app', 'Harbour']],
      [
        'must not contain control',
        [...USER, '--issuer', 'https://login.harbour.example', '--subject', 'pay\ue000roll'],
      ],
      ...['2', '1.5s', '-1s', '2d'].map((delay): [string, readonly string[]] => [
        'Write a whole number with ms, s, m or h',
        ['bank', 'bank-files', `--delay=${delay}`],
      ]),
      ['Write whole units of the currency', ['bank', 'bank-files', '--opening', '1e6']],
      ['are needed together', ['bank', 'bank-files', '--pay', '1.00']],
      ['need --pay', ['bank', 'bank-files', '--to', 'DE89370400440532013000']],
      ['cannot be used with', ['bank', 'bank-files', '--statement', '--pay', '1.00', '--to', '42']],
    ])('reports "%s" with the command of the help for %j, and changes nothing', async (problem, args) => {
      const { exitCode, stdout, stderr } = await world.run(args);

      expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
      expect(stderr).toMatch(/^error: /);
      expect(stderr).toContain(problem);
      expect(stderr).toMatch(/\nSee banking (?:[a-z-]+ )*--help\.\n$/);
      expect(stderr.length).toBeLessThan(1_000);
      expect(readdirSync(world.dataDir)).toEqual([]);
    });

    it('names the help of the command at fault', async () => {
      expect((await world.run(['grant', 'nosuch'])).stderr).toBe(
        "error: unknown command 'nosuch'\nSee banking grant --help.\n",
      );
      expect((await world.run(['app', 'add'])).stderr).toBe(
        "error: missing required argument 'name'\nSee banking app add --help.\n",
      );
    });

    it.each([[[]], [['grant']]])('reports a missing command below the usage for %j', async (args) => {
      const { exitCode, stdout, stderr } = await world.run(args);

      expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
      expect(stderr).toMatch(/^Usage: banking /);
      expect(stderr).toMatch(/\nerror: the command is missing\. Choose one of the commands above\.\n$/);
    });
  });

  describe('banking in a process of its own', () => {
    it('prints for a mistake what it prints in this process', async () => {
      expect(await world.runProcess(['token'])).toEqual(await world.run(['token']));
    });
  });

  describe('mistakes in the environment', () => {
    it('are reported together, and nothing is changed', async () => {
      const environment = { DEMO_DATA: 'yes', DATABASE_OWNER_URL: 'http://db', OIDC_ISSUER: 'login' };
      const { exitCode, stdout, stderr } = await world.run(['app', 'list'], environment);

      expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
      expect(stderr).toMatch(/^The configuration has 3 mistakes:\n( {2}- .*\n){3}$/);
      expect(readdirSync(world.dataDir)).toEqual([]);
    });

    it('do not prevent help', async () => {
      expect(await world.run(['verify', '--help'], { DEMO_DATA: 'yes' })).toMatchObject({
        exitCode: 0,
        stderr: '',
      });
    });
  });
});

describe('config', () => {
  function mistakesOf(environment: Record<string, string>): readonly string[] {
    try {
      readConfig(environment);
      return [];
    } catch (error) {
      if (error instanceof ConfigError) return error.mistakes;
      throw error;
    }
  }

  describe('the configuration without variables', () => {
    it.each([{}, { DATA_DIR: '', DATABASE_URL: ' ', DEMO_DATA: '', OIDC_ISSUER: '', OIDC_AUDIENCE: '' }])(
      'is the embedded database with demo data and a local key',
      (environment) => {
        expect(readConfig(environment)).toEqual({
          deployment: expect.objectContaining({ dataDir: resolve('.data'), databaseUrl: undefined, demo: true }),
          issuers: [],
          audience: 'banking-api',
        });
      },
    );
  });

  describe('the configuration of a database of your own', () => {
    const DATABASE_URL = 'postgresql://app@db.harbour.example/banking?sslmode=verify-full';

    it('has no demo data by default', () => {
      expect(readConfig({ DATABASE_URL, SANDBOX: 'on' })).toMatchObject({
        deployment: { databaseUrl: DATABASE_URL, demo: false },
      });
      expect(readConfig({ DATABASE_URL, SANDBOX: 'on', DEMO_DATA: 'on' }).deployment.demo).toBe(true);
    });

    it('keeps the identity provider unchanged', () => {
      const OIDC_ISSUER = 'https://Login.harbour.example/realm/';
      expect(readConfig({ DATABASE_URL, SANDBOX: 'off', OIDC_ISSUER }).issuers).toEqual([OIDC_ISSUER]);
      expect(readConfig({ OIDC_ISSUER: 'http://127.0.0.1:9000' }).issuers).toEqual(['http://127.0.0.1:9000']);
    });
  });

  describe('mistakes in the configuration', () => {
    it.each([
      [{ DATABASE_URL: 'mysql://db/banking', SANDBOX: 'on' }, /^DATABASE_URL is not a URL/],
      [{ DATABASE_OWNER_URL: 'postgres://db/banking' }, /without DATABASE_URL/],
      [{ DEMO_DATA: 'true' }, /^DEMO_DATA is "true"/],
      [{ DATABASE_NAMED_STATEMENTS: 'no' }, /^DATABASE_NAMED_STATEMENTS is "no"/],
      [{ OIDC_ISSUER: 'http://login.harbour.example' }, /^OIDC_ISSUER must be the https URL/],
    ])('are reported for %j', (environment, mistake) => {
      expect(mistakesOf(environment as unknown as Record<string, string>)).toEqual([expect.stringMatching(mistake)]);
    });

    it('are reported together, without URLs that contain a password', () => {
      const mistakes = mistakesOf({
        DATABASE_URL: 'http://me:secret@db',
        SANDBOX: 'on',
        DEMO_DATA: '1',
        OIDC_ISSUER: 'x',
      });

      expect(mistakes).toHaveLength(3);
      expect(mistakes.join()).not.toContain('secret');
    });
  });
});

describe('interruption', () => {
  const world = new World();

  beforeAll(async () => {
    await world.openDemo();
  });
  afterAll(() => world.close());

  describe('the interruption of a command', () => {
    it('leaves the server, and exits with the code of the signal', async () => {
      await world.query('begin');
      await world.query(`lock table app`);
      const command = world.start(['app', 'list']);
      const end = ended(command);
      for (let isWaiting = false; !isWaiting;) {
        const waiting = await world.query(`select from pg_locks where relation = 'app'::regclass and not granted`);
        isWaiting = waiting.length > 0;
      }

      command.kill('SIGTERM');
      const { exitCode, stdout, stderr } = await end;
      await world.query('rollback');

      expect({ exitCode, stdout, stderr }).toEqual({ exitCode: 143, stdout: '', stderr: `Stopped by SIGTERM.\n` });
      expect(await world.holders()).toBe(1);
    });

    it.each([
      ['SIGINT', 130],
      ['SIGHUP', 129],
    ] as const)('ends its work after %s with code %d', async (signal, exitCode) => {
      const written = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
      const work = untilSignal((aborted) => {
        const ended = orInterrupted(aborted, () => new Promise(() => undefined));
        // Not by emit: Jest copies the process, and where signal-exit has replaced emit before, the copy has that of the original.
        for (const listener of process.listeners(signal)) listener(signal);
        return ended;
      });

      await expect(work).rejects.toMatchObject({ message: `Stopped by ${signal}.`, exitCode });
      written.mockRestore();
      expect(process.listenerCount(signal)).toBe(0);
    });
  });

  describe('a command without a reachable database', () => {
    it('reports one sentence without a stack', async () => {
      const environment = { DATABASE_URL: 'postgres://stranger:secret@127.0.0.1:1/none', SANDBOX: 'on' };
      const { exitCode, stdout, stderr } = await world.run(['app', 'list'], environment);

      expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
      expect(stderr).toMatch(/^.*database.*\n$/);
      expect(stderr).not.toContain('secret');
    });
  });
});

describe('a command on a damaged database', () => {
  const world = new World();

  afterAll(() => world.close());

  /** The message for an operator states what to do, without a stack or a class name. */
  const STACK = /^\s+at .+:\d+:\d+|node:internal|\bError:/m;

  beforeAll(async () => {
    await world.fill();
    overwriteTableWith('Float for Berlin');
  });

  it('reports the damage and the next step', async () => {
    const { exitCode, stdout, stderr } = await world.run(['verify']);

    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(
      /^The database in DATA_DIR is damaged: .+\. Stop every process that uses it and put a backup in its place\.$/m,
    );
    expect(stderr).not.toMatch(STACK);
  });

  it('succeeds if it does not read the damaged table', async () => {
    expect(await world.json('app', 'list')).toHaveLength(2);
  });

  /** Overwrites the beginning of the table that contains a text. */
  function overwriteTableWith(text: string): void {
    const folder = join(world.dataDir, 'database/base/5');
    // The tables of PostgreSQL itself have lower numbers.
    const ours = readdirSync(folder).filter((name) => /^\d+$/.test(name) && Number(name) >= 16_384);
    const tables = ours.map((name) => join(folder, name)).filter((file) => readFileSync(file).includes(text));
    if (tables.length !== 1) throw new Error(`${tables.length} tables hold "${text}"`);
    for (const table of tables) {
      const content = readFileSync(table);
      writeFileSync(table, content.fill(0x5a, 0, 4096));
    }
  }
});
