import { BlockList, isIP } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type EnvironmentReader, isTrustworthy, parseNetwork } from '@banking/process';

declare module 'fastify' {
  interface FastifyInstance {
    /** The path of `PUBLIC_URL` without a slash at its end: empty where it has none. */
    readonly publicPath: string;
  }
}

/** The address under which callers reach the service, without a slash at its end; undefined where none is set. */
export function readPublicUrl({ text, mistakes }: Pick<EnvironmentReader, 'text' | 'mistakes'>): string | undefined {
  const given = text('PUBLIC_URL');
  if (given === undefined) return undefined;
  const mistake = mistakeInUrl(given);
  if (mistake === undefined) return new URL(given).href.replace(/\/$/, '');
  mistakes.push(`PUBLIC_URL ${mistake}`);
  return undefined;
}

function mistakeInUrl(given: string): string | undefined {
  if (!isTrustworthy(given)) {
    return 'must begin with https:// (http:// only on a loopback address), for example https://bank.example/payments.';
  }
  const { username, password, pathname } = new URL(given);
  if (username !== '' || password !== '') return 'must not hold a user name or password. Remove them.';
  if (/[?#]/.test(given)) return 'must not have a query or a fragment. Remove everything from ? or # on.';
  // A path that begins with two slashes would name another host in a Location header (RFC 3986, section 4.2).
  if (pathname.includes('//')) return 'has an empty path segment. Write single slashes.';
  return undefined;
}

/** Sets the path under which a proxy serves the server. The proxy removes that path before it forwards a request. */
export function setPublicPath(server: FastifyInstance, publicUrl: string | undefined): void {
  server.decorate('publicPath', publicUrl === undefined ? '' : new URL(publicUrl).pathname.replace(/\/$/, ''));
}

/** A path of the service as callers can follow it: a relative reference with an absolute path (RFC 3986, section 4.2). */
export const publicReference = (reply: FastifyReply, path: string): string => `${reply.server.publicPath}${path}`;

/** A request target without the scheme and host of the absolute form (RFC 9112, section 3.2.2), which the caller chooses freely. */
export function originFormOf(target: string): string {
  const [, rest] = /^https?:\/\/[^/?]*(.*)$/is.exec(target) ?? [];
  return rest === undefined ? target : rest.startsWith('/') ? rest : `/${rest}`;
}

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

export const sourceOf = ({ ip, headers }: Pick<FastifyRequest, 'ip' | 'headers'>, trusted: BlockList): string =>
  sourceAddressOf(ip, [headers['x-forwarded-for'] ?? []].flat().join(','), trusted);

/** The proxies whose `X-Forwarded-For` is read: addresses and networks, separated by commas. Default: none. */
export function readTrustedProxies({ text, mistakes }: EnvironmentReader): BlockList {
  const proxies = new BlockList();
  const listed = (text('TRUSTED_PROXIES') ?? '').split(',').map((part) => part.trim());
  for (const part of listed.filter(Boolean)) {
    const network = parseNetwork(part);
    if (network === undefined) {
      mistakes.push(
        `TRUSTED_PROXIES contains "${part}". Write addresses and networks like 10.0.0.0/8, separated by commas.`,
      );
    } else proxies.addSubnet(network.address, network.prefix, network.family);
  }
  return proxies;
}
