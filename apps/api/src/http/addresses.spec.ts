import { BlockList } from 'node:net';
import { ConfigError, readerOf } from '@banking/process';
import { readConfig } from '../config.js';
import { readTrustedProxies, sourceAddressOf } from './addresses.js';

describe('PUBLIC_URL', () => {
  const read = (PUBLIC_URL: string) => readConfig({ PUBLIC_URL }, false).publicUrl;

  it.each([
    ['', undefined],
    ['https://bank.example', 'https://bank.example'],
    ['https://bank.example/', 'https://bank.example'],
    ['https://bank.example/payments', 'https://bank.example/payments'],
    ['https://bank.example/payments/', 'https://bank.example/payments'],
    ['https://Bank.example:443/a/../b', 'https://bank.example/b'],
    ['http://127.0.0.1:8080/payments', 'http://127.0.0.1:8080/payments'],
    ['http://[::1]:8080', 'http://[::1]:8080'],
  ])('is read from "%s" as %s', (given, expected) => {
    expect(read(given)).toBe(expected);
  });

  it.each([
    ['bank.example', 'https://'],
    ['/payments', 'https://'],
    ['http://bank.example', 'https://'],
    ['ftp://bank.example', 'https://'],
    ['https://user@bank.example', 'user name'],
    ['https://user:secret@bank.example', 'user name'],
    ['https://bank.example/payments?tenant=1', 'query'],
    ['https://bank.example/payments?', 'query'],
    ['https://bank.example/#top', 'fragment'],
    ['https://bank.example//other.example', 'empty path segment'],
    ['https://bank.example/a//b', 'empty path segment'],
    ['https://bank.example/a/..//other.example', 'empty path segment'],
    ['https://bank.example/\\other.example', 'empty path segment'],
  ])('is refused with the value "%s", which is not repeated', (given, said) => {
    const mistakes = () => {
      try {
        return [read(given)];
      } catch (error) {
        if (error instanceof ConfigError) return error.mistakes;
        throw error;
      }
    };

    expect(mistakes()).toEqual([expect.stringMatching(new RegExp(`^PUBLIC_URL .*${said}`))]);
    expect(mistakes()[0]).not.toContain('secret');
  });
});

describe('the source address of a request', () => {
  const read = (text: string) => {
    const reader = readerOf({ TRUSTED_PROXIES: text });
    return { proxies: readTrustedProxies(reader), mistakes: reader.mistakes };
  };

  const { proxies } = read('10.0.0.0/8, 192.0.2.1,2001:db8::/32');

  it.each([
    ['the peer without a header', '203.0.113.9', undefined, '203.0.113.9'],
    ['the peer if it is no trusted proxy', '203.0.113.9', '198.51.100.1', '203.0.113.9'],
    ['the client of a trusted proxy', '10.1.2.3', '198.51.100.1', '198.51.100.1'],
    ['the client of a mapped proxy', '::ffff:10.1.2.3', '::ffff:198.51.100.1', '198.51.100.1'],
    ['the client of two trusted proxies', '10.1.2.3', '198.51.100.1, 192.0.2.1', '198.51.100.1'],
    ['the client of a proxy by IPv6', '2001:db8::1', '2001:db9::5', '2001:db9::5'],
    ['no address that a client has invented', '10.1.2.3', '1.1.1.1, 198.51.100.1', '198.51.100.1'],
    ['the proxy if the header is no address', '10.1.2.3', '198.51.100.1, unknown', '10.1.2.3'],
    ['the first proxy if all are trusted', '10.1.2.3', '10.0.0.2,10.0.0.1', '10.0.0.2'],
    ['the proxy if the header has a zone', '10.1.2.3', 'fe80::1%any-text', '10.1.2.3'],
    ['empty without a peer, after a reset', undefined, '198.51.100.1', ''],
    ['the proxy if the header is empty', '10.1.2.3', '', '10.1.2.3'],
  ])('is %s', (_, peer, header, expected) => {
    expect(sourceAddressOf(peer, header, proxies)).toBe(expected);
  });

  it('is the peer if no proxy is trusted', () => {
    expect(sourceAddressOf('10.1.2.3', '198.51.100.1', new BlockList())).toBe('10.1.2.3');
  });

  it.each(['proxy', '10.0.0.0/33', '10.0.0.0/8/8', '10.0.0/8', '::1/129', '10.0.0.0/'])(
    'refuses %s as a trusted proxy',
    (text) => {
      expect(read(text).mistakes).toEqual([expect.stringContaining(`TRUSTED_PROXIES contains "${text}"`)]);
    },
  );
});
