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

describe('the configuration of a worker', () => {
  it.each([{}, { DATA_DIR: '', DATABASE_URL: ' ', SANDBOX: '' }])(
    'names the embedded database without variables',
    (environment) => {
      expect(readConfig(environment, false)).toEqual({
        deployment: expect.objectContaining({ dataDir: resolve('.data'), databaseUrl: undefined, isSandbox: true }),
        logging: { logLevel: 'info', logPretty: false },
        rates: undefined,
        auditKeptDays: 3_650,
        webhooks: { keys: [], allowedNetworks: [], refusedNetworks: [], isLocal: true },
        health: undefined,
      });
    },
  );

  it('reads the variables of the service with the same meaning', () => {
    const DATABASE_URL = 'postgres://app@127.0.0.1/banking?sslmode=disable';

    expect(readConfig({ DATABASE_URL, SANDBOX: 'off', OIDC_ISSUER: 'https://login.example' }).deployment).toMatchObject(
      {
        databaseUrl: DATABASE_URL,
        isSandbox: false,
        demo: false,
      },
    );
    expect(mistakesOf({ DATABASE_URL, OIDC_ISSUER: 'https://login.example' })).toEqual([
      expect.stringMatching(/^SANDBOX is not set\./),
    ]);
  });

  it('keeps the audit trail for a year at least', () => {
    expect(readConfig({ AUDIT_KEPT_DAYS: '365' }).auditKeptDays).toBe(365);
    expect(mistakesOf({ AUDIT_KEPT_DAYS: '364' })).toEqual([expect.stringMatching(/^AUDIT_KEPT_DAYS /)]);
  });

  it.each(['https://rates.example/eur.json', 'http://127.0.0.1:8080', 'http://[::1]/', 'http://localhost/'])(
    'reads %s as the source of rates, valid for an hour',
    (url) => {
      expect(readConfig({ RATES_URL: url }).rates).toEqual({ url, maxAgeS: 3_600 });
    },
  );

  it.each([
    [{ HEALTH_PORT: '9100' }, { host: '127.0.0.1', port: 9_100 }],
    [
      { HEALTH_PORT: '0', HEALTH_HOST: '0.0.0.0' },
      { host: '0.0.0.0', port: 0 },
    ],
    [{ HEALTH_HOST: '0.0.0.0' }, undefined],
  ])('reads the health address of %j as %j', (environment, health) => {
    expect(readConfig(environment as unknown as Record<string, string>).health).toEqual(health);
  });

  it.each([
    [{ HEALTH_PORT: '65536' }, /^HEALTH_PORT is "65536"/],
    [{ DATABASE_URL: 'mysql://me:secret@db/banking', SANDBOX: 'on' }, /^DATABASE_URL is not a URL/],
    [{ DATABASE_POOL_SIZE: '1' }, /^DATABASE_POOL_SIZE is "1"/],
    [{ DATABASE_POOL_SIZE: '8.5' }, /^DATABASE_POOL_SIZE is "8.5"/],
    [{ DATABASE_NAMED_STATEMENTS: 'no' }, /^DATABASE_NAMED_STATEMENTS is "no"/],
    [{ SANDBOX: 'true' }, /^SANDBOX is "true"/],
    [{ RATES_URL: 'http://me:secret@rates.example' }, /^RATES_URL must begin with https:/],
    [{ RATES_URL: 'http://127.0.0.1.rates.example' }, /^RATES_URL must begin with https:/],
    [{ RATES_MAX_AGE_S: '0' }, /^RATES_MAX_AGE_S is "0"/],
  ])('reports the mistake in %j without a password', (environment, mistake) => {
    const [only, ...more] = mistakesOf(environment as unknown as Record<string, string>);

    expect(more).toEqual([]);
    expect(only).toMatch(mistake);
    expect(only).not.toContain('secret');
  });
});
