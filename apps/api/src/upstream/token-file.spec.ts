import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'; // prettier-ignore
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError } from '@banking/process';
import { readTokenFile, TokenFile } from './token-file.js';

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
const mistakeOf = async (asked: Promise<unknown>) => {
  const error = await asked.then(
    () => new Error('it was read'),
    (thrown: Error) => thrown,
  );
  expect(error).toBeInstanceOf(ConfigError);
  return error.message.split(folder).join('');
};

describe('Given a file for the tokens of a session', () => {
  it.each(['refresh-0', 'refresh-0\n', 'refresh-0\r\n'])(
    'When an operator has written %j, Then that is the refresh token',
    async (text) => {
      put(text);

      expect(await new TokenFile(path).read()).toEqual({ refreshToken: 'refresh-0' });
    },
  );

  it('When tokens are written, Then they are there for the next process, for its owner only, and nothing else', async () => {
    put('refresh-0');
    const umask = process.umask(0);
    await new TokenFile(path).write(TOKENS).finally(() => process.umask(umask));

    expect(await new TokenFile(path).read()).toEqual(TOKENS);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder)).toEqual(['upstream-token']);
  });

  it('When only some are known, Then the others stay unknown', async () => {
    put('refresh-0');
    await new TokenFile(path).write({ refreshToken: 'refresh-1', accessToken: undefined, expiresAt: Infinity });

    expect(await new TokenFile(path).read()).toEqual({ refreshToken: 'refresh-1' });
  });

  it('When it is read while it is written, Then it is the old one or the new one, whole', async () => {
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

  it('When it is reached through a link, Then what is behind the link is replaced', async () => {
    put('refresh-0');
    const link = join(folder, 'link');
    symlinkSync(path, link);
    await new TokenFile(link).write(TOKENS);

    expect(await new TokenFile(path).read()).toEqual(TOKENS);
    expect(await new TokenFile(link).read()).toEqual(TOKENS);
  });

  it('When it cannot be replaced, Then the error says so, and no copy of the tokens is left', async () => {
    mkdirSync(path);

    await expect(new TokenFile(path).write(TOKENS)).rejects.toThrow();
    expect(readdirSync(folder)).toEqual(['upstream-token']);
  });
});

describe('Given a file that cannot be trusted with a session', () => {
  it.each([0o640, 0o604, 0o620, 0o644])('When its mode is 0%o, Then it says what to run', async (mode) => {
    put('refresh-0', mode);

    expect(await mistakeOf(new TokenFile(path).read())).toContain(
      `The token file /upstream-token is open to others than its owner (mode 0${mode.toString(8)}). Run chmod 600 on it.`,
    );
  });

  it.each([
    ['', 'is empty'],
    ['\n', 'is empty'],
    ['two tokens', 'holds no refresh token'],
    ['refresh-0\nrefresh-1', 'holds no refresh token'],
    ['refresh-0\u0000', 'holds no refresh token'],
    ['{"refreshToken":"refresh-0"', 'holds no refresh token'],
    ['{"refreshToken":7}', 'holds no refresh token'],
    ['{"accessToken":"refresh-0"}', 'holds no refresh token'],
  ])('When it holds %j, Then it says so and quotes nothing', async (text, what) => {
    put(text);

    const mistake = await mistakeOf(new TokenFile(path).read());

    expect(mistake).toContain(`The token file /upstream-token ${what}`);
    expect(mistake).not.toContain('refresh-0');
  });

  it('When it is longer than any token, Then it says so', async () => {
    put('x'.repeat(16_385));

    expect(await mistakeOf(new TokenFile(path).read())).toContain('is longer than 16384 bytes');
    expect(await mistakeOf(readTokenFile(path).token())).toContain('is longer than 16384 bytes');
  });

  it('When it is not there, or no file, Then it says so', async () => {
    expect(await mistakeOf(new TokenFile(path).read())).toContain('is not there');
    expect(await mistakeOf(new TokenFile(folder).read())).toContain('is no file');
    execFileSync('mkfifo', [path]);
    expect(await mistakeOf(new TokenFile(path).read())).toContain('is no file');
  });
});

describe('Given an access token in a file that something else rotates', () => {
  it.each([0o600, 0o440, 0o644])('When its mode is 0%o, Then it is read without the line break', async (mode) => {
    put('access-1\n', mode);

    expect(await readTokenFile(path).token()).toBe('access-1');
  });

  it('When the file is replaced or written over, Then the next call sends what is in it', async () => {
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

  it('When the link to it turns, as in a mounted secret, Then the next call sends what is behind it', async () => {
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

  it('When it changes without a trace, Then a 401 has it read again', async () => {
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
    ['two tokens', 'holds more than a token, or none'],
  ])('When it holds %j, Then it says so', async (text, what) => {
    put(text, 0o644);

    expect(await mistakeOf(readTokenFile(path).token())).toContain(`The token file /upstream-token ${what}`);
  });

  it('When it goes away, Then the token is good until it is refused, and then it says so', async () => {
    put('access-1');
    const { token, renewed } = readTokenFile(path);
    await token();
    rmSync(path);

    expect(await token()).toBe('access-1');
    expect(await mistakeOf(renewed('access-1'))).toContain('is not there');
  });

  it('When it is found while it is being written, Then the token before it is good until it is refused', async () => {
    put('access-1');
    const { token } = readTokenFile(path);
    await token();
    put('');

    expect(await token()).toBe('access-1');
    put('access-2');
    expect(await token()).toBe('access-2');
  });
});
