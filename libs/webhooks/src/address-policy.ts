import { BlockList, isIP } from 'node:net';
import { networkInterfaces } from 'node:os';

/** Which addresses webhooks may be sent to, besides public ones. */
export interface AddressPolicy {
  /** Whether loopback addresses are allowed, as in a sandbox. */
  readonly isSandbox: boolean;
  /** Networks of the operator that are allowed, from WEBHOOK_ALLOWED_NETWORKS. */
  readonly allowedNetworks: BlockList;
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
/** Outside of it are loopback, link-local, unique local and multicast addresses, and those that translate to IPv4. */
const GLOBAL_UNICAST = networksOf(['2000::/3']);
const IPV4_MAPPED = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/;

/**
 * Whether nothing is sent to an IP address: a private, loopback, link-local, shared, multicast, reserved or metadata address, or one
 * of this machine, unless the policy allows it.
 */
export function isRefusedAddress(address: string, { isSandbox, allowedNetworks }: AddressPolicy): boolean {
  const canonical = canonicalOf(address);
  if (canonical === undefined) return true;
  const family = isIP(canonical) === 4 ? 'ipv4' : 'ipv6';
  if (allowedNetworks.check(canonical, family)) return false;
  if (LOOPBACK.check(canonical, family)) return !isSandbox;
  const isReachable = family === 'ipv4' || GLOBAL_UNICAST.check(canonical, family);
  return !isReachable || SPECIAL.check(canonical, family) || ownAddresses().has(canonical);
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
