import { ConfigError } from '@banking/process';
import { readConfig } from './config.js';

const mistakesOf = (environment: Record<string, string>): readonly string[] => {
  try {
    readConfig(environment, false);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.mistakes;
    throw error;
  }
};

describe('Given an environment', () => {
  it('When it is empty, Then the service listens on loopback, keeps its own database and takes local tokens', () => {
    expect(readConfig({}, false)).toMatchObject({
      host: '127.0.0.1',
      port: 3000,
      deployment: { databaseUrl: undefined, demo: true, isSandbox: true },
      tokens: { audience: 'banking-api', type: 'at+jwt', source: { kind: 'local' } },
      logLevel: 'info',
      logPretty: false,
      docs: true,
      sandbox: true,
      corsOrigins: [],
      rateLimit: undefined,
    });
  });

  it('When variables are empty or blank, Then they count as unset', () => {
    expect(readConfig({ PORT: '', DATABASE_URL: '  ', OIDC_ISSUER: '' }, false)).toEqual(readConfig({}, false));
  });

  it('When several are wrong, Then all mistakes are said at once, each with what to change', () => {
    const mistakes = mistakesOf({
      PORT: '70000',
      LOG_LEVEL: 'loud',
      DOCS: 'yes',
      DATABASE_URL: 'mysql://db/bank',
      SANDBOX: 'off',
      CORS_ORIGINS: 'https://a.example/path',
      RATE_LIMIT_PER_SECOND: '1.5',
      OIDC_ISSUER: 'http://issuer.example',
      JWKS_URL: 'https://issuer.example/keys',
      JWKS_FILE: 'keys.json',
    });

    expect(mistakes.map((mistake) => mistake.split(' ')[0])).toEqual(['DATABASE_URL', 'PORT', 'OIDC_ISSUER', 'JWKS_URL', 'LOG_LEVEL', 'DOCS', 'CORS_ORIGINS', 'RATE_LIMIT_PER_SECOND']); // prettier-ignore
  });

  it.each([
    ['https://app.example', 0],
    ['https://app.example:8443, http://localhost:5173,http://127.0.0.1,http://[::1]:1', 0],
    ['http://app.example', 1],
    ['https://app.example,http://app.example', 1],
    ['ftp://app.example,null,*,https://app.example/', 4],
  ])('takes origins of CORS_ORIGINS=%s that nobody on the way can change, and refuses %i', (origins, refused) => {
    expect(mistakesOf({ CORS_ORIGINS: origins })).toHaveLength(refused);
  });

  it.each([
    [{}, true],
    [{ SANDBOX: 'off' }, false],
    [{ OIDC_ISSUER: 'https://login.example' }, true],
    [{ UPSTREAM_URL: 'https://bank.example', UPSTREAM_TOKEN: 't', OIDC_ISSUER: 'https://login.example' }, false],
  ])(
    'When it is %j, Then whether the operations of a sandbox exist is %p',
    (environment: Record<string, string>, sandbox) => {
      expect(readConfig(environment, false).sandbox).toBe(sandbox);
    },
  );

  it.each([
    [{}, true],
    [{ WORKER: 'off' }, false],
    [{ DATABASE_URL: 'postgres://db.example/banking', SANDBOX: 'off' }, false],
    [{ DATABASE_URL: 'postgres://db.example/banking', SANDBOX: 'off', WORKER: 'on' }, true],
  ])('When it is %j, Then whether it does what is due is %p', (environment, worker) => {
    expect(readConfig(environment, false).worker).toBe(worker);
  });

  it.each(['0', '65535'])('When PORT is %s, Then it is taken', (port) => {
    expect(readConfig({ PORT: port }, false).port).toBe(Number(port));
  });

  it.each(['-1', '65536', '3e3', '0x10', '٣'])('When PORT is %s, Then it is refused', (port) => {
    expect(mistakesOf({ PORT: port })).toHaveLength(1);
  });

  it.each(['127.0.0.1', '127.1.2.3', '::1', '[::1]', 'localhost'])(
    'When HOST is %s, Then local tokens are taken',
    (host) => {
      expect(readConfig({ HOST: host }, false).tokens.source.kind).toBe('local');
    },
  );

  it.each(['0.0.0.0', '::', '10.0.0.1', '127.example.com', 'bank.internal'])(
    'When HOST is %s without an issuer, Then it is refused unless LOCAL_TOKENS=on says so',
    (host) => {
      expect(mistakesOf({ HOST: host })).toEqual([expect.stringContaining('LOCAL_TOKENS=on')]);
      expect(readConfig({ HOST: host, LOCAL_TOKENS: 'on' }, false).tokens.source.kind).toBe('local');
    },
  );

  it('When an issuer is set, Then it is kept letter by letter, and local tokens are not', () => {
    const { tokens } = readConfig({ HOST: '0.0.0.0', OIDC_ISSUER: 'https://id.example/realms/bank/' }, false);

    expect(tokens.source).toEqual({ kind: 'discovery', issuer: 'https://id.example/realms/bank/' });
    expect(mistakesOf({ OIDC_ISSUER: 'https://id.example', LOCAL_TOKENS: 'on' })).toHaveLength(1);
  });

  it('When keys would come over plain http, Then they are refused, but for a loopback address', () => {
    const issuer = { OIDC_ISSUER: 'https://id.example' };

    expect(mistakesOf({ ...issuer, JWKS_URL: 'http://keys.example/jwks' })).toEqual([
      expect.stringContaining('https://'),
    ]);
    expect(mistakesOf({ ...issuer, JWKS_URL: 'http://127.0.0.1:9000/jwks' })).toEqual([]);
  });

  it('When rates would come over plain http, Then they are refused, but for a loopback address', () => {
    expect(mistakesOf({ RATES_URL: 'http://rates.example/' })).toEqual([expect.stringContaining('https://')]);
    expect(mistakesOf({ RATES_URL: 'ftp://us:hunter2@rates.example/' })).toEqual([
      expect.not.stringContaining('hunter2'),
    ]);
    expect(readConfig({ RATES_URL: 'http://127.0.0.1:9000/rates', RATES_MAX_AGE_S: '60' }, false).quotes).toEqual({
      validS: 300,
      rates: { url: 'http://127.0.0.1:9000/rates', maxAgeS: 60 },
    });
    expect(readConfig({ QUOTE_VALID_S: '30' }, false).quotes).toEqual({ validS: 30, rates: undefined });
  });

  it.each(['QUOTE_VALID_S', 'RATES_MAX_AGE_S'])('When %s is no length of time, Then it is refused', (name) => {
    for (const value of ['0', '-1', '1.5', '5m', '99999999']) expect(mistakesOf({ [name]: value })).toHaveLength(1);
  });

  it('When nobody could sign in, Then it is refused', () => {
    expect(mistakesOf({ LOCAL_TOKENS: 'off' })).toEqual([expect.stringContaining('Set OIDC_ISSUER')]);
  });

  it('When a database of one’s own is named, Then no demo data is made in it unless asked for', () => {
    const own = { DATABASE_URL: 'postgres://banking@db.internal/banking', SANDBOX: 'on' };

    expect(readConfig(own, false).deployment.demo).toBe(false);
    expect(readConfig({ ...own, DEMO_DATA: 'on' }, false).deployment.demo).toBe(true);
  });

  it('When a URL holds a password, Then no mistake repeats it', () => {
    expect(mistakesOf({ DATABASE_URL: 'mysql://banking:hunter2@db/bank' }).join()).not.toContain('hunter2');
  });

  it.each([
    [{}, true],
    [{ OIDC_BIND_BY_EMAIL: 'on' }, true],
    [{ OIDC_ISSUER: 'https://login.example', OIDC_BIND_BY_EMAIL: 'off' }, false],
  ])('When it is %j, Then whether a verified e-mail binds a subject is %p', (environment, binds) => {
    expect(readConfig(environment, false).bindsByEmail).toBe(binds);
  });

  it.each([
    ['there is no OIDC_ISSUER', {}, /^OIDC_BIND_BY_EMAIL is off and there is no OIDC_ISSUER\. .* set OIDC_ISSUER, or remove OIDC_BIND_BY_EMAIL\.$/],
    ['it is a gateway', { UPSTREAM_URL: 'https://bank.example', UPSTREAM_TOKEN: 'x', OIDC_ISSUER: 'https://login.example' }, /^OIDC_BIND_BY_EMAIL is off beside UPSTREAM_URL\. .* remove OIDC_BIND_BY_EMAIL\.$/],
  ])('When no e-mail binds a subject and %s, Then nobody could sign in, and the mistake says what to change', (_, environment, mistake) => {
    expect(mistakesOf({ ...environment, OIDC_BIND_BY_EMAIL: 'off' })).toEqual([expect.stringMatching(mistake)]);
  }); // prettier-ignore
});
