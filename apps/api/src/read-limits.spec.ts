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

const LIVE = { SANDBOX: 'off', OIDC_ISSUER: 'https://login.example' };

describe('readLimits', () => {
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
