import { createHash, createPublicKey, verify } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import type { TransactionContent } from '@banking/domain/proof';
import { type AnchoredBooks, anchoredBooks } from './testing/anchored-books.js';

let books: AnchoredBooks;
beforeAll(async () => {
  books = await anchoredBooks();
});
afterAll(() => books.close());

const path = (name: string) => books.path(name);
const since = (anchor: string, ...files: readonly string[]) => books.since(anchor, ...files);

describe('an anchor that was edited', () => {
  const otherAudit = `{"audit":{"hash":"${'a'.repeat(64)}","id":9}}`;
  const doubledAudit = (lines: string[]) => {
    const at = lines.findIndex((line) => line.startsWith('{"audit"'));
    return lines.toSpliced(at, 0, lines[at]!);
  };
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
    [
      'another end of the audit trail',
      (lines) => lines.map((line) => (line.startsWith('{"audit"') ? otherAudit : line)),
      /signs other lines/,
    ],
    ['the end of an audit trail twice', doubledAudit, /has the audit trail of workspace 1 twice/],
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
    await books.run('anchor', '--key', path('other.key'), '--out', path('foreign.jsonl'));

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
      const text = line.slice('{"transaction":{"content":'.length, line.lastIndexOf(',"hash"'));
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
    const heads = ofFirst
      .filter((line) => line.startsWith('{"head"'))
      .map((line) => (JSON.parse(line) as { head: { accountId: number; version: number; hash: string } }).head);
    expect(heads.length).toBeGreaterThan(5);
    for (const { accountId, version, hash } of heads) {
      expect(hashes.get(`${accountId} ${version}`) ?? '').toBe(hash);
    }
  });
});
