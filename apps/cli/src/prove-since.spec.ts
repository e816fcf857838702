import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import type { TransactionContent } from '@banking/domain/proof';
import { type AnchoredBooks, anchoredBooks } from './testing/anchored-books.js';
import { rewriteExport } from './testing/rewritten-export.js';

let books: AnchoredBooks;
beforeAll(async () => {
  books = await anchoredBooks();
});
afterAll(() => books.close());

const path = (name: string) => books.path(name);
const since = (anchor: string, ...files: readonly string[]) => books.since(anchor, ...files);

/** A copy of the export that was rewritten consistently. `banking prove` alone accepts it. */
async function rewritten(edit: (content: TransactionContent) => TransactionContent | undefined, without?: number[]) {
  copyFileSync(path('books.jsonl'), path('forged.jsonl'));
  await rewriteExport(path('forged.jsonl'), edit, without);
  expect(await books.world.run(['prove', path('forged.jsonl')])).toMatchObject({ exitCode: 0 });
  return since('anchor.jsonl', 'forged.jsonl');
}

const isOn = (content: TransactionContent, account: number) =>
  content.transfers.some(({ accountId }) => accountId === account);

describe('banking prove --since', () => {
  it('proves that nothing was changed or cut, without the database, through the built program', async () => {
    const args = ['prove', '--since', path('anchor.jsonl'), '--public-key', path('anchor.pub')];
    const nowhere = { DATA_DIR: path('nosuch'), DATABASE_URL: 'postgres://test@127.0.0.1:1/none' };

    const { exitCode, stdout, stderr } = await books.world.runProcess(
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
    await books.world.query(
      `create table kept as table account;
       insert into account (workspace_id, id, kind, currency_id, product_id, name, type, code)
       select workspace_id, 900001, 'customer', currency_id, product_id, name, type, 'LATER' from account where id = ${books.busy}`,
    );
    await books.run('export', '--workspace', '1', '--out', path('more.jsonl'));
    await books.world.query('delete from account where id = 900001; drop table kept');

    const { exitCode, stdout } = await since('anchor.jsonl', 'more.jsonl');

    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/: \d+ accounts unchanged, 1 opened later\.$/m);
  });

  it('finds a transaction that was changed and hashed again', async () => {
    const { exitCode, stdout, stderr } = await rewritten((content) =>
      isOn(content, books.busy) && content.transfers.some(({ accountVersion }) => accountVersion === 1)
        ? { ...content, valueDate: '2020-01-01' }
        : content,
    );

    expect(exitCode).toBe(1);
    expect(stdout).not.toMatch(/Nothing of workspace 1/);
    expect(stderr).toMatch(
      new RegExp(
        `forged\\.jsonl: Account ${books.busy} has another hash at version \\d+ than in the anchor: a transaction up`,
        'm',
      ),
    );
  });

  it('finds transactions that were cut', async () => {
    const { exitCode, stderr } = await rewritten((content) => (isOn(content, books.funded) ? undefined : content));

    expect(exitCode).toBe(1);
    expect(stderr).toMatch(
      new RegExp(
        `^.*: Account ${books.funded} ends with version 0, and the anchor has version 1: transactions were cut\\.\\n$`,
      ),
    );
  });

  it('finds an account that vanished', async () => {
    const { exitCode, stderr } = await rewritten(
      (content) => (isOn(content, books.funded) ? undefined : content),
      [books.funded],
    );

    expect(exitCode).toBe(1);
    expect(stderr).toMatch(new RegExp(`: Account ${books.funded} is in the anchor and not in the export\\.\\n$`));
  });

  it('finds an anchored version in the middle of a transaction', async () => {
    let isSplit = false;
    const { exitCode, stderr } = await rewritten((content) => {
      const [first, second] = content.transfers;
      if (isSplit || !isOn(content, books.funded) || !first || !second) return content;
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
      new RegExp(`Account ${books.funded} has no transaction that ends with version 1, as in the anchor`),
    );
  });

  it('names an export that is older than the anchor', async () => {
    await books.world.run(['anchor', '--key', path('anchor.key'), '--out', path('later.jsonl')]);

    const { exitCode, stderr } = await since('later.jsonl', 'before.jsonl');

    expect(exitCode).toBe(1);
    expect(stderr).toMatch(
      new RegExp(`Account ${books.busy} ends with version \\d+, .*: transactions were cut\\.$`, 'm'),
    );
    expect(stderr).toMatch(/By its time, the export is older than the anchor\. Prove a later export\.\n$/);
  });

  it('refuses an export of a workspace without heads, and reports every file', async () => {
    await books.run('anchor', '--key', path('anchor.key'), '--workspace', '2', '--out', path('second.jsonl'));
    writeFileSync(path('broken.jsonl'), readFileSync(path('books-2.jsonl'), 'utf8').replace('"hash":"', '"hash":"0'));

    const { exitCode, stdout, stderr } = await since('second.jsonl', 'books.jsonl', 'books-2.jsonl', 'broken.jsonl');

    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/^Nothing of workspace 2, /);
    expect(stderr).toMatch(/books\.jsonl: The anchor has no heads of workspace 1, so nothing is proved\.$/m);
    expect(stderr).toMatch(/broken\.jsonl: The file .* is not a valid export: line \d+ /m);
  });

  it('prints JSON for programs', async () => {
    const args = ['--since', path('anchor.jsonl'), '--public-key', path('anchor.pub'), path('books.jsonl')];

    const result = await books.world.json<{ exports: unknown[] }>('prove', ...args);

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
    const { exitCode, stderr } = await books.world.run(['prove', ...args]);

    expect(exitCode).toBe(2);
    expect(stderr).toMatch(problem);
  });
});
