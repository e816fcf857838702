import { BlockList, isIP } from 'node:net';
import { networkInterfaces } from 'node:os';

/** Which addresses webhooks may be sent to, besides public ones. */
export interface AddressPolicy {
  /** Whether loopback addresses are allowed: in a sandbox that only this machine reaches. */
  readonly allowsLoopback: boolean;
  /** Networks of the operator that are allowed, from WEBHOOK_ALLOWED_NETWORKS. */
  readonly allowedNetworks: BlockList;
  /** Networks that are refused, also if they are public or allowed, from WEBHOOK_REFUSED_NETWORKS. */
  readonly refusedNetworks: BlockList;
}

const LOOPBACK = networksOf(['127.0.0.0/8', '::1/128']);

/** The addresses that IANA lists as not globally reachable, and those of metadata services. */
const SPECIAL = networksOf([
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
  ...['224.0.0.0/4', '240.0.0.0/4'],
  // The metadata service of Azure has a public address.
  '168.63.129.16/32',
  ...['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'],
]);
/** Outside of it are loopback, link-local, unique local and multicast addresses, and those of NAT64. */
const GLOBAL_UNICAST = networksOf(['2000::/3']);
const IPV4_MAPPED = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/;
/** Addresses that a gateway translates to the IPv4 address in their last 32 bits (RFC 6052, RFC 8215). */
const NAT64 = networksOf(['64:ff9b::/96', '64:ff9b:1::/48']);

/**
 * Whether nothing is sent to an IP address: a special address, one that the operator refuses, or one of this machine, unless the
 * policy allows it.
 */
export function isRefusedAddress(address: string, policy: AddressPolicy): boolean {
  const canonical = canonicalOf(address);
  if (canonical === undefined || isSpecialAddress(canonical, policy)) return true;
  const family = familyOf(canonical);
  if (policy.refusedNetworks.check(canonical, family)) return true;
  const translated = translatedOf(canonical);
  if (translated !== undefined) return isRefusedAddress(translated, policy);
  const isAllowed = policy.allowedNetworks.check(canonical, family) || LOOPBACK.check(canonical, family);
  return !isAllowed && ownAddresses().has(canonical);
}

/** Whether an IP address is private, loopback, link-local, shared, multicast, reserved or of a metadata service, and not allowed. */
export function isSpecialAddress(address: string, policy: AddressPolicy): boolean {
  const canonical = canonicalOf(address);
  if (canonical === undefined) return true;
  const family = familyOf(canonical);
  if (policy.allowedNetworks.check(canonical, family)) {
    const translated = translatedOf(canonical);
    return translated !== undefined && isSpecialAddress(translated, policy);
  }
  if (LOOPBACK.check(canonical, family)) return !policy.allowsLoopback;
  return (family === 'ipv6' && !GLOBAL_UNICAST.check(canonical, family)) || SPECIAL.check(canonical, family);
}

const familyOf = (canonical: string) => (isIP(canonical) === 4 ? 'ipv4' : 'ipv6');

/** The IPv4 address that a gateway translates an address to; undefined for others. */
function translatedOf(canonical: string): string | undefined {
  if (!NAT64.check(canonical, familyOf(canonical))) return undefined;
  const [high = '', low = ''] = canonical.split(':').slice(-2);
  return canonicalOf(`::ffff:${high || '0'}:${low || '0'}`);
}

/** The one form of an address; that of IPv4 for an IPv4-mapped address. Undefined for other text, and for an address with a zone. */
function canonicalOf(address: string): string | undefined {
  if (isIP(address) === 4) return address;
  if (isIP(address) !== 6 || address.includes('%')) return undefined;
  const canonical = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [, high, low] = IPV4_MAPPED.exec(canonical) ?? [];
  if (high === undefined || low === undefined) return canonical;
  const bytes = [high, low].flatMap((part) => [Number.parseInt(part, 16) >> 8, Number.parseInt(part, 16) & 0xff]);
  return bytes.join('.');
}

/** The addresses of this machine's interfaces. They may be public. */
function ownAddresses(): ReadonlySet<string> {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return new Set(all.flatMap(({ address }) => canonicalOf(address) ?? []));
}

/** A list of networks such as `10.0.0.0/8`. @throws Error if one is no network */
export function networksOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', prefix] = network.split('/');
    list.addSubnet(address, Number(prefix), isIP(address) === 6 ? 'ipv6' : 'ipv4');
  }
  return list;
}
