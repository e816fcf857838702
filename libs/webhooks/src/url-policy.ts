import type { LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import { type AddressPolicy, isSpecialAddress } from './address-policy.js';

/** Why a URL is no URL of a webhook endpoint. */
export type UrlRefusal =
  'not_a_url' | 'too_long' | 'not_https' | 'has_credentials' | 'has_fragment' | 'address_refused';

const LENGTH_MAX = 2_048;
/** Those of `localhost`, which no name server is asked for (RFC 6761, section 6.3). */
export const LOOPBACK_ADDRESSES: readonly LookupAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
];

/**
 * Why nothing is delivered to a URL; undefined if it is allowed. Names are resolved at the delivery, where the address is checked
 * again: here only an address in the URL and the name `localhost` are. The networks of a deployment are checked at the delivery only,
 * so that a response discloses none of them.
 */
export function refusedUrl(url: string, policy: AddressPolicy): UrlRefusal | undefined {
  if (url.length > LENGTH_MAX) return 'too_long';
  // The parser would remove control characters and spaces.
  if (!URL.canParse(url) || /[\p{Cc}\s]/u.test(url)) return 'not_a_url';
  const { protocol, hostname, username, password } = new URL(url);
  if (protocol !== 'https:' && !(protocol === 'http:' && policy.allowsLoopback && isLoopbackHost(hostname)))
    return 'not_https';
  if (username !== '' || password !== '') return 'has_credentials';
  if (url.includes('#')) return 'has_fragment';
  return isRefusedHost(hostname, policy) ? 'address_refused' : undefined;
}

function isRefusedHost(hostname: string, policy: AddressPolicy): boolean {
  if (isLocalName(hostname)) return isSpecialAddress('127.0.0.1', policy);
  const address = bare(hostname);
  return isIP(address) !== 0 && isSpecialAddress(address, policy);
}

/** The parser has turned other forms of an address, such as `0x7f.1`, into this one. */
const isLoopbackHost = (hostname: string) =>
  isLocalName(hostname) || hostname === '[::1]' || (isIP(hostname) === 4 && hostname.startsWith('127.'));

export const isLocalName = (hostname: string) => /^(?:.+\.)?localhost\.?$/.test(hostname);

const bare = (hostname: string) => hostname.replace(/^\[(.*)\]$/, '$1');
