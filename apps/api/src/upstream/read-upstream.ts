import { isLoopback, isTrustworthy } from '../trustworthy-url.js';

/** Another deployment of the interface, which answers behind ours. */
export interface UpstreamConfig {
  /** Where the paths of the interface begin there. */
  readonly url: string;
  /** For one request, from its first byte to the last of its answer. */
  readonly timeoutMs: number;
  /** What we show there. */
  readonly credential: UpstreamCredential;
}

type UpstreamCredential = { readonly kind: 'token'; readonly token: string };

interface Reading {
  readonly host: string;
  readonly mistakes: string[];
  text(name: string): string | undefined;
  whole(name: string, min: number, max: number): number | undefined;
}

/** Below the time a handler has, so that its caller learns what became of the request. */
const TIMEOUT_MS = { least: 100, usual: 10_000, most: 14_000 };

/** Settings of our own books, which a gateway has none of; the second word is the value that would still be true. */
const OF_OUR_BOOKS: readonly (readonly [name: string, harmless?: string])[] = [
  ['DATABASE_URL'],
  ['DATABASE_OWNER_URL'],
  ['DATABASE_POOL_SIZE'],
  ['DATABASE_NAMED_STATEMENTS'],
  ['DEMO_DATA', 'off'],
  ['WORKER', 'off'],
  ['RATES_URL'],
  ['RATES_MAX_AGE_S'],
  ['QUOTE_VALID_S'],
];

/** The settings of a gateway; undefined where our own books answer. Mistakes are added to those there are. */
export function readUpstream(reading: Reading & { readonly port: number }): UpstreamConfig | undefined {
  const { text, whole, mistakes } = reading;
  const url = text('UPSTREAM_URL');
  const timeoutMs = whole('UPSTREAM_TIMEOUT_MS', TIMEOUT_MS.least, TIMEOUT_MS.most) ?? TIMEOUT_MS.usual;
  const credential = readCredential(reading);
  if (url === undefined) {
    const alone = ['UPSTREAM_TOKEN', 'UPSTREAM_TIMEOUT_MS'].filter((name) => text(name) !== undefined);
    if (alone.length > 0) mistakes.push(`${alone.join(' and ')} set without UPSTREAM_URL. Set UPSTREAM_URL too, or remove it.`); // prettier-ignore
    return undefined;
  }
  mistakes.push(...objectionsTo(url, reading));
  for (const [name, harmless] of OF_OUR_BOOKS) {
    const value = text(name);
    if (value === undefined || value === harmless) continue;
    mistakes.push(`${name} is set beside UPSTREAM_URL, and a gateway has no books it could mean. Remove ${name}.`);
  }
  if (credential === undefined) {
    mistakes.push('UPSTREAM_URL is set without a credential. Set UPSTREAM_TOKEN.');
    return undefined;
  }
  return { url, timeoutMs, credential };
}

function readCredential({ text, mistakes }: Reading): UpstreamCredential | undefined {
  const token = text('UPSTREAM_TOKEN');
  if (token === undefined) return undefined;
  if (!/^[\x21-\x7e]+$/.test(token)) {
    mistakes.push('UPSTREAM_TOKEN holds what no header can carry, such as a space. Set the token alone.');
  }
  return { kind: 'token', token };
}

/** What is wrong with the address. It is not repeated where it may hold a password. */
function objectionsTo(text: string, { host, port }: { readonly host: string; readonly port: number }): string[] {
  if (!URL.canParse(text)) return ['UPSTREAM_URL is not a URL. Write it like https://bank.example/banking.'];
  if (!isTrustworthy(text)) {
    return ['UPSTREAM_URL must begin with https:// (http only on a loopback address): our credential goes there.'];
  }
  const url = new URL(text);
  const mistakes: string[] = [];
  if (url.username !== '' || url.password !== '') {
    mistakes.push('UPSTREAM_URL holds a name or a password. Remove it, and set UPSTREAM_TOKEN.');
  }
  if (url.search !== '' || url.hash !== '') {
    mistakes.push('UPSTREAM_URL has a query or a fragment. Remove it: paths are appended to the URL.');
  }
  if (isOurs(url, host, port)) {
    mistakes.push(`UPSTREAM_URL is this service itself, on port ${port}. Set it to the other deployment, or set another PORT.`); // prettier-ignore
  }
  return mistakes;
}

/** What listens on a wildcard address is reached over loopback too. */
function isOurs(url: URL, host: string, port: number): boolean {
  const theirs = Number(url.port || (url.protocol === 'https:' ? 443 : 80));
  if (port === 0 || theirs !== port) return false;
  const isHere = isLoopback(host) || host === '0.0.0.0' || host === '::';
  return url.hostname === host || (isHere && isLoopback(url.hostname));
}
