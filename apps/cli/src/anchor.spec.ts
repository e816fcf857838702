import { generateKeyPairSync, type KeyPairKeyObjectResult } from 'node:crypto';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { World } from './testing/world.js';

const world = new World();
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

beforeAll(async () => {
  writeKeys('anchor', generateKeyPairSync('ed25519'));
  writeKeys('rsa', generateKeyPairSync('rsa', { modulusLength: 2048 }));
  chmodSync(path('rsa.key'), 0o600);
  await world.openDemo();
});
afterEach(() => {
  const kept = ['anchor.key', 'anchor.pub', 'rsa.key', 'rsa.pub'];
  for (const name of readdirSync(folder)) if (!kept.includes(name)) rmSync(path(name));
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await world.close();
});

const signed = (...more: readonly string[]) => world.run(['anchor', '--key', path('anchor.key'), ...more]);

describe('banking anchor', () => {
  it('writes the heads of all customer accounts, for its owner only', async () => {
    const { exitCode, stdout, stderr } = await signed('--out', path('anchor.jsonl'));

    const rows = await world.query(
      `select workspace_id::int as workspace, id::int as "accountId", version::int as version, head as hash
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
