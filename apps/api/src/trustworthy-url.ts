import { isIP } from 'node:net';

/** Whether what comes from a URL can be believed: nobody on the way can change it. */
export function isTrustworthy(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
}

/** Whether a host, bare or as a URL writes it, is this machine and can be reached from no other. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, '$1');
  return bare === 'localhost' || bare === '::1' || (isIP(bare) === 4 && bare.startsWith('127.'));
}
