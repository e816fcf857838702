import { generateKeyPairSync, type KeyPairKeyObjectResult } from 'node:crypto';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { AuditEvent } from '@banking/domain';
import type { ExportProof } from '@banking/domain/proof';
import { OPERATOR, ended, type Run, World } from './testing/world.js';

const world = new World();

beforeAll(() => world.openDemo());
afterAll(() => world.close());

describe('export', () => {
  const folder = mkdtempSync(join(tmpdir(), 'banking-export-'));
  const books = join(folder, 'books.jsonl');

  afterEach(() => readdirSync(folder).forEach((name) => rmSync(join(folder, name))));
  afterAll(() => rmSync(folder, { recursive: true }));

  const exportBooks = ['export', '--workspace', '1', '--out', books];
  const exportTo = (out: string, workspace = '1') => world.run(['export', '--workspace', workspace, '--out', out]);

  describe('banking export and banking prove', () => {
    it('write a file for its owner only, and verify it', async () => {
      const { exitCode, stdout, stderr } = await exportTo(books);
      const proof = await world.json<ExportProof>('prove', books);

      const written =
        /^Wrote the books of workspace 1, Northwind Trading: (\d+) accounts, (\d+) trans.*, (\d+) transfers\.\n$/;
      const counts = [proof.accounts.length, proof.transactions, proof.transfers].map(String);
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
      expect(written.exec(stdout)?.slice(1)).toEqual(counts);
      expect(proof.workspace).toEqual({ id: 1, name: 'Northwind Trading' });
      expect(readdirSync(folder)).toEqual(['books.jsonl']);
      expect(statSync(books).mode & 0o777).toBe(0o600);
    });

    it('write the same lines to standard output without --out', async () => {
      await exportTo(books);
      const { exitCode, stdout, stderr } = await world.run(['export', '--workspace', '1']);

      const lines = (text: string) => text.replace(/"exportedAt":"[^"]+"/, '').split('\n');
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
      expect(lines(stdout)).toEqual(lines(readFileSync(books, 'utf8')));
    });

    it('succeed if the reader closes the pipe early', async () => {
      const command = world.start(['export', '--workspace', '1']);
      const closed = new Promise((done) => command.once('close', done));
      command.stdout!.destroy();

      expect(await text(command.stderr!)).toBe('');
      expect(await closed).toBe(0);
    });

    it('print the final balance of each account', async () => {
      await exportTo(books);

      const { exitCode, stdout } = await world.run(['prove', books]);

      expect(exitCode).toBe(0);
      expect(stdout).toMatch(/^Account +Kind +Balance +Currency +Transfers +Head$/m);
      expect(stdout).toMatch(/^ +3 +customer +96000\.00 +GBP +1 +[0-9a-f]{64}$/m);
      expect(stdout).toMatch(/^ +\d+ +settlement +-96000\.00 +GBP$/m);
      expect(stdout).toMatch(
        /^Every balance and every hash of workspace 1, Northwind Trading, as of 20\S+Z, is correct/m,
      );
    });

    it('report the line and the fault of a changed file', async () => {
      await exportTo(books);
      writeFileSync(books, readFileSync(books, 'utf8').replace('"amount":"1875000"', '"amount":"1875001"'));

      const { exitCode, stdout, stderr } = await world.run(['prove', books]);

      expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
      expect(stderr).toMatch(
        /^The file .*books\.jsonl is not a valid export: line \d+ has transaction \d+, which is out of balance by -1 EUR\.\n$/,
      );
    });

    it.each([
      ['is not there', 'nosuch.jsonl', /nosuch\.jsonl cannot be read: ENOENT.*\.\n$/],
      ['is a folder', '.', /cannot be read: EISDIR.*\.\n$/],
    ])('report a file that %s', async (_what, name, problem) => {
      const { exitCode, stdout, stderr } = await world.run(['prove', join(folder, name)]);

      expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
      expect(stderr).toMatch(problem);
      expect(stderr).not.toMatch(/^\s+at /m);
    });
  });

  describe('an export that fails', () => {
    it.each([
      ['the file exists', '1', 'books.jsonl', /^The file .*books\.jsonl exists already and is not replaced/],
      ['the workspace is unknown', '99', 'new.jsonl', /^There is no workspace 99\. See banking workspace list\.\n$/],
      ['the folder is unknown', '1', 'nosuch/new.jsonl', /new\.jsonl cannot be written: ENOENT/],
    ])('reports that %s, and changes no file', async (_what, workspace, name, problem) => {
      writeFileSync(books, 'kept');

      const { exitCode, stdout, stderr } = await exportTo(join(folder, name), workspace);

      expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
      expect(stderr).toMatch(problem);
      expect(readdirSync(folder)).toEqual(['books.jsonl']);
      expect(readFileSync(books, 'utf8')).toBe('kept');
    });

    it.each<[string, number, () => { readonly end: Promise<Run>; readonly pid: number; happen(): void }]>([
      [
        'a signal comes',
        130,
        () => {
          const command = world.start(exportBooks);
          return { end: ended(command), pid: command.pid!, happen: () => void command.kill('SIGINT') };
        },
      ],
      [
        'a file of that name is made',
        1,
        () => ({ end: world.run(exportBooks), pid: process.pid, happen: () => writeFileSync(books, 'kept') }),
      ],
    ])('leaves no file if %s meanwhile', async (_what, code, start) => {
      await world.query('begin');
      await world.query('lock table transfer');
      const { end, pid, happen } = start();
      for (let isWaiting = false; !isWaiting;) {
        const waiting = await world.query(`select from pg_locks where relation = 'transfer'::regclass and not granted`);
        isWaiting = waiting.length > 0;
      }
      const under = readdirSync(folder);

      happen();
      if (code === 1) await world.query('rollback');
      const { exitCode } = await end;
      if (code !== 1) await world.query('rollback');

      expect(under).toEqual([`books.jsonl.${pid}.part`]);
      expect(exitCode).toBe(code);
      expect(readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'))).toEqual(
        code === 1 ? ['kept'] : [],
      );
    });

    it('reports missing transactions', async () => {
      await world.query('create table kept as table transfer; delete from transfer where account_version = 1');

      const { exitCode, stderr } = await exportTo(books);
      await world.query('delete from transfer; insert into transfer select * from kept; drop table kept');

      expect(exitCode).toBe(1);
      expect(stderr).toMatch(/^The books of workspace 1 are not in order: .* Run banking verify --workspace 1\.\n$/);
      expect(readdirSync(folder)).toEqual([]);
    });
  });
});

describe('anchor', () => {
  const folder = mkdtempSync(join(tmpdir(), 'banking-anchor-'));
  const path = (name: string) => join(folder, name);

  const pem = ({ privateKey, publicKey }: KeyPairKeyObjectResult) =>
    [privateKey.export({ type: 'pkcs8', format: 'pem' }), publicKey.export({ type: 'spki', format: 'pem' })] as const;
  /** Writes a private key and its public key. */
  function writeKeys(name: string, keys: KeyPairKeyObjectResult): void {
    const [secret, shown] = pem(keys);
    writeFileSync(path(`${name}.key`), secret, { mode: 0o600 });
    writeFileSync(path(`${name}.pub`), shown);
  }

  beforeAll(() => {
    writeKeys('anchor', generateKeyPairSync('ed25519'));
    writeKeys('rsa', generateKeyPairSync('rsa', { modulusLength: 2048 }));
    chmodSync(path('rsa.key'), 0o600);
  });
  afterEach(() => {
    const kept = ['anchor.key', 'anchor.pub', 'rsa.key', 'rsa.pub'];
    for (const name of readdirSync(folder)) if (!kept.includes(name)) rmSync(path(name));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const signed = (...more: readonly string[]) => world.run(['anchor', '--key', path('anchor.key'), ...more]);

  describe('banking anchor', () => {
    it('writes the heads of all customer accounts, for its owner only', async () => {
      const { exitCode, stdout, stderr } = await signed('--out', path('anchor.jsonl'));

      const rows = await world.query(
        `select workspace_id::int as workspace, id::int as "accountId", version::int as version, encode(head, 'hex') as hash
       from account where kind = 'customer' order by workspace_id, id`,
      );
      const lines = readFileSync(path('anchor.jsonl'), 'utf8')
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, Record<string, unknown>>);
      let workspace: unknown;
      const heads = lines.flatMap((line) => {
        workspace = line['workspace']?.['id'] ?? workspace;
        return line['head'] ? [{ workspace, ...line['head'] }] : [];
      });
      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
      expect(stdout).toMatch(
        /^Wrote the heads of 3 workspaces as of 20\S+Z: \d+ accounts, signed with key [0-9a-f]{64}\.\n$/,
      );
      expect(heads).toEqual(rows);
      expect(heads.length).toBeGreaterThan(5);
      expect(statSync(path('anchor.jsonl')).mode & 0o777).toBe(0o600);
    });

    it('writes to standard output without --out, and the heads of one workspace with --workspace', async () => {
      const { exitCode, stdout, stderr } = await signed('--workspace', '2');

      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
      expect(stdout.match(/"workspace":\{[^}]*\}/g)).toEqual([expect.stringMatching(/"id":2\}$/)]);
    });

    it('does not replace a file', async () => {
      writeFileSync(path('anchor.jsonl'), 'kept');

      const { exitCode, stderr } = await signed('--out', path('anchor.jsonl'));

      expect(exitCode).toBe(1);
      expect(stderr).toMatch(/exists already and is not replaced/);
      expect(readFileSync(path('anchor.jsonl'), 'utf8')).toBe('kept');
    });

    it.each<[string, readonly string[], RegExp]>([
      ['is not there', ['--key', 'nosuch.key'], /nosuch\.key cannot be read: ENOENT/],
      ['is no key', ['--key', 'text'], /contains no Ed25519 private key in PEM without a passphrase\.\n$/],
      ['is a key of another kind', ['--key', 'rsa.key'], /contains no Ed25519 private key/],
      [
        'is accessible to others',
        ['--key', 'open.key'],
        /accessible to others than its owner \(mode 0644\)\. Run chmod 600/,
      ],
      ['is a folder', ['--key', '.'], /is not a key in PEM/],
      [
        'is a private key as public key',
        ['--sign-command', 'true', '--public-key', 'anchor.key'],
        /no Ed25519 public key/,
      ],
    ])('refuses a key that %s', async (_what, options, problem) => {
      writeFileSync(path('text'), 'a text', { mode: 0o600 });
      writeFileSync(path('open.key'), readFileSync(path('anchor.key')), { mode: 0o644 });
      const args = options.map((option) => (/^(--|true)/.test(option) ? option : path(option)));

      const { exitCode, stdout, stderr } = await world.run(['anchor', ...args]);

      expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
      expect(stderr).toMatch(problem);
      expect(stderr).not.toMatch(/^\s+at /m);
    });

    it.each<[string, readonly string[], RegExp]>([
      ['no key', [], /name a key with --key, or a command with --sign-command/],
      ['two signers', ['--key', 'a', '--sign-command', 'b'], /cannot be used with option '--sign-command/],
      ['a command without its public key', ['--sign-command', 'b'], /--sign-command needs --public-key/],
    ])('is wrong usage with %s', async (_what, options, problem) => {
      const { exitCode, stderr } = await world.run(['anchor', ...options]);

      expect(exitCode).toBe(2);
      expect(stderr).toMatch(problem);
    });
  });

  describe('a sign command', () => {
    const withCommand = (script: string, more: readonly string[] = []) => {
      const body = `const { readFileSync: read } = require('node:fs'); const { sign } = require('node:crypto'); ${script}`;
      writeFileSync(path('sign.cjs'), body);
      const command = `${JSON.stringify(process.execPath)} ${JSON.stringify(path('sign.cjs'))}`;
      return world.run(['anchor', '--sign-command', command, '--public-key', path('anchor.pub'), ...more]);
    };
    const SIGNATURE = () => `sign(null, read(0), read(${JSON.stringify(path('anchor.key'))}))`;

    it.each([
      ['its bytes', () => `process.stdout.write(${SIGNATURE()})`],
      ['its base64', () => `console.log(${SIGNATURE()}.toString('base64'))`],
    ])('signs an anchor with %s', async (_what, script) => {
      const { exitCode, stderr } = await withCommand(script(), ['--out', path('anchor.jsonl')]);
      await world.run(['export', '--workspace', '1', '--out', path('books.jsonl')]);
      const since = ['--since', path('anchor.jsonl'), '--public-key', path('anchor.pub')];
      const proved = await world.run(['prove', ...since, path('books.jsonl')]);

      expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
      expect(proved).toMatchObject({ exitCode: 0, stderr: '' });
    });

    it.each<[string, () => string, RegExp]>([
      ['signs with another key', () => `process.stdout.write(Buffer.alloc(64))`, /returned no Ed25519 signature/],
      [
        'writes something else',
        () => `console.log('signed')`,
        /returned no Ed25519 signature of the statement by the key/,
      ],
      ['fails', () => `process.exit(3)`, /The sign command failed: it ended with 3\.\n$/],
    ])('writes no anchor if it %s', async (_what, script, problem) => {
      const { exitCode, stdout, stderr } = await withCommand(script(), ['--out', path('anchor.jsonl')]);

      expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
      expect(stderr).toMatch(problem);
      expect(readdirSync(folder)).not.toContain('anchor.jsonl');
    });
  });
});

describe('banking audit export', () => {
  /** As the worker does, which the commands do not start. */
  const record = () =>
    world.query(
      `select set_config('app.workspaces', (select array_agg(id)::text from banking.workspace), false), banking.record_audit(100000)`,
    );
  const exported = async (...more: readonly string[]) => {
    const { exitCode, stdout } = await world.run(['audit', 'export', '--workspace', '1', ...more]);
    const lines = stdout.split('\n').slice(0, -1);
    return { exitCode, events: lines.map((line) => JSON.parse(line) as AuditEvent) };
  };

  it('writes the entries newest first, also those of operators with both names', async () => {
    const { accounts } = await world.json<{ accounts: Record<string, number> }>('demo');
    const account = String(accounts['Northwind Trading USD']);
    const { transfer } = await world.json<{ transfer: { id: number } }>('fund', account, '1.00');
    await record();

    const { exitCode, events } = await exported();

    expect(exitCode).toBe(0);
    expect(events[0]).toMatchObject({
      id: events.length,
      operation: 'fundAccount',
      resource: { type: 'transfer', id: transfer.id },
      actor: { type: 'operator', name: OPERATOR, operatingSystemUser: OPERATOR },
    });
    expect(events.at(-1)).toMatchObject({ id: 1 });
    expect((await world.run(['verify'])).exitCode).toBe(0);
  });

  it('writes the entries of a period', async () => {
    const { events } = await exported();
    const [newest] = events;

    expect((await exported('--from', newest!.createdAt)).events).toEqual([newest]);
    expect((await exported('--to', newest!.createdAt)).events).toEqual(events.slice(1));
    expect((await exported('--from', 'yesterday')).exitCode).not.toBe(0);
  });

  it('writes the entries in the order of their chain, also if their times are in another', async () => {
    // The recorder took an entry that was committed first, and began later.
    const { events } = await exported();
    const [newest] = events;
    await world.query(
      `with e as (update audit_event set created_at = (select min(created_at) from audit_event where workspace_id = 1) - interval '1 s'
         where workspace_id = 1 and id = ${newest!.id} returning *)
       update audit_head h set hash = next_audit_hash((select hash from audit_event where workspace_id = 1 and id = ${newest!.id} - 1), '',
         audit_content(e.workspace_id, e.id, e.operation, e.outcome, e.reason, e.count, e.resource_type, e.resource_id, e.user_id, e.actor,
           e.request_id, e.source_address, e.created_at)) from e where h.workspace_id = 1`,
    );
    await world.query(
      `update audit_event e set hash = h.hash from audit_head h where h.workspace_id = 1 and e.workspace_id = 1 and e.id = ${newest!.id}`,
    );
    await world.run(['audit', 'export', '--workspace', '1', '--out', join(world.dataDir, 'audit.jsonl')]);

    expect((await exported()).events.map(({ id }) => id)).toEqual(events.map(({ id }) => id));
    expect(await world.run(['prove', join(world.dataDir, 'audit.jsonl')])).toMatchObject({ exitCode: 0 });
  });

  it('reports its progress on a terminal', async () => {
    await world.query(
      `insert into audit_event (workspace_id, id, operation, outcome, count, actor, created_at, hash)
       select 1, h.id + n, 'placeOrder', 'done', 1, '{"type": "user"}', now(), repeat('0', 64)
       from (select max(id) as id from audit_event where workspace_id = 1) h, generate_series(1, 20000) n`,
    );
    const { stderr } = process;
    const before = Object.getOwnPropertyDescriptor(stderr, 'isTTY');
    Object.defineProperty(stderr, 'isTTY', { value: true, configurable: true });

    const run = await world.run(['audit', 'export', '--workspace', '1', '--out', join(world.dataDir, 'long.jsonl')]);

    if (before) Object.defineProperty(stderr, 'isTTY', before);
    else Reflect.deleteProperty(stderr, 'isTTY');
    expect(run.exitCode).toBe(0);
    expect(run.stderr).toContain('Read 20000 entries of the audit trail of workspace 1.\n');
  });
});
