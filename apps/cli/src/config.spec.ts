import { resolve } from 'node:path';
import { ConfigError } from '@banking/process';
import { readConfig } from './config.js';

function mistakesOf(environment: Record<string, string>): readonly string[] {
  try {
    readConfig(environment);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.mistakes;
    throw error;
  }
}

describe('the configuration without variables', () => {
  it.each([{}, { DATA_DIR: '', DATABASE_URL: ' ', DEMO_DATA: '', OIDC_ISSUER: '', OIDC_AUDIENCE: '' }])(
    'is the embedded database with demo data and a local key',
    (environment) => {
      expect(readConfig(environment)).toEqual({
        deployment: expect.objectContaining({ dataDir: resolve('.data'), databaseUrl: undefined, demo: true }),
        issuer: undefined,
        audience: 'banking-api',
      });
    },
  );
});

describe('the configuration of a database of your own', () => {
  const DATABASE_URL = 'postgresql://app@db.harbour.example/banking?sslmode=verify-full';

  it('has no demo data by default', () => {
    expect(readConfig({ DATABASE_URL, SANDBOX: 'on' })).toMatchObject({
      deployment: { databaseUrl: DATABASE_URL, demo: false },
    });
    expect(readConfig({ DATABASE_URL, SANDBOX: 'on', DEMO_DATA: 'on' }).deployment.demo).toBe(true);
  });

  it('keeps the identity provider unchanged', () => {
    const OIDC_ISSUER = 'https://Login.harbour.example/realm/';
    expect(readConfig({ DATABASE_URL, SANDBOX: 'off', OIDC_ISSUER }).issuer).toBe(OIDC_ISSUER);
    expect(readConfig({ OIDC_ISSUER: 'http://127.0.0.1:9000' }).issuer).toBe('http://127.0.0.1:9000');
  });
});

describe('mistakes in the configuration', () => {
  it.each([
    [{ DATABASE_URL: 'mysql://db/banking', SANDBOX: 'on' }, /^DATABASE_URL is not a URL/],
    [{ DATABASE_OWNER_URL: 'postgres://db/banking' }, /without DATABASE_URL/],
    [{ DEMO_DATA: 'true' }, /^DEMO_DATA is "true"/],
    [{ DATABASE_NAMED_STATEMENTS: 'no' }, /^DATABASE_NAMED_STATEMENTS is "no"/],
    [{ OIDC_ISSUER: 'http://login.harbour.example' }, /^OIDC_ISSUER must be the https URL/],
  ])('are reported for %j', (environment, mistake) => {
    expect(mistakesOf(environment as unknown as Record<string, string>)).toEqual([expect.stringMatching(mistake)]);
  });

  it('are reported together, without URLs that contain a password', () => {
    const mistakes = mistakesOf({
      DATABASE_URL: 'http://me:secret@db',
      SANDBOX: 'on',
      DEMO_DATA: '1',
      OIDC_ISSUER: 'x',
    });

    expect(mistakes).toHaveLength(3);
    expect(mistakes.join()).not.toContain('secret');
  });
});
