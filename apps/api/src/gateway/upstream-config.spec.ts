import { resolve } from 'node:path';
import { ConfigError } from '@banking/process';
import { readConfig } from '../config.js';

const GATEWAY = { UPSTREAM_URL: 'https://bank.example/banking', UPSTREAM_TOKEN: 'secret-token' };

const SESSION = {
  UPSTREAM_URL: 'https://bank.example',
  UPSTREAM_AUTH_URL: 'https://login.example',
  UPSTREAM_REFRESH_TOKEN_FILE: 'token',
};

const mistakesOf = (environment: Record<string, string>): readonly string[] => {
  try {
    readConfig(environment, false);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.mistakes;
    throw error;
  }
};

describe('the settings of a gateway', () => {
  it('are complete with a URL and a credential: no database, no demo data, no worker', () => {
    expect(readConfig(GATEWAY, false)).toMatchObject({
      upstream: {
        url: 'https://bank.example/banking',
        timeoutMs: 10_000,
        credential: { kind: 'token', token: 'secret-token' },
      },
      deployment: { demo: false },
      worker: false,
      sandbox: true,
      tokens: [{ source: { kind: 'local' } }],
    });
  });

  it('accept a token file or a session as the credential', () => {
    const credentialOf = (environment: object) =>
      readConfig({ UPSTREAM_URL: 'https://bank.example', ...environment }, false).upstream?.credential;

    expect(credentialOf({ UPSTREAM_TOKEN_FILE: 'run/token' })).toEqual({
      kind: 'token-file',
      file: resolve('run/token'),
    });
    expect(credentialOf(SESSION)).toEqual({
      kind: 'session',
      authUrl: 'https://login.example',
      file: resolve('token'),
    });
  });

  it('are undefined without UPSTREAM_URL', () => {
    expect(readConfig({}, false).upstream).toBeUndefined();
  });

  it('report all settings at once that a gateway does not have', () => {
    const mistakes = mistakesOf({
      ...GATEWAY,
      DATABASE_URL: 'postgres://banking:hunter2@db/banking',
      DATABASE_POOL_SIZE: '4',
      DEMO_DATA: 'on',
      WORKER: 'on',
      RATES_URL: 'https://rates.example/',
      QUOTE_VALID_S: '30',
      UPSTREAM_TIMEOUT_MS: '99',
    });

    expect(mistakes.map((mistake) => mistake.split(' ')[0]).sort()).toEqual([
      'DATABASE_POOL_SIZE',
      'DATABASE_URL',
      'DEMO_DATA',
      'QUOTE_VALID_S',
      'RATES_URL',
      'UPSTREAM_TIMEOUT_MS',
      'WORKER',
    ]);
    expect(mistakes.filter((mistake) => /Remove \w+\.$/.test(mistake))).toHaveLength(6);
    expect(mistakes.join()).not.toContain('hunter2');
  });

  it('accept settings of our own books with a harmless value', () => {
    expect(mistakesOf({ ...GATEWAY, DEMO_DATA: 'off', WORKER: 'off', UPSTREAM_TIMEOUT_MS: '14000' })).toEqual([]);
  });

  it.each([
    [{ UPSTREAM_URL: 'https://bank.example' }, 'without a credential'],
    [{ UPSTREAM_TOKEN: 'secret-token' }, 'without UPSTREAM_URL'],
    [{ UPSTREAM_TIMEOUT_MS: '500' }, 'without UPSTREAM_URL'],
    [{ UPSTREAM_AUTH_URL: 'https://login.example', UPSTREAM_REFRESH_TOKEN_FILE: 'token' }, 'without UPSTREAM_URL'],
    [{ ...GATEWAY, UPSTREAM_TOKEN_FILE: 'token' }, 'Keep one credential'],
    [
      { ...GATEWAY, UPSTREAM_AUTH_URL: 'https://login.example', UPSTREAM_REFRESH_TOKEN_FILE: 'token' },
      'Keep one credential',
    ],
    [{ ...GATEWAY, UPSTREAM_TOKEN: '', UPSTREAM_AUTH_URL: 'https://login.example' }, 'belong together'],
    [{ ...GATEWAY, UPSTREAM_TOKEN: '', UPSTREAM_REFRESH_TOKEN_FILE: 'token' }, 'belong together'],
    [{ ...SESSION, UPSTREAM_AUTH_URL: 'http://login.example' }, 'UPSTREAM_AUTH_URL must begin with https://'],
    [
      { ...SESSION, UPSTREAM_AUTH_URL: 'https://us:hunter2@login.example' },
      'UPSTREAM_AUTH_URL contains a user name or a password',
    ],
    [{ ...GATEWAY, UPSTREAM_URL: 'bank.example' }, 'is not a URL'],
    [{ ...GATEWAY, UPSTREAM_URL: 'http://bank.example' }, 'must begin with https://'],
    [{ ...GATEWAY, UPSTREAM_URL: 'ftp://bank.example' }, 'must begin with https://'],
    [{ ...GATEWAY, UPSTREAM_URL: 'https://us:hunter2@bank.example' }, 'a user name or a password'],
    [{ ...GATEWAY, UPSTREAM_URL: 'https://bank.example/?key=hunter2' }, 'a query or a fragment'],
    [{ ...GATEWAY, UPSTREAM_TOKEN: 'hunter2 and more' }, 'no header can carry'],
    [{ ...GATEWAY, UPSTREAM_TIMEOUT_MS: '15000' }, 'a whole number from 100 to 14000'],
  ])('have in %j one mistake that says %s and repeats no secret', (environment, mistake) => {
    const mistakes = mistakesOf(environment as Record<string, string>);

    expect(mistakes).toEqual([expect.stringContaining(mistake)]);
    expect(mistakes.join()).not.toMatch(/hunter2|secret-token/);
  });

  it.each([
    ['http://127.0.0.1:3000', {}],
    ['http://localhost:3000/banking', {}],
    ['http://127.9.9.9:4000', { PORT: '4000' }],
    ['http://[::1]:4000', { PORT: '4000', HOST: '::1' }],
    ['http://localhost:4000', { PORT: '4000', HOST: '0.0.0.0', LOCAL_TOKENS: 'on' }],
    ['https://bank.internal', { PORT: '443', HOST: 'bank.internal', LOCAL_TOKENS: 'on' }],
  ])(
    'refuse the upstream %s for a service with %j: it is the service itself',
    (url, environment: Record<string, string>) => {
      expect(mistakesOf({ ...GATEWAY, ...environment, UPSTREAM_URL: url })).toEqual([
        expect.stringContaining('is this service itself'),
      ]);
    },
  );

  it.each([
    ['http://127.0.0.1:3001', {}],
    ['http://127.0.0.1:3000', { PORT: '0' }],
    ['https://bank.example:3000', {}],
  ])('accept the upstream %s for a service with %j', (url, environment: Record<string, string>) => {
    expect(mistakesOf({ ...GATEWAY, ...environment, UPSTREAM_URL: url })).toEqual([]);
  });
});
