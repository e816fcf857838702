import { createHash, createPublicKey, verify } from 'node:crypto';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import type { TransactionContent } from '@banking/domain/proof';
import { type AnchoredBooks, anchoredBooks, rewriteExport } from './testing/anchored-books.js';

describe('prove since', () => {
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
      expect(lines).toHaveLength(4);
      expect(lines[0]).toMatch(
        /^Nothing of workspace 1, Northwind Trading, was changed or cut up to the anchor of 20\S+Z: /,
      );
      expect(lines[1]).toMatch(/^Nothing of workspace 2, /);
      expect(lines[2]).toBe('Not proved, because no export was given: workspace 3.');
      expect(lines[3]).toBe(
        'Audit trail not compared, because no file of banking audit export was given: workspace 1, workspace 2, workspace 3.',
      );
    });

    describe('with a file of banking audit export', () => {
      const trail = async (name: string, ...more: readonly string[]) => {
        await books.run('audit', 'export', '--workspace', '1', ...more, '--out', path(name));
        return readFileSync(path(name), 'utf8').trimEnd().split('\n');
      };
      const written = (name: string, lines: readonly string[]) => writeFileSync(path(name), `${lines.join('\n')}\n`);
      let lines: readonly string[];
      beforeAll(async () => {
        await books.record();
        await books.run('anchor', '--key', path('anchor.key'), '--out', path('recorded.jsonl'));
        await books.run('fund', String(books.busy), '5');
        await books.record();
        lines = await trail('audit.jsonl');
      });

      it('proves that no entry was changed or cut, and that the trail of its own is a chain', async () => {
        const { exitCode, stdout } = await since('recorded.jsonl', 'audit.jsonl');
        const alone = await books.world.run(['prove', path('audit.jsonl')]);

        expect(exitCode).toBe(0);
        expect(stdout).toMatch(/^Nothing of the audit trail of workspace 1 was changed or cut up to the anchor of 20/);
        expect(stdout).toMatch(/: entries 1 to \d+ follow each other\.$/m);
        expect(stdout).toMatch(/no file of banking audit export was given: workspace 2, workspace 3\.$/m);
        expect(alone).toMatchObject({
          exitCode: 0,
          stdout: expect.stringMatching(/^Every hash of the audit trail of workspace 1/),
        });
      });

      it.each<[string, () => readonly string[], RegExp]>([
        [
          'an entry was changed',
          () => lines.map((line) => line.replace('"openAccount"', '"closeAccount"')),
          /entry \d+ is not as its hash says/,
        ],
        ['an entry was left out', () => lines.toSpliced(3, 1), /line 4 has entry \d+, and entry \d+ is expected/],
        [
          'the newest entries were cut',
          () => lines.slice(5),
          /ends with entry \d+, and the anchor has entry \d+: entries were cut, or it was exported before/,
        ],
        [
          'the oldest entries are missing',
          () => lines.slice(0, 1),
          /begins with entry \d+, and the anchor has entry \d+: export it/,
        ],
      ])('finds that %s', async (_what, forged, problem) => {
        written('forged-audit.jsonl', forged());

        const { exitCode, stderr } = await since('recorded.jsonl', 'forged-audit.jsonl');

        expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: expect.stringMatching(problem) });
      });

      it('finds a trail that was rewritten in the database, whose hashes are all correct, as verify --since does', async () => {
        await books.world.query(
          `do $$ declare e record; last text; begin
           for e in select * from audit_event where workspace_id = 1 order by id loop
             if e.id = 1 then e.source_address := '192.0.2.1'; end if;
             last := next_audit_hash(last, repeat('0', 64), audit_content(e.workspace_id, e.id, e.operation, e.outcome, e.reason, e.count,
               e.resource_type, e.resource_id, e.user_id, e.actor, e.request_id, e.source_address, e.created_at));
             update audit_event set source_address = e.source_address, hash = last where workspace_id = 1 and id = e.id;
           end loop;
           update audit_head set hash = last where workspace_id = 1;
         end $$`,
        );
        const verify = (...more: readonly string[]) => books.world.run(['verify', ...more]);
        const sinceAnchor = ['--since', path('recorded.jsonl'), '--public-key', path('anchor.pub')];
        await trail('rewritten.jsonl');

        const problem =
          /ntry \d+ of the audit trail has another hash than in the anchor: an entry up to it was changed/;
        expect(await verify()).toMatchObject({ exitCode: 0 });
        expect(await verify(...sinceAnchor)).toMatchObject({ exitCode: 1, stdout: expect.stringMatching(problem) });
        expect(await books.world.run(['prove', path('rewritten.jsonl')])).toMatchObject({ exitCode: 0 });
        expect((await since('recorded.jsonl', 'rewritten.jsonl')).stderr).toMatch(problem);
      });
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
          ? { ...content, createdAt: '2020-01-01T00:00:00.000000Z' as typeof content.createdAt }
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

  describe('banking verify --since', () => {
    const sinceAnchor = () => ['verify', '--since', path('before-faults.jsonl'), '--public-key', path('anchor.pub')];
    /** The findings against the anchor while rows are changed. */
    const foundWith = async (change: string, undo: string) => {
      await books.world.query(change);
      const { exitCode, stdout } = await books.world.run([...sinceAnchor(), '--json']);
      await books.world.query(undo);
      const { findings } = JSON.parse(stdout) as { findings: { check: string; detail: string }[] };
      const check = 'every account and every trail still has what the anchor says';
      expect(exitCode).toBe(1);
      return findings.filter((one) => one.check === check).map(({ detail }) => detail);
    };

    it('has no finding if nothing before the anchor was changed', async () => {
      await books.record();
      await books.run('anchor', '--key', path('anchor.key'), '--out', path('before-faults.jsonl'));
      await books.run('fund', String(books.funded), '7');

      const { exitCode, stdout } = await books.world.run(sinceAnchor());

      expect(exitCode).toBe(0);
      expect(stdout).toMatch(/^The books are in order\.$/m);
    });

    it.each<[string, () => readonly [string, string], RegExp]>([
      [
        'a transaction was hashed again',
        () => [
          `update transaction set hash = decode(reverse(encode(hash, 'hex')), 'hex') where workspace_id = 1`,
          `update transaction set hash = decode(reverse(encode(hash, 'hex')), 'hex') where workspace_id = 1`,
        ],
        /^account \d+ has another hash than in the anchor/,
      ],
      [
        'transactions were cut',
        () => [
          `update transfer set account_version = account_version + 1000 where account_id = ${books.busy}`,
          `update transfer set account_version = account_version - 1000 where account_id = ${books.busy}`,
        ],
        /^account \d+ ends before its version in the anchor: transactions were cut$/,
      ],
      [
        'an account vanished',
        () => [
          `update account set id = id + 1000000 where id = ${books.funded}`,
          `update account set id = id - 1000000 where id = ${books.funded} + 1000000`,
        ],
        /^account \d+ is in the anchor and not in the database$/,
      ],
      [
        'the end of a trail was cut',
        () => [
          `update audit_head set id = 1 where workspace_id = 1`,
          `update audit_head set id = (select max(id) from audit_event where workspace_id = 1) where workspace_id = 1`,
        ],
        /^the audit trail ends before entry \d+ of the anchor: entries were cut$/,
      ],
      [
        'the beginning of a trail was cut',
        () => [
          `update audit_head set id = id + 1, start_id = id + 1 where workspace_id = 1`,
          `update audit_head set id = id - 1, start_id = 0 where workspace_id = 1`,
        ],
        /^the audit trail begins after entry \d+ of the anchor, which is not a year old$/,
      ],
      [
        'the trail of the directory was rewritten',
        () => [
          `update directory_change set hash = reverse(hash) where id = (select max(id) from directory_change)`,
          `update directory_change set hash = reverse(hash) where id = (select max(id) from directory_change)`,
        ],
        /^entry \d+ of the trail of the directory has another hash than in the anchor/,
      ],
      [
        'a workspace vanished',
        () => [
          `update workspace set id = id + 1000000 where id = 3`,
          `update workspace set id = id - 1000000 where id > 1000000`,
        ],
        /^workspace 3 is in the anchor and not in the directory$/,
      ],
    ])('finds that %s', async (_what, fault, problem) => {
      const details = await foundWith(...fault());

      expect(details.length).toBeGreaterThan(0);
      for (const detail of details) expect(detail).toMatch(problem);
    });

    it('has no finding for a workspace that an operator removed', async () => {
      const [row] = await books.world.query('select name from app order by id limit 1');
      await books.run('workspace', 'add', 'Short-lived', '--app', String(row!['name']));
      await books.record();
      await books.run('anchor', '--key', path('anchor.key'), '--out', path('with-removed.jsonl'));
      const [added] = await books.world.query('select max(id) as id from workspace');
      await books.run('workspace', 'remove', String(added!['id']));

      const args = ['--since', path('with-removed.jsonl'), '--public-key', path('anchor.pub')];
      const { exitCode, stdout } = await books.world.run(['verify', ...args]);

      expect({ exitCode, stdout }).toMatchObject({
        exitCode: 0,
        stdout: expect.stringMatching(/The books are in order/),
      });
    });

    it('is wrong usage without the public key', async () => {
      const { exitCode, stderr } = await books.world.run(['verify', '--since', path('anchor.jsonl')]);

      expect(exitCode).toBe(2);
      expect(stderr).toMatch(/--since and --public-key belong together/);
    });
  });
});

describe('edited anchor', () => {
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
        // The content ends before the descriptions, if there are any, or else before the hash.
        const text = line.slice('{"transaction":{"content":'.length, line.search(/(?<=\}),"(?:descriptions|hash)":/));
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
});
