import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { ExportProof } from '@banking/domain/proof';
import { ended, World } from './testing/world.js';

const world = new World();
const folder = mkdtempSync(join(tmpdir(), 'banking-export-'));
const books = join(folder, 'books.jsonl');

beforeAll(async () => {
  await world.openDemo();
});
afterEach(() => readdirSync(folder).forEach((name) => rmSync(join(folder, name))));
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await world.close();
});

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

  it.each([
    ['a signal comes', 130, (pid: number) => process.kill(pid, 'SIGINT')],
    ['a file of that name is made', 1, () => writeFileSync(books, 'kept')],
  ])('leaves no file if %s meanwhile', async (_what, code, happen) => {
    await world.query('begin');
    await world.query('lock table transfer');
    const command = world.start(['export', '--workspace', '1', '--out', books]);
    const end = ended(command);
    for (let isWaiting = false; !isWaiting;) {
      const waiting = await world.query(`select from pg_locks where relation = 'transfer'::regclass and not granted`);
      isWaiting = waiting.length > 0;
    }
    const under = readdirSync(folder);

    happen(command.pid!);
    if (code === 1) await world.query('rollback');
    const { exitCode } = await end;
    if (code !== 1) await world.query('rollback');

    expect(under).toEqual([`books.jsonl.${command.pid}.part`]);
    expect(exitCode).toBe(code);
    expect(readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'))).toEqual(
      code === 1 ? ['kept'] : [],
    );
  });

  it('reports missing transactions', async () => {
    await world.query('create table kept as table transfer; delete from transfer where account_version = 1');

    const { exitCode, stderr } = await exportTo(books);
    await world.query('delete from transfer; insert into transfer select * from kept');

    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/^The books of workspace 1 are not in order: .* Run banking verify --workspace 1\.\n$/);
    expect(readdirSync(folder)).toEqual([]);
  });
});
