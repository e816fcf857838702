import { createHash, createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TransactionContent } from '@banking/domain/proof';
import { rewriteExport } from './testing/rewritten-export.js';
import { World } from './testing/world.js';

const world = new World();
const folder = mkdtempSync(join(tmpdir(), 'banking-since-'));
const path = (name: string) => join(folder, name);

/** Of workspace 1: a customer account with several transfers, and one that was funded only. */
let busy: number;
let funded: number;

beforeAll(async () => {
  for (const name of ['anchor', 'other']) {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    writeFileSync(path(`${name}.key`), privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 });
    writeFileSync(path(`${name}.pub`), publicKey.export({ type: 'spki', format: 'pem' }));
  }
  await world.openDemo();
  const [most] = await world.query(
    `select id::int from account where workspace_id = 1 and kind = 'customer' order by version desc limit 1`,
  );
  const [least] = await world.query(
    `select id::int from account where workspace_id = 1 and version = 1 and exists (
       select from transfer where account_id = account.id and type = 'funding') order by id limit 1`,
  );
  [busy, funded] = [Number(most!['id']), Number(least!['id'])];
  await run('export', '--workspace', '1', '--out', path('before.jsonl'));
  await run('anchor', '--key', path('anchor.key'), '--out', path('anchor.jsonl'));
  await run('fund', String(busy), '100');
  await run('export', '--workspace', '1', '--out', path('books.jsonl'));
  await run('export', '--workspace', '2', '--out', path('books-2.jsonl'));
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await world.close();
});

async function run(...args: readonly string[]): Promise<void> {
  const { exitCode, stderr } = await world.run(args);
  if (exitCode !== 0) throw new Error(`banking ${args[0]} ended with ${exitCode}: ${stderr}`);
}

const since = (anchor: string, ...files: readonly string[]) =>
  world.run(['prove', '--since', path(anchor), '--public-key', path('anchor.pub'), ...files.map(path)]);

/** A copy of the export that was rewritten consistently. `banking prove` alone accepts it. */
async function rewritten(edit: (content: TransactionContent) => TransactionContent | undefined, without?: number[]) {
  copyFileSync(path('books.jsonl'), path('forged.jsonl'));
  await rewriteExport(path('forged.jsonl'), edit, without);
  expect(await world.run(['prove', path('forged.jsonl')])).toMatchObject({ exitCode: 0 });
  return since('anchor.jsonl', 'forged.jsonl');
}

const isOn = (content: TransactionContent, account: number) =>
  content.transfers.some(({ accountId }) => accountId === account);

describe('banking prove --since', () => {
  it('proves that nothing was changed or cut, without the database, through the built program', async () => {
    const args = ['prove', '--since', path('anchor.jsonl'), '--public-key', path('anchor.pub')];
    const nowhere = { DATA_DIR: path('nosuch'), DATABASE_URL: 'postgres://test@127.0.0.1:1/none' };

    const { exitCode, stdout, stderr } = await world.runProcess(
      [...args, path('books.jsonl'), path('books-2.jsonl')],
      nowhere,
    );

    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    const lines = stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(3);
    expect(lines[0]).toMatch(
      /^Nothing of workspace 1, Northwind Trading, was changed or cut up to the anchor of 20\S+Z: /,
    );
    expect(lines[1]).toMatch(/^Nothing of workspace 2, /);
    expect(lines[2]).toBe('Not proved, because no export was given: workspace 3.');
  });

  it('accepts accounts that were opened later', async () => {
    await world.query(
      `create table kept as table account;
       insert into account (workspace_id, id, kind, currency_id, product_id, name, type, code)
       select workspace_id, 900001, 'customer', currency_id, product_id, name, type, 'LATER' from account where id = ${busy}`,
    );
    await run('export', '--workspace', '1', '--out', path('more.jsonl'));
    await world.query('delete from account where id = 900001; drop table kept');

    const { exitCode, stdout } = await since('anchor.jsonl', 'more.jsonl');

    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/: \d+ accounts unchanged, 1 opened later\.$/m);
  });

  it('finds a transaction that was changed and hashed again', async () => {
    const { exitCode, stdout, stderr } = await rewritten((content) =>
      isOn(content, busy) && content.transfers.some(({ accountVersion }) => accountVersion === 1)
        ? { ...content, valueDate: '2020-01-01' }
        : content,
    );

    expect(exitCode).toBe(1);
    expect(stdout).not.toMatch(/Nothing of workspace 1/);
    expect(stderr).toMatch(
      new RegExp(
        `forged\\.jsonl: Account ${busy} has another hash at version \\d+ than in the anchor: a transaction up`,
        'm',
      ),
    );
  });

  it('finds transactions that were cut', async () => {
    const { exitCode, stderr } = await rewritten((content) => (isOn(content, funded) ? undefined : content));

    expect(exitCode).toBe(1);
    expect(stderr).toMatch(
      new RegExp(
        `^.*: Account ${funded} ends with version 0, and the anchor has version 1: transactions were cut\\.\\n$`,
      ),
    );
  });

  it('finds an account that vanished', async () => {
    const { exitCode, stderr } = await rewritten((content) => (isOn(content, funded) ? undefined : content), [funded]);

    expect(exitCode).toBe(1);
    expect(stderr).toMatch(new RegExp(`: Account ${funded} is in the anchor and not in the export\\.\\n$`));
  });

  it('finds an anchored version in the middle of a transaction', async () => {
    let isSplit = false;
    const { exitCode, stderr } = await rewritten((content) => {
      const [first, second] = content.transfers;
      if (isSplit || !isOn(content, funded) || !first || !second) return content;
      isSplit = true;
      // A deposit twice as large, half of which goes back in the same transaction.
      const back = [first, second].map((transfer, nth) => ({
        ...transfer,
        id: 8_000_000 + nth,
        direction: transfer.direction === 'credit' ? ('debit' as const) : ('credit' as const),
      }));
      return { ...content, transfers: [...content.transfers, ...back] };
    });

    expect(exitCode).toBe(1);
    expect(stderr).toMatch(
      new RegExp(`Account ${funded} has no transaction that ends with version 1, as in the anchor`),
    );
  });

  it('names an export that is older than the anchor', async () => {
    await world.run(['anchor', '--key', path('anchor.key'), '--out', path('later.jsonl')]);

    const { exitCode, stderr } = await since('later.jsonl', 'before.jsonl');

    expect(exitCode).toBe(1);
    expect(stderr).toMatch(new RegExp(`Account ${busy} ends with version \\d+, .*: transactions were cut\\.$`, 'm'));
    expect(stderr).toMatch(/By its time, the export is older than the anchor\. Prove a later export\.\n$/);
  });

  it('refuses an export of a workspace without heads, and reports every file', async () => {
    await run('anchor', '--key', path('anchor.key'), '--workspace', '2', '--out', path('second.jsonl'));
    writeFileSync(path('broken.jsonl'), readFileSync(path('books-2.jsonl'), 'utf8').replace('"hash":"', '"hash":"0'));

    const { exitCode, stdout, stderr } = await since('second.jsonl', 'books.jsonl', 'books-2.jsonl', 'broken.jsonl');

    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/^Nothing of workspace 2, /);
    expect(stderr).toMatch(/books\.jsonl: The anchor has no heads of workspace 1, so nothing is proved\.$/m);
    expect(stderr).toMatch(/broken\.jsonl: The file .* is not a valid export: line \d+ /m);
  });

  it('prints JSON for programs', async () => {
    const args = ['--since', path('anchor.jsonl'), '--public-key', path('anchor.pub'), path('books.jsonl')];

    const result = await world.json<{ exports: unknown[] }>('prove', ...args);

    expect(result).toMatchObject({
      anchor: { keyId: expect.stringMatching(/^[0-9a-f]{64}$/) },
      exports: [{ workspace: { id: 1 }, opened: 0, faults: [] }],
      notProved: [2, 3],
    });
  });

  it.each<[string, readonly string[], RegExp]>([
    [
      'an anchor without a public key',
      ['--since', 'anchor.jsonl', 'books.jsonl'],
      /--since and --public-key belong together/,
    ],
    ['a public key without an anchor', ['--public-key', 'anchor.pub', 'books.jsonl'], /belong together/],
    [
      'several files without an anchor',
      ['books.jsonl', 'books-2.jsonl'],
      /too many arguments for 'prove' without --since/,
    ],
  ])('is wrong usage with %s', async (_what, args, problem) => {
    const { exitCode, stderr } = await world.run(['prove', ...args]);

    expect(exitCode).toBe(2);
    expect(stderr).toMatch(problem);
  });
});

describe('an anchor that was edited', () => {
  const original = () => readFileSync(path('anchor.jsonl'), 'utf8').trimEnd().split('\n');
  const last = (lines: readonly string[]) => JSON.parse(lines.at(-1)!) as { signature: Record<string, string> };

  it.each<[string, (lines: string[]) => readonly string[], RegExp]>([
    [
      'another version of a head',
      (lines) => edited(lines, /("version":)(\d+)/, '$19'),
      /signs other lines than those before/,
    ],
    ['another hash', (lines) => edited(lines, /("hash":")[0-9a-f]/, '$1x'), /line \d+ is not a line of an anchor/],
    ['another account', (lines) => edited(lines, /("accountId":)\d+/, '$1777'), /signs other lines/],
    ['another time', (lines) => lines.with(0, lines[0]!.replace(/20\d\d-/, '2001-')), /signs other lines/],
    ['a head less', (lines) => lines.toSpliced(2, 1), /follows \d+ of \d+ accounts of workspace 1/],
    [
      'a workspace less',
      (lines) => lines.toSpliced(1, lines.findIndex((line, at) => at > 1 && line.includes('"workspace"')) - 1),
      /signs other lines/,
    ],
    ['a head twice', (lines) => lines.toSpliced(2, 0, lines[2]!), /has account \d+ twice/],
    ['no signature', (lines) => lines.slice(0, -1), /the signature is missing: the anchor was cut short/],
    ['a line after the signature', (lines) => [...lines, lines[1]!], /follows the signature/],
    ['spaces', (lines) => lines.with(1, lines[1]!.replace(':', ': ')), /line 2 has a field that is not known/],
    ['an unknown field', (lines) => lines.with(1, lines[1]!.replace('"id"', '"a":1,"id"')), /line 2 has a field/],
    [
      'another format',
      (lines) => lines.with(0, lines[0]!.replace('banking-anchor', 'other')),
      /line 1 is not the first line/,
    ],
    ['no JSON', () => ['Dear auditor'], /line 1 is not JSON/],
    [
      'another signature',
      (lines) =>
        lines.with(
          -1,
          lines
            .at(-1)!
            .replace(
              /("value":")./,
              (_, name: string) => `${name}${last(lines).signature['value']!.startsWith('A') ? 'B' : 'A'}`,
            ),
        ),
      /a signature that the public key does not verify/,
    ],
    [
      'another statement',
      (lines) => lines.with(-1, lines.at(-1)!.replace(/(sha256\\":\\")[0-9a-f]/, '$1x')),
      /a signature that the public key does not verify/,
    ],
  ])('is refused because of %s', async (_what, edit, problem) => {
    writeFileSync(path('edited.jsonl'), `${edit(original()).join('\n')}\n`);

    const { exitCode, stdout, stderr } = await since('edited.jsonl', 'books.jsonl');

    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(stderr).toMatch(/^The file .*edited\.jsonl is not a valid anchor: /);
    expect(stderr).toMatch(problem);
  });

  it('is refused if another key signed it', async () => {
    await run('anchor', '--key', path('other.key'), '--out', path('foreign.jsonl'));

    const { exitCode, stderr } = await since('foreign.jsonl', 'books.jsonl');

    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/is signed with key [0-9a-f]{64}, and the public key is [0-9a-f]{64}\.\n$/);
  });
});

function edited(lines: string[], shape: RegExp, replacement: string): readonly string[] {
  const at = lines.findIndex((line) => line.startsWith('{"head"') && shape.test(line));
  return lines.with(at, lines[at]!.replace(shape, replacement));
}

describe('a program of a stranger, without our packages', () => {
  it('verifies the signature, and finds every head of the anchor in the export', () => {
    const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
    const linesOf = (name: string) => readFileSync(path(name), 'utf8').split('\n').slice(0, -1);
    const anchor = linesOf('anchor.jsonl');
    const { signature } = JSON.parse(anchor.at(-1)!) as { signature: { statement: string; value: string } };
    const key = createPublicKey(readFileSync(path('anchor.pub')));
    const statement = JSON.parse(signature.statement) as { sha256: string };
    const covered = anchor
      .slice(0, -1)
      .map((line) => `${line}\n`)
      .join('');

    const hashes = new Map<string, string>();
    for (const line of linesOf('books.jsonl').filter((each) => each.startsWith('{"transaction"'))) {
      const { content, hash } = (JSON.parse(line) as { transaction: { content: TransactionContent; hash: string } })
        .transaction;
      const text = line.slice('{"transaction":{"content":'.length, line.lastIndexOf(',"createdAt"'));
      expect(sha256(text)).toBe(hash);
      for (const { accountId, hash: before } of content.previous) {
        const versions = content.transfers.flatMap((t) => (t.accountId === accountId ? [t.accountVersion!] : []));
        expect(before).toBe(hashes.get(`${accountId} ${Math.min(...versions) - 1}`) ?? '');
        hashes.set(`${accountId} ${Math.max(...versions)}`, hash);
      }
    }

    expect(verify(null, Buffer.from(signature.statement), key, Buffer.from(signature.value, 'base64'))).toBe(true);
    expect(statement.sha256).toBe(sha256(covered));
    const ofFirst = anchor.slice(
      2,
      anchor.findIndex((line, at) => at > 1 && line.includes('"workspace"')),
    );
    const heads = ofFirst.map(
      (line) => (JSON.parse(line) as { head: { accountId: number; version: number; hash: string } }).head,
    );
    expect(heads.length).toBeGreaterThan(5);
    for (const { accountId, version, hash } of heads) {
      expect(hashes.get(`${accountId} ${version}`) ?? '').toBe(hash);
    }
  });
});
