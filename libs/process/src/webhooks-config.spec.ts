import { randomBytes } from 'node:crypto';
import { readerOf } from './environment-reader.js';
import { readWebhooks } from './webhooks-config.js';

const read = (environment: Record<string, string>) => {
  const reader = readerOf(environment);
  return { ...readWebhooks(reader), mistakes: reader.mistakes };
};

describe('the configuration of webhooks', () => {
  it('is empty by default', () =>
    expect(read({})).toEqual({ keys: [], allowedNetworks: [], refusedNetworks: [], isLocal: true, mistakes: [] }));

  it.each([
    ['127.0.0.1', true],
    ['::1', true],
    ['0.0.0.0', false],
    ['::', false],
    ['10.0.0.1', false],
  ])('says whether only this machine reaches %s: %s', (host, isLocal) =>
    expect(read({ HOST: host })).toMatchObject({ isLocal }),
  );

  it('reads several keys, the first of which encrypts', () => {
    const keys = [randomBytes(32), randomBytes(32)];
    const text = keys.map((key) => key.toString('base64')).join(' , ');
    expect(read({ WEBHOOK_KEY: text })).toMatchObject({ keys, mistakes: [] });
    expect(read({ WEBHOOK_KEY: keys.map((key) => key.toString('base64url')).join(',') }).keys).toEqual(keys);
  });

  it.each(['secret', randomBytes(31).toString('base64'), randomBytes(33).toString('base64'), `${'a'.repeat(42)}!`])(
    'refuses the key %s without repeating it',
    (key) => {
      const { mistakes } = read({ WEBHOOK_KEY: key });
      expect(mistakes).toEqual([expect.stringMatching(/^WEBHOOK_KEY is not a list of keys of 32 bytes/)]);
      expect(mistakes.join('')).not.toContain(key);
    },
  );

  it('reads networks', () => {
    const networks = ['10.1.0.0/16', 'fd00::/8', '127.0.0.1/32'];
    const text = networks.join(', ');
    expect(read({ WEBHOOK_ALLOWED_NETWORKS: text, WEBHOOK_REFUSED_NETWORKS: text })).toMatchObject({
      allowedNetworks: networks,
      refusedNetworks: networks,
      mistakes: [],
    });
  });

  it.each(['10.0.0.1', '10.0.0.0/33', 'fd00::/129', '10.0.0.0/8/8', 'example.com/8', '10.0.0.0/', 'fe80::1%eth0/64'])(
    'refuses the network %s',
    (network) =>
      expect(read({ WEBHOOK_ALLOWED_NETWORKS: network }).mistakes).toEqual([
        expect.stringMatching(/^WEBHOOK_ALLOWED_NETWORKS has "/),
      ]),
  );
});
