import { BlockList, isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';
import type { EnvironmentReader } from '@banking/process';

/** An IPv4 address in the form of IPv6, as a socket that listens on both has it. */
const MAPPED = /^::ffff:(?=\d+\.)/i;

const plain = (address: string): string => address.trim().replace(MAPPED, '');

/**
 * The address that a request comes from: the peer of the connection. If that is a trusted proxy, the last address of `X-Forwarded-For`
 * before the trusted ones: a client can write any address before it. Empty without a peer: a socket that was reset has none.
 */
export function sourceAddressOf(
  peer: string | undefined,
  forwardedFor: string | undefined,
  trusted: BlockList,
): string {
  let address = plain(peer ?? '');
  for (const text of (forwardedFor ?? '').split(',').reverse()) {
    const before = plain(text);
    // A zone of IPv6 is any text.
    if (isIP(before) === 0 || before.includes('%') || !trusted.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4'))
      return address;
    address = before;
  }
  return address;
}

/** The address that a request comes from, by its connection and its headers. */
export const sourceOf = ({ ip, headers }: Pick<FastifyRequest, 'ip' | 'headers'>, trusted: BlockList): string =>
  sourceAddressOf(ip, [headers['x-forwarded-for'] ?? []].flat().join(','), trusted);

/** The proxies whose `X-Forwarded-For` is read: addresses and networks, separated by commas. Default: none. */
export function readTrustedProxies({ text, mistakes }: EnvironmentReader): BlockList {
  const proxies = new BlockList();
  const listed = (text('TRUSTED_PROXIES') ?? '').split(',').map((part) => part.trim());
  for (const part of listed.filter(Boolean)) {
    const [address = '', prefix, ...more] = part.split('/');
    const family = isIP(address);
    const bits = prefix === undefined ? undefined : Number(/^\d{1,3}$/.test(prefix) ? prefix : NaN);
    const bitsMax = family === 6 ? 128 : 32;
    if (family === 0 || more.length > 0 || (bits !== undefined && !(bits <= bitsMax))) {
      mistakes.push(
        `TRUSTED_PROXIES contains "${part}". Write addresses and networks like 10.0.0.0/8, separated by commas.`,
      );
    } else if (bits === undefined) proxies.addAddress(address, family === 6 ? 'ipv6' : 'ipv4');
    else proxies.addSubnet(address, bits, family === 6 ? 'ipv6' : 'ipv4');
  }
  return proxies;
}
