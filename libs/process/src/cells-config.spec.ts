import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectionTo } from './database-url.js';
import { readDeployment } from './deployment-config.js';
import { ConfigError, readerOf } from './environment-reader.js';

const folder = mkdtempSync(join(tmpdir(), 'banking-cells-config-'));
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;
const fileWith = (content: unknown): string => {
  const path = join(folder, `${++files}`);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
};

function read(environment: Record<string, string>) {
  const reader = readerOf(environment);
  const { cells } = readDeployment(reader);
  return { cells, mistakes: reader.mistakes };
}

const HOME = { DATABASE_URL: 'postgres://banking@127.0.0.1/home', SANDBOX: 'off' };
const URL_OF_B = 'postgres://banking:secret@127.0.0.1/b';

describe('the cells of a deployment', () => {
  it('are none without a setting', () => {
    expect(read({})).toEqual({ cells: undefined, mistakes: [] });
    expect(read(HOME)).toEqual({ cells: undefined, mistakes: [] });
  });

  it('are embedded databases below DATA_DIR, of which home is the first', () => {
    const { cells, mistakes } = read({ CELLS: '3', DATA_DIR: '/data' });

    expect(mistakes).toEqual([]);
    expect(cells).toEqual([
      { name: 'b', dataDir: '/data/cells/b' },
      { name: 'c', dataDir: '/data/cells/c' },
    ]);
  });

  it('are read from a file, with secrets in files of their own', () => {
    const file = fileWith({
      b: { urlFile: fileWith(`${URL_OF_B}\n`), ownerUrl: 'postgres://owner@127.0.0.1/b' },
      c: {
        url: 'postgres://banking@db-c.example/c',
        homeUrl: 'postgres://copy@127.0.0.1/home',
        sourceUrl: 'postgres://copy@127.0.0.1/c',
      },
    });

    const { cells, mistakes } = read({ ...HOME, CELLS_FILE: file });

    expect(mistakes).toEqual([]);
    expect(cells).toMatchObject([
      { name: 'b', databaseUrl: `${URL_OF_B}?sslmode=disable`, ownerUrl: expect.stringContaining('owner@') as string },
      {
        name: 'c',
        databaseUrl: 'postgres://banking@db-c.example/c?sslmode=verify-full',
        homeUrl: expect.stringContaining('copy@') as string,
        sourceUrl: expect.stringContaining('copy@') as string,
      },
    ]);
  });

  it('have passwords in files, which are read for each connection', () => {
    const [password, ownerPassword] = [fileWith('first'), fileWith('of the owner')];
    const [url, ownerUrl] = ['postgres://banking@127.0.0.1/b', 'postgres://owner@127.0.0.1/b'];
    const file = fileWith({ b: { url, passwordFile: password, ownerUrl, ownerPasswordFile: ownerPassword } });

    const { cells, mistakes } = read({ ...HOME, CELLS_FILE: file });

    expect(mistakes).toEqual([]);
    const passwordOf = (one: string | undefined) => connectionTo(one!).password?.();
    const [cell] = cells!;
    expect([passwordOf(cell!.databaseUrl), passwordOf(cell!.ownerUrl)]).toEqual(['first', 'of the owner']);
    writeFileSync(password, 'second');
    expect(passwordOf(cell!.databaseUrl)).toBe('second');
  });

  it('report all mistakes together, without a secret', () => {
    const file = fileWith({
      home: { url: URL_OF_B },
      'Not a name': { url: URL_OF_B },
      b: { url: URL_OF_B, urlFile: '/nowhere' },
      c: { url: 'mysql://secret' },
      d: { address: 'secret' },
      e: { urlFile: join(folder, 'missing') },
      f: {},
      g: { url: 5 },
      h: { url: URL_OF_B, ownerUrlFile: ['/secret'] },
      i: { url: URL_OF_B, passwordFile: fileWith('secret') },
      j: { url: 'postgres://banking@127.0.0.1/j', passwordFile: '/nowhere', ownerPasswordFile: '/nowhere' },
      k: { url: URL_OF_B, homePasswordFile: '/nowhere' },
    });

    const { mistakes } = read({ ...HOME, CELLS_FILE: file });

    const text = mistakes.join('\n');
    for (const part of [
      /cell "home"/,
      /cell "Not a name"/,
      /\(b, url\) is set twice/,
      /\(c, url\) is not a URL/,
      /cell "d" with other members/,
      /\(e, url\) names cannot be read \(ENOENT\)/,
      /no url of the cell "f"/,
      /\(g, url\) is not a text/,
      /\(h, ownerUrl\) is not a text/,
      /\(i, url\) holds a password and CELLS_FILE \(i, passwordFile\) is set/,
      /\(j, passwordFile\) names cannot be read \(ENOENT\)/,
      /\(j, ownerPasswordFile\) is set without CELLS_FILE \(j, ownerUrl\)/,
      /cell "k" with other members/,
    ]) {
      expect(text).toMatch(part);
    }
    expect(text).not.toContain('secret');
  });

  it.each([
    [/^CELLS_FILE is set besides CELLS/, { CELLS: '3', CELLS_FILE: '/nowhere' }],
    [/^CELLS is for embedded databases/, { ...HOME, CELLS: '3' }],
    [/^CELLS is "99"\. Set a whole number from 1 to 8/, { CELLS: '99' }],
    [/^CELLS_FILE cannot be read \(ENOENT\)/, { ...HOME, CELLS_FILE: '/nowhere' }],
  ])('report the mistake %s', (message, environment) => {
    expect(read(environment).mistakes).toContainEqual(expect.stringMatching(message));
  });

  it('name only the missing DATABASE_URL where CELLS_FILE is set without it', () => {
    expect(read({ CELLS_FILE: '/nowhere' }).mistakes).toEqual([
      expect.stringMatching(/^CELLS_FILE is set without DATABASE_URL/),
    ]);
  });

  it('are not read from a file that other users can write', () => {
    const file = fileWith({ b: { url: URL_OF_B } });
    chmodSync(file, 0o622);

    expect(read({ ...HOME, CELLS_FILE: file })).toMatchObject({
      cells: [],
      mistakes: [expect.stringMatching(/^CELLS_FILE can be written by other users \(run chmod go-w on it\)/)],
    });
  });

  it('are read from the file again while a process runs', () => {
    const file = fileWith({ b: { url: URL_OF_B } });
    const { rereadCells } = readDeployment(readerOf({ ...HOME, CELLS_FILE: file }));

    writeFileSync(file, JSON.stringify({ b: { url: URL_OF_B }, c: { url: URL_OF_B } }));
    expect(rereadCells!().map(({ name }) => name)).toEqual(['b', 'c']);
    writeFileSync(file, JSON.stringify({ b: { url: URL_OF_B }, c: {} }));
    expect(rereadCells).toThrow(ConfigError);
    expect(readDeployment(readerOf({ CELLS: '2' })).rereadCells).toBeUndefined();
  });

  it.each(['[]', '{"b": ', '{}'])('are not read from a file with %j', (content) => {
    const { mistakes } = read({ ...HOME, CELLS_FILE: fileWith(content) });

    expect(mistakes).toEqual([expect.stringMatching(/^CELLS_FILE is not a JSON object/)]);
  });
});
