import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError } from '@banking/process';
import { readConfig } from './config.js';

describe('readConfig', () => {
  const mistakesOf = (environment: Record<string, string>): readonly string[] => {
    try {
      readConfig(environment, false);
      return [];
    } catch (error) {
      if (error instanceof ConfigError) return error.mistakes;
      throw error;
    }
  };

  it('defaults to loopback, the embedded database and local tokens', () => {
    expect(readConfig({}, false)).toMatchObject({
      host: '127.0.0.1',
      port: 3000,
      deployment: { databaseUrl: undefined, demo: true, isSandbox: true },
      tokens: [{ audience: 'banking-api', type: 'at+jwt', bindsByEmail: true, source: { kind: 'local' } }],
      requiresScopes: false,
      logLevel: 'info',
      logPretty: false,
      docs: true,
      sandbox: true,
      corsOrigins: [],
      rateLimit: undefined,
    });
  });

  it('treats empty and blank variables as unset', () => {
    expect(readConfig({ PORT: '', DATABASE_URL: '  ', OIDC_ISSUER: '' }, false)).toEqual(readConfig({}, false));
  });

  it('reports all mistakes at once', () => {
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

    expect(mistakes.map((mistake) => mistake.split(' ')[0])).toEqual([
      'DATABASE_URL',
      'PORT',
      'OIDC_ISSUER',
      'JWKS_URL',
      'LOG_LEVEL',
      'DOCS',
      'CORS_ORIGINS',
      'RATE_LIMIT_PER_SECOND',
    ]);
  });

  it.each([
    ['https://app.example', 0],
    ['https://app.example:8443, http://localhost:5173,http://127.0.0.1,http://[::1]:1', 0],
    ['http://app.example', 1],
    ['https://app.example,http://app.example', 1],
    ['ftp://app.example,null,*,https://app.example/', 4],
  ])('accepts CORS_ORIGINS=%s except for %i origins', (origins, refused) => {
    expect(mistakesOf({ CORS_ORIGINS: origins })).toHaveLength(refused);
  });

  it.each([
    [{}, true],
    [{ SANDBOX: 'off', OIDC_ISSUER: 'https://login.example' }, false],
    [{ OIDC_ISSUER: 'https://login.example' }, true],
    [{ UPSTREAM_URL: 'https://bank.example', UPSTREAM_TOKEN: 't', OIDC_ISSUER: 'https://login.example' }, false],
  ])('sets sandbox for %j to %p', (environment: Record<string, string>, sandbox) => {
    expect(readConfig(environment, false).sandbox).toBe(sandbox);
  });

  it.each([
    [{}, true],
    [{ WORKER: 'off' }, false],
    [{ DATABASE_URL: 'postgres://db.example/banking', SANDBOX: 'on' }, false],
    [{ DATABASE_URL: 'postgres://db.example/banking', SANDBOX: 'on', WORKER: 'on' }, true],
  ])('sets worker for %j to %p', (environment, worker) => {
    expect(readConfig(environment, false).worker).toBe(worker);
  });

  it.each(['0', '65535'])('accepts PORT=%s', (port) => {
    expect(readConfig({ PORT: port }, false).port).toBe(Number(port));
  });

  it.each(['-1', '65536', '3e3', '0x10', '٣'])('refuses PORT=%s', (port) => {
    expect(mistakesOf({ PORT: port })).toHaveLength(1);
  });

  it.each(['127.0.0.1', '127.1.2.3', '::1', '[::1]', 'localhost'])('accepts local tokens on HOST=%s', (host) => {
    expect(readConfig({ HOST: host }, false).tokens[0]?.source.kind).toBe('local');
  });

  it.each(['0.0.0.0', '::', '10.0.0.1', '127.example.com', 'bank.internal'])(
    'refuses HOST=%s without an issuer, unless LOCAL_TOKENS is on',
    (host) => {
      expect(mistakesOf({ HOST: host })).toEqual([expect.stringContaining('LOCAL_TOKENS=on')]);
      expect(readConfig({ HOST: host, LOCAL_TOKENS: 'on' }, false).tokens[0]?.source.kind).toBe('local');
    },
  );

  it('keeps an issuer unchanged, and refuses local tokens beside it', () => {
    const { tokens } = readConfig({ HOST: '0.0.0.0', OIDC_ISSUER: 'https://id.example/realms/bank/' }, false);

    expect(tokens[0]?.source).toEqual({ kind: 'discovery', issuer: 'https://id.example/realms/bank/' });
    expect(mistakesOf({ OIDC_ISSUER: 'https://id.example', LOCAL_TOKENS: 'on' })).toHaveLength(1);
  });

  it('refuses keys over http, except from a loopback address', () => {
    const issuer = { OIDC_ISSUER: 'https://id.example' };

    expect(mistakesOf({ ...issuer, JWKS_URL: 'http://keys.example/jwks' })).toEqual([
      expect.stringContaining('https://'),
    ]);
    expect(mistakesOf({ ...issuer, JWKS_URL: 'http://127.0.0.1:9000/jwks' })).toEqual([]);
  });

  it('refuses rates over http, except from a loopback address', () => {
    expect(mistakesOf({ RATES_URL: 'http://rates.example/' })).toEqual([expect.stringContaining('https://')]);
    expect(mistakesOf({ RATES_URL: 'ftp://us:hunter2@rates.example/' })).toEqual([
      expect.not.stringContaining('hunter2'),
    ]);
    expect(readConfig({ RATES_URL: 'http://127.0.0.1:9000/rates', RATES_MAX_AGE_S: '60' }, false).quotes).toEqual({
      validS: undefined,
      rates: { url: 'http://127.0.0.1:9000/rates', maxAgeS: 60 },
    });
    expect(readConfig({ QUOTE_VALID_S: '30' }, false).quotes).toEqual({ validS: 30, rates: undefined });
  });

  it.each(['QUOTE_VALID_S', 'RATES_MAX_AGE_S'])('refuses a value of %s that is not a duration', (name) => {
    for (const value of ['0', '-1', '1.5', '5m', '99999999']) expect(mistakesOf({ [name]: value })).toHaveLength(1);
  });

  it('refuses a configuration without a source of tokens', () => {
    expect(mistakesOf({ LOCAL_TOKENS: 'off' })).toEqual([expect.stringContaining('Set OIDC_ISSUER')]);
  });

  it.each([
    {},
    { LOCAL_TOKENS: 'on', HOST: '0.0.0.0' },
    { LOCAL_TOKENS: 'off' },
    { DATABASE_URL: 'postgres://db.example/banking' },
    { UPSTREAM_URL: 'https://bank.example', UPSTREAM_TOKEN: 't' },
  ])('refuses a live deployment without an identity provider, with %j', (environment: Record<string, string>) => {
    expect(mistakesOf({ ...environment, SANDBOX: 'off' })).toEqual([
      expect.stringMatching(/^SANDBOX is off and OIDC_ISSUER is not set\. .+ Set OIDC_ISSUER, or set SANDBOX=on/),
    ]);
    expect(mistakesOf({ SANDBOX: 'off', OIDC_ISSUER: 'https://login.example' })).toEqual([]);
  });

  it('creates demo data in DATABASE_URL only with DEMO_DATA=on', () => {
    const own = { DATABASE_URL: 'postgres://banking@db.internal/banking', SANDBOX: 'on' };

    expect(readConfig(own, false).deployment.demo).toBe(false);
    expect(readConfig({ ...own, DEMO_DATA: 'on' }, false).deployment.demo).toBe(true);
  });

  it('never repeats a password in a mistake', () => {
    expect(mistakesOf({ DATABASE_URL: 'mysql://banking:hunter2@db/bank' }).join()).not.toContain('hunter2');
  });

  it.each([
    [{}, true],
    [{ OIDC_BIND_BY_EMAIL: 'on' }, true],
    [{ OIDC_ISSUER: 'https://login.example', SANDBOX: 'on' }, true],
    [{ OIDC_ISSUER: 'https://login.example', SANDBOX: 'off' }, false],
    [{ OIDC_ISSUER: 'https://login.example', SANDBOX: 'off', OIDC_BIND_BY_EMAIL: 'on' }, true],
    [{ OIDC_ISSUER: 'https://login.example', UPSTREAM_URL: 'https://bank.example', UPSTREAM_TOKEN: 't' }, true],
    [{ OIDC_ISSUER: 'https://login.example', OIDC_BIND_BY_EMAIL: 'off' }, false],
  ])('sets bindsByEmail for %j to %p', (environment, binds) => {
    expect(readConfig(environment, false).tokens[0]?.bindsByEmail).toBe(binds);
  });

  describe('OIDC_ISSUERS_FILE', () => {
    const folder = mkdtempSync(join(tmpdir(), 'banking-issuers-'));
    afterAll(() => rmSync(folder, { recursive: true }));
    const withFile = (content: unknown): Record<string, string> => {
      const file = join(folder, 'issuers.json');
      writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
      return { OIDC_ISSUERS_FILE: file };
    };

    it('lists issuers, each with its audience, keys and binding', () => {
      const entries = [
        { issuer: 'https://login.example' },
        { issuer: 'https://staff.example/', audience: 'staff', tokenType: 'JWT', bindByEmail: false },
        { issuer: 'https://keys.example', jwksUrl: 'https://keys.example/jwks', bindByEmail: true },
      ];
      const { tokens } = readConfig({ ...withFile(entries), HOST: '0.0.0.0', SANDBOX: 'off' }, false);

      expect(tokens).toEqual([
        {
          audience: 'banking-api',
          type: 'at+jwt',
          bindsByEmail: false,
          source: { kind: 'discovery', issuer: 'https://login.example' },
        },
        {
          audience: 'staff',
          type: 'JWT',
          bindsByEmail: false,
          source: { kind: 'discovery', issuer: 'https://staff.example/' },
        },
        {
          audience: 'banking-api',
          type: 'at+jwt',
          bindsByEmail: true,
          source: { kind: 'jwks-url', issuer: 'https://keys.example', url: 'https://keys.example/jwks' },
        },
      ]);
    });

    it('of one issuer is the same as OIDC_ISSUER', () => {
      const issuer = 'https://login.example';
      expect(readConfig({ ...withFile([{ issuer }]), SANDBOX: 'on' }, false).tokens).toEqual(
        readConfig({ OIDC_ISSUER: issuer, SANDBOX: 'on' }, false).tokens,
      );
    });

    it.each<[string, unknown, RegExp]>([
      ['no JSON', '[', /is no JSON/],
      ['no list', {}, /is not a JSON list of 1 to 20 issuers/],
      ['no entry', [], /is not a JSON list/],
      ['an entry that is no object', ['https://login.example'], /^Entry 1 .* is no object/],
      ['no issuer', [{ audience: 'a' }], /^Entry 1 .* has no issuer/],
      ['an issuer over http', [{ issuer: 'http://login.example' }], /^Entry 1 .* has no issuer/],
      ['an unknown member', [{ issuer: 'https://a.example', secret: 'x' }], /^Entry 1 .* has another member/],
      [
        'a member of another type',
        [{ issuer: 'https://a.example', bindByEmail: 'on' }],
        /bindByEmail that is no boolean/,
      ],
      ['another type of tokens', [{ issuer: 'https://a.example', tokenType: 'jwt' }], /another tokenType/],
      ['keys over http', [{ issuer: 'https://a.example', jwksUrl: 'http://a.example' }], /jwksUrl/],
      [
        'two sources of keys',
        [{ issuer: 'https://a.example', jwksUrl: 'https://a.example', jwksFile: 'a' }],
        /both jwksUrl/,
      ],
      ['an issuer twice', [{ issuer: 'https://a.example' }, { issuer: 'https://a.example' }], /names an issuer twice/],
    ])('with %s is refused', (_, content, mistake) => {
      expect(mistakesOf(withFile(content))).toEqual([expect.stringMatching(mistake)]);
    });

    it('is refused beside the variables of one issuer, beside local tokens, and if it is missing', () => {
      const file = withFile([{ issuer: 'https://login.example' }]);
      expect(mistakesOf({ ...file, OIDC_ISSUER: 'https://login.example' })).toEqual([
        expect.stringContaining('OIDC_ISSUERS_FILE and OIDC_ISSUER are set'),
      ]);
      expect(mistakesOf({ ...file, LOCAL_TOKENS: 'on' })).toEqual([expect.stringContaining('exclude each other')]);
      expect(mistakesOf({ OIDC_ISSUERS_FILE: join(folder, 'missing.json') })).toEqual([
        expect.stringContaining('cannot be read'),
      ]);
    });
  });

  it('reads OIDC_SCOPES', () => {
    expect(readConfig({ OIDC_SCOPES: 'required' }, false).requiresScopes).toBe(true);
    expect(mistakesOf({ OIDC_SCOPES: 'on' })).toHaveLength(1);
  });

  it.each([
    [
      'there is no OIDC_ISSUER',
      {},
      /^OIDC_BIND_BY_EMAIL is off and there is no OIDC_ISSUER\. .* set OIDC_ISSUER, or remove OIDC_BIND_BY_EMAIL\.$/,
    ],
    [
      'it is a gateway',
      { UPSTREAM_URL: 'https://bank.example', UPSTREAM_TOKEN: 'x', OIDC_ISSUER: 'https://login.example' },
      /^OIDC_BIND_BY_EMAIL is off beside UPSTREAM_URL\. .* remove OIDC_BIND_BY_EMAIL\.$/,
    ],
  ])('refuses OIDC_BIND_BY_EMAIL=off when %s, and reports what to change', (_, environment, mistake) => {
    expect(mistakesOf({ ...environment, OIDC_BIND_BY_EMAIL: 'off' })).toEqual([expect.stringMatching(mistake)]);
  });
});

describe('readLimits', () => {
  const mistakesOf = (environment: Record<string, string>): readonly string[] => {
    try {
      readConfig(environment, false);
      return [];
    } catch (error) {
      if (error instanceof ConfigError) return error.mistakes;
      throw error;
    }
  };

  const LIVE = { SANDBOX: 'off', OIDC_ISSUER: 'https://login.example' };

  it.each([
    [LIVE, 50, 60, 100],
    [{ OIDC_ISSUER: 'https://login.example' }, undefined, undefined, undefined],
    [{ SANDBOX: 'on' }, undefined, undefined, undefined],
    [
      { ...LIVE, RATE_LIMIT_PER_SECOND: 'off', ORDER_LIMIT_PER_MINUTE: '0', OPEN_QUOTES_PER_WORKSPACE: 'off' },
      undefined,
      undefined,
      undefined,
    ],
    [
      { SANDBOX: 'on', RATE_LIMIT_PER_SECOND: '1', ORDER_LIMIT_PER_MINUTE: '2', OPEN_QUOTES_PER_WORKSPACE: '3' },
      1,
      2,
      3,
    ],
  ])(
    'limits callers of %j to %p requests, %p orders and %p open quotes',
    (environment, perSecond, perMinute, openQuotesMax) => {
      const { rateLimit, orderLimit, ...config } = readConfig(environment, false);

      expect([rateLimit?.perSecond, orderLimit?.perMinute, config.openQuotesMax]).toEqual([
        perSecond,
        perMinute,
        openQuotesMax,
      ]);
    },
  );

  it.each(['RATE_LIMIT_PER_SECOND', 'ORDER_LIMIT_PER_MINUTE', 'OPEN_QUOTES_PER_WORKSPACE'])(
    'refuses a value of %s that is neither a limit nor off',
    (name) => {
      for (const value of ['-1', '1.5', 'on', 'none', '1000001', '1e3'])
        expect(mistakesOf({ [name]: value })).toEqual([expect.stringContaining('or off for no limit')]);
      for (const value of ['0', 'off', '1', '1000000']) expect(mistakesOf({ [name]: value })).toEqual([]);
    },
  );

  it('allows one address a quarter of the connections by default', () => {
    expect(readConfig({}, false).connectionsPerAddress).toBe(250);
    expect(readConfig({ CONNECTIONS_PER_ADDRESS: '1000' }, false).connectionsPerAddress).toBe(1_000);
    for (const value of ['0', 'off', '1001']) expect(mistakesOf({ CONNECTIONS_PER_ADDRESS: value })).toHaveLength(1);
  });
});
