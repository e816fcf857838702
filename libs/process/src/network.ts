import { isIP } from 'node:net';

/** A network of the Internet Protocol. An address is the network of itself. */
export interface Network {
  readonly address: string;
  /** How many bits of the address all addresses of the network have. */
  readonly prefix: number;
  readonly family: 'ipv4' | 'ipv6';
}

/** Reads an address or a network in CIDR notation. Undefined for another text, such as an address with a zone. */
export function parseNetwork(text: string): Network | undefined {
  const [address = '', prefix, ...more] = text.split('/');
  const version = isIP(address);
  const prefixMax = version === 6 ? 128 : 32;
  const bits = prefix === undefined ? prefixMax : Number(/^\d{1,3}$/.test(prefix) ? prefix : NaN);
  if (version === 0 || address.includes('%') || more.length > 0 || !(bits <= prefixMax)) return undefined;
  return { address, prefix: bits, family: version === 6 ? 'ipv6' : 'ipv4' };
}
