import { networkInterfaces } from 'node:os';
import { isRefusedAddress, networksOf } from './address-policy.js';
import { refusedUrl } from './url-policy.js';

const LIVE = { allowsLoopback: false, allowedNetworks: networksOf([]), refusedNetworks: networksOf([]) };
const SANDBOX = { ...LIVE, allowsLoopback: true };
const WITH_NETWORKS = { ...LIVE, allowedNetworks: networksOf(['10.1.0.0/16', 'fd12::/16', '127.0.0.0/8']) };

const PRIVATE = [
  ...[
    '0.0.0.0',
    '10.0.0.1',
    '100.64.0.1',
    '100.100.100.200',
    '127.0.0.1',
    '127.9.9.9',
    '169.254.169.254',
    '172.16.0.1',
  ],
  ...['172.31.255.255', '192.0.0.192', '192.168.1.1', '198.18.0.1', '203.0.113.9', '224.0.0.1', '255.255.255.255'],
  ...[
    '168.63.129.16',
    '::',
    '::1',
    'fe80::1',
    'fec0::1',
    'fc00::1',
    'fd00:ec2::254',
    'ff02::1',
    '2001:db8::1',
    '64:ff9b::a00:1',
  ],
  ...[
    '::ffff:127.0.0.1',
    '::ffff:a00:1',
    '0:0:0:0:0:ffff:7f00:1',
    '::127.0.0.1',
    '2002:7f00:1::',
    '2001:0:1::1',
    'fe80::1%eth0',
  ],
  ...['100::1', 'not an address', ''],
];

describe('addresses of webhooks', () => {
  it.each(PRIVATE)('do not include %s', (address) => expect(isRefusedAddress(address, LIVE)).toBe(true));

  it.each(['1.1.1.1', '172.32.0.1', '100.128.0.1', '2606:4700::1111', '::ffff:1.1.1.1'])(
    'include the public %s',
    (address) => expect(isRefusedAddress(address, LIVE)).toBe(false),
  );

  it('do not include those of this machine', () => {
    const own = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
    expect(own.length).toBeGreaterThan(0);
    for (const { address } of own) expect(isRefusedAddress(address, LIVE)).toBe(true);
  });

  it('do not include those that the operator refuses, also if they are public or allowed', () => {
    const refusedNetworks = networksOf(['1.1.1.0/24', '10.1.1.0/24', '2606:4700::/32']);
    for (const address of ['1.1.1.1', '::ffff:1.1.1.1', '10.1.1.1', '2606:4700::1111']) {
      expect(isRefusedAddress(address, WITH_NETWORKS)).toBe(false);
      expect(isRefusedAddress(address, { ...WITH_NETWORKS, refusedNetworks })).toBe(true);
    }
  });

  it('include an allowed address of NAT64 only if the one that it is translated to is public or allowed', () => {
    const policy = { ...LIVE, allowedNetworks: networksOf(['64:ff9b::/96', '64:ff9b:1::/48', '10.1.0.0/16']) };
    const allowed = ['64:ff9b::1.1.1.1', '64:ff9b:1::101:101', '64:ff9b::10.1.0.1', '64:ff9b::100:1'];
    const refused = ['64:ff9b::10.2.0.1', '64:ff9b:1::a9fe:a9fe', '64:ff9b::', '64:ff9b::7f00:1', '64:ff9b::1'];
    expect(allowed.filter((address) => isRefusedAddress(address, policy))).toEqual([]);
    expect(refused.filter((address) => !isRefusedAddress(address, policy))).toEqual([]);
    expect(isRefusedAddress('64:ff9b::1.1.1.1', LIVE)).toBe(true);
    const refusing = { ...policy, refusedNetworks: networksOf(['1.1.1.0/24']) };
    expect(isRefusedAddress('64:ff9b::1.1.1.1', refusing)).toBe(true);
  });

  it('include loopback addresses in a sandbox, and no other private ones', () => {
    const allowed = PRIVATE.filter((address) => !isRefusedAddress(address, SANDBOX));
    expect(allowed).toEqual(['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1', '0:0:0:0:0:ffff:7f00:1']);
  });

  it('include the networks that the operator allows', () => {
    for (const address of ['10.1.2.3', '::ffff:10.1.2.3', 'fd12::1', '127.0.0.1']) {
      expect(isRefusedAddress(address, WITH_NETWORKS)).toBe(false);
    }
    expect(isRefusedAddress('10.2.0.1', WITH_NETWORKS)).toBe(true);
  });
});

describe('URLs of webhooks', () => {
  it.each([
    ['https://example.com/hooks?a=b', undefined],
    ['https://[2606:4700::1111]:8443/', undefined],
    ['http://example.com/', 'not_https'],
    ['http://127.0.0.1/', 'not_https'],
    ['ftp://example.com/', 'not_https'],
    ['https://user@example.com/', 'has_credentials'],
    ['https://user:secret@example.com/', 'has_credentials'],
    ['https://example.com/#', 'has_fragment'],
    ['https://example.com/#part', 'has_fragment'],
    ['https://10.0.0.1/', 'address_refused'],
    ['https://0x7f.1/', 'address_refused'],
    ['https://2130706433/', 'address_refused'],
    ['https://127.0.0.1./', 'address_refused'],
    ['https://[::ffff:10.0.0.1]/', 'address_refused'],
    ['https://[fe80::1]/', 'address_refused'],
    ['https://localhost/', 'address_refused'],
    ['https://localhost./', 'address_refused'],
    ['https://LOCALHOST/', 'address_refused'],
    ['https://a.localhost/', 'address_refused'],
    ['https:// example.com/', 'not_a_url'],
    ['https://exam\nple.com/', 'not_a_url'],
    ['example.com', 'not_a_url'],
    [`https://example.com/${'a'.repeat(2_048)}`, 'too_long'],
  ])('%s: %s', (url, refusal) => expect(refusedUrl(url, LIVE)).toBe(refusal));

  it.each([
    ['http://127.0.0.1:8080/', undefined],
    ['http://localhost:8080/', undefined],
    ['http://[::1]:8080/', undefined],
    ['https://127.0.0.1/', undefined],
    ['http://127.example.com/', 'not_https'],
    ['http://10.0.0.1/', 'not_https'],
    ['https://10.0.0.1/', 'address_refused'],
  ])('in a sandbox, %s: %s', (url, refusal) => expect(refusedUrl(url, SANDBOX)).toBe(refusal));

  it('disclose neither the networks that are refused nor the addresses of this machine', () => {
    const policy = { ...LIVE, refusedNetworks: networksOf(['1.1.1.0/24']) };
    expect(refusedUrl('https://1.1.1.1/', policy)).toBeUndefined();
  });

  it('may name an allowed network', () => {
    expect(refusedUrl('https://10.1.0.9/', WITH_NETWORKS)).toBeUndefined();
    expect(refusedUrl('https://10.2.0.9/', WITH_NETWORKS)).toBe('address_refused');
    expect(refusedUrl('https://localhost/', WITH_NETWORKS)).toBeUndefined();
  });
});
