import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError } from '@banking/process';
import { readTokenFile, TokenFile } from './upstream-credential.js';

const TOKENS = { refreshToken: 'refresh-1', accessToken: 'access-1', expiresAt: 1_800_000_000_000 };

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'banking-tokens-'));
  path = join(folder, 'upstream-token');
});

afterEach(() => rmSync(folder, { recursive: true }));

const put = (text: string, mode = 0o600) => {
  writeFileSync(path, text);
  chmodSync(path, mode);
};
const mistakeOf = async (result: Promise<unknown>) => {
  const error = await result.then(
    () => new Error('it was read'),
    (thrown: Error) => thrown,
  );
  expect(error).toBeInstanceOf(ConfigError);
  return error.message.split(folder).join('');
};

describe('TokenFile', () => {
  it.each(['refresh-0', 'refresh-0\n', 'refresh-0\r\n'])(
    'reads the refresh token that an operator has written as %j',
    async (text) => {
      put(text);

      expect(await new TokenFile(path).read()).toEqual({ refreshToken: 'refresh-0' });
    },
  );

  it('writes the tokens for its owner only and leaves no other file', async () => {
    put('refresh-0');
    const umask = process.umask(0);
    await new TokenFile(path).write(TOKENS).finally(() => process.umask(umask));

    expect(await new TokenFile(path).read()).toEqual(TOKENS);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(['upstream-token']);
  });

  it('stores no value for tokens that are missing', async () => {
    put('refresh-0');
    await new TokenFile(path).write({ refreshToken: 'refresh-1', accessToken: undefined, expiresAt: Infinity });

    expect(await new TokenFile(path).read()).toEqual({ refreshToken: 'refresh-1' });
  });

  it('never returns a partly written file', async () => {
    put('refresh-0');
    const file = new TokenFile(path);
    const numbers = Array.from({ length: 30 }, (_, number) => number);
    const padding = 'x'.repeat(8_000);

    const writes = numbers.map((number) => file.write({ refreshToken: `refresh-${number}`, accessToken: padding }));
    const reads = numbers.map(async (number) => {
      await writes[number];
      return file.read();
    });

    for (const { refreshToken, accessToken } of await Promise.all([...reads, ...numbers.map(() => file.read())])) {
      expect(refreshToken).toMatch(/^refresh-\d+$/);
      expect([undefined, padding]).toContain(accessToken);
    }
  });

  it('replaces the target of a symbolic link', async () => {
    put('refresh-0');
    const link = join(folder, 'link');
    symlinkSync(path, link);
    await new TokenFile(link).write(TOKENS);

    expect(await new TokenFile(path).read()).toEqual(TOKENS);
    expect(await new TokenFile(link).read()).toEqual(TOKENS);
  });

  it('leaves no copy of the tokens if the file cannot be replaced', async () => {
    mkdirSync(path);

    await expect(new TokenFile(path).write(TOKENS)).rejects.toThrow();
    expect(readdirSync(folder)).toEqual(['upstream-token']);
  });
});

describe('TokenFile with an unusable file', () => {
  it.each([0o640, 0o604, 0o620, 0o644])('names the command that fixes mode 0%o', async (mode) => {
    put('refresh-0', mode);

    expect(await mistakeOf(new TokenFile(path).read())).toContain(
      `The token file /upstream-token is accessible to others than its owner (mode 0${mode.toString(8)}). Run chmod 600 on it.`,
    );
  });

  it.each([
    ['', 'is empty'],
    ['\n', 'is empty'],
    ['two tokens', 'contains no refresh token'],
    ['refresh-0\nrefresh-1', 'contains no refresh token'],
    ['refresh-0\u0000', 'contains no refresh token'],
    ['{"refreshToken":"refresh-0"', 'contains no refresh token'],
    ['{"refreshToken":7}', 'contains no refresh token'],
    ['{"accessToken":"refresh-0"}', 'contains no refresh token'],
  ])('refuses %j without quoting it', async (text, what) => {
    put(text);

    const mistake = await mistakeOf(new TokenFile(path).read());

    expect(mistake).toContain(`The token file /upstream-token ${what}`);
    expect(mistake).not.toContain('refresh-0');
  });

  it('refuses a file that is longer than any token', async () => {
    put('x'.repeat(16_385));

    expect(await mistakeOf(new TokenFile(path).read())).toContain('is longer than 16384 bytes');
    expect(await mistakeOf(readTokenFile(path).token())).toContain('is longer than 16384 bytes');
  });

  it('refuses a missing file, a folder and a pipe', async () => {
    expect(await mistakeOf(new TokenFile(path).read())).toContain('does not exist');
    expect(await mistakeOf(new TokenFile(folder).read())).toContain('is no regular file');
    execFileSync('mkfifo', [path]);
    expect(await mistakeOf(new TokenFile(path).read())).toContain('is no regular file');
  });
});

describe('readTokenFile', () => {
  it.each([0o600, 0o440, 0o644])('reads a token of mode 0%o without the line break', async (mode) => {
    put('access-1\n', mode);

    expect(await readTokenFile(path).token()).toBe('access-1');
  });

  it('returns the new token after the file was replaced or overwritten', async () => {
    put('access-1');
    const { token } = readTokenFile(path);
    expect([await token(), await token()]).toEqual(['access-1', 'access-1']);

    writeFileSync(`${path}.new`, 'access-2');
    renameSync(`${path}.new`, path);
    expect(await token()).toBe('access-2');

    put('access-33');
    expect(await token()).toBe('access-33');

    put('access-44');
    utimesSync(path, 1, 1);
    expect(await token()).toBe('access-44');
  });

  it('follows a symbolic link that changes its target, as in a mounted secret', async () => {
    for (const name of ['old', 'new']) {
      mkdirSync(join(folder, name));
      writeFileSync(join(folder, name, 'token'), `access-${name}`);
    }
    symlinkSync('old', join(folder, 'data'));
    symlinkSync('data/token', path);
    const { token } = readTokenFile(path);
    expect(await token()).toBe('access-old');

    symlinkSync('new', join(folder, 'next'));
    renameSync(join(folder, 'next'), join(folder, 'data'));
    expect(await token()).toBe('access-new');
  });

  it('reads the file again after a 401, even if its metadata is unchanged', async () => {
    put('access-1');
    const before = statSync(path);
    const credential = readTokenFile(path);
    utimesSync(path, before.atime, 1);
    expect(await credential.token()).toBe('access-1');
    writeFileSync(path, 'access-2');
    utimesSync(path, before.atime, 1);

    expect(await credential.token()).toBe('access-1');
    expect(await credential.renewed('access-1')).toBe('access-2');
    expect(await credential.token()).toBe('access-2');
  });

  it.each([
    ['', 'is empty'],
    ['two tokens', 'contains no token, or more than a token'],
  ])('refuses %j', async (text, what) => {
    put(text, 0o644);

    expect(await mistakeOf(readTokenFile(path).token())).toContain(`The token file /upstream-token ${what}`);
  });

  it('returns the known token while the file is missing, and fails after a 401', async () => {
    put('access-1');
    const { token, renewed } = readTokenFile(path);
    await token();
    rmSync(path);

    expect(await token()).toBe('access-1');
    expect(await mistakeOf(renewed('access-1'))).toContain('does not exist');
  });

  it('returns the known token while the file is being written', async () => {
    put('access-1');
    const { token } = readTokenFile(path);
    await token();
    put('');

    expect(await token()).toBe('access-1');
    put('access-2');
    expect(await token()).toBe('access-2');
  });
});
