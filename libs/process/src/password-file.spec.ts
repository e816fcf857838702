import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectionTo } from './database-url.js';
import { readDeployment } from './deployment-config.js';
import { type Environment, readerOf } from './environment-reader.js';

const URL_WITHOUT = 'postgres://app@db.example:6432/bank%20ing';
const PASSWORD = 'hunter2';

describe('the password file of a login', () => {
  const folder = mkdtempSync(join(tmpdir(), 'password-file-'));
  const file = join(folder, 'password');
  beforeEach(() => writeFileSync(file, `${PASSWORD}\n`, { mode: 0o640 }));
  afterAll(() => rmSync(folder, { recursive: true }));

  function read(environment: Environment) {
    const reader = readerOf({ SANDBOX: 'off', ...environment });
    const { databaseUrl, ownerUrl } = readDeployment(reader);
    return { databaseUrl, ownerUrl, mistakes: reader.mistakes };
  }

  function connectionOf(url: string) {
    const { databaseUrl = '', mistakes } = read({ DATABASE_URL: url, DATABASE_PASSWORD_FILE: file });
    expect(mistakes).toEqual([]);
    return connectionTo(databaseUrl);
  }

  it('is read for each connection, so that a changed password needs no restart', () => {
    const { password } = connectionOf(URL_WITHOUT);

    expect(password?.()).toBe(PASSWORD);
    writeFileSync(file, 'hunter3');
    expect(password?.()).toBe('hunter3');
    rmSync(file);
    expect(() => password?.()).toThrow(`The password file ${file} cannot be read (ENOENT).`);
  });

  it('goes with the URL, which has no password', () => {
    expect(connectionOf(URL_WITHOUT)).toEqual({
      connectionString: URL_WITHOUT,
      password: expect.any(Function) as unknown,
      ssl: { rejectUnauthorized: true },
    });
  });

  it('is that of every host of the URL', () => {
    expect(connectionOf('postgres://app@a:5433,b/banking?connect_timeout=5')).toEqual({
      connectionString: 'postgres://app@a:5433/banking?connect_timeout=5',
      otherHosts: ['postgres://app@b/banking?connect_timeout=5'],
      password: expect.any(Function) as unknown,
      ssl: { rejectUnauthorized: true },
    });
  });

  it('belongs to one login', () => {
    const { databaseUrl = '', ownerUrl = '' } = read({
      DATABASE_URL: URL_WITHOUT,
      DATABASE_OWNER_URL: URL_WITHOUT.replace('app', 'owner'),
      DATABASE_OWNER_PASSWORD_FILE: file,
    });

    expect(connectionTo(ownerUrl).password?.()).toBe(PASSWORD);
    expect(connectionTo(databaseUrl).connectionString).toContain('app@db.example');
  });

  it('is named by its variable only', () => {
    const { databaseUrl = '' } = read({ DATABASE_URL: `${URL_WITHOUT}?banking_password_file=${file}` });

    expect(connectionTo(databaseUrl).password).toBeUndefined();
  });

  it.each([
    [
      { DATABASE_URL: 'postgres://app:hunter9@db.example/banking' },
      /^DATABASE_URL holds a password and DATABASE_PASSWORD_FILE is set/,
    ],
    [
      { DATABASE_URL: `${URL_WITHOUT}?password=hunter9` },
      /^DATABASE_URL holds a password and DATABASE_PASSWORD_FILE is set/,
    ],
    [{}, /^DATABASE_PASSWORD_FILE is set without DATABASE_URL\. Set both, or neither\.$/],
    [
      { DATABASE_URL: URL_WITHOUT, DATABASE_PASSWORD_FILE: '/nowhere/password' },
      /^The file that DATABASE_PASSWORD_FILE names cannot be read \(ENOENT\)/,
    ],
    [{ DATABASE_URL: URL_WITHOUT, DATABASE_PASSWORD_FILE: '/' }, /names is no regular file/],
  ])('is a mistake with case %#', (environment, mistake) => {
    const { mistakes } = read({ DATABASE_PASSWORD_FILE: file, ...environment } as Environment);

    expect(mistakes).toEqual([expect.stringMatching(mistake)]);
    expect(mistakes.join()).not.toContain('hunter');
  });

  it('is no mistake of its own if the file of the URL cannot be read', () => {
    const { mistakes } = read({
      DATABASE_URL_FILE: '/nowhere',
      DATABASE_PASSWORD_FILE: file,
      DATABASE_OWNER_URL: URL_WITHOUT,
    });

    expect(mistakes).toEqual([expect.stringMatching(/^The file that DATABASE_URL_FILE names cannot be read/)]);
  });
});
