import { resolve } from 'node:path';
import { type EnvironmentReader, isLoopback, isTrustworthy } from '@banking/process';

/** Another deployment of the interface, which answers behind ours. */
export interface UpstreamConfig {
  /** Where the paths of the interface begin there. */
  readonly url: string;
  /** For one request, from its first byte to the last of its answer. */
  readonly timeoutMs: number;
  /** What we show there. */
  readonly credential: UpstreamCredential;
}

export type UpstreamCredential =
  | { readonly kind: 'token'; readonly token: string }
  /** Kept current by somebody else. */
  | { readonly kind: 'token-file'; readonly file: string }
  /** Of a user who has signed in once; the file holds the refresh token, and is written by us. */
  | { readonly kind: 'session'; readonly authUrl: string; readonly file: string };

/** Where this service itself listens. */
interface OwnAddress {
  readonly host: string;
  readonly port: number;
}

/** Below the time a handler has, so that its caller learns what became of the request. */
const TIMEOUT_MS = { least: 100, usual: 10_000, most: 14_000 };

/** Settings of our own books, which a gateway has none of; the second word is the value that would still be true. */
const OF_OUR_BOOKS: readonly (readonly [name: string, harmless?: string])[] = [
  ['DATABASE_URL'],
  ['DATABASE_OWNER_URL'],
  ['DATABASE_POOL_SIZE'],
  ['DATABASE_TLS'],
  ['DATABASE_NAMED_STATEMENTS'],
  ['DEMO_DATA', 'off'],
  ['WORKER', 'off'],
  ['RATES_URL'],
  ['RATES_MAX_AGE_S'],
  ['QUOTE_VALID_S'],
];

/** The settings of a gateway; undefined where our own books answer. Mistakes are added to those there are. */
export function readUpstream(reader: EnvironmentReader, own: OwnAddress): UpstreamConfig | undefined {
  const { text, whole, mistakes } = reader;
  const url = text('UPSTREAM_URL');
  const timeoutMs = whole('UPSTREAM_TIMEOUT_MS', TIMEOUT_MS.least, TIMEOUT_MS.most) ?? TIMEOUT_MS.usual;
  const credential = readCredential(reader);
  if (url === undefined) {
    const alone = [...CREDENTIALS.flat(), 'UPSTREAM_TIMEOUT_MS'].filter((name) => text(name) !== undefined);
    if (alone.length > 0) mistakes.push(`${alone.join(', ')} set without UPSTREAM_URL. Set UPSTREAM_URL too, or remove it.`); // prettier-ignore
    return undefined;
  }
  mistakes.push(...objectionsTo(url, own));
  for (const [name, harmless] of OF_OUR_BOOKS) {
    const value = text(name);
    if (value === undefined || value === harmless) continue;
    mistakes.push(`${name} is set beside UPSTREAM_URL, and a gateway has no books it could mean. Remove ${name}.`);
  }
  return credential && { url, timeoutMs, credential };
}

/** The ways to show who we are there, of which one is needed. */
const CREDENTIALS = [
  ['UPSTREAM_TOKEN'],
  ['UPSTREAM_TOKEN_FILE'],
  ['UPSTREAM_AUTH_URL', 'UPSTREAM_REFRESH_TOKEN_FILE'],
] as const;

/** The one that is set. Without an upstream, none is missed. */
function readCredential({ text, mistakes }: EnvironmentReader): UpstreamCredential | undefined {
  const set = CREDENTIALS.filter((names) => names.some((name) => text(name) !== undefined));
  const [token, tokenFile, authUrl, refreshFile] = CREDENTIALS.flat().map(text);
  if (set.length > 1) mistakes.push(`${set.flat().filter((name) => text(name) !== undefined).join(', ')} are set. Keep one credential.`); // prettier-ignore
  if (set.length === 0 && text('UPSTREAM_URL') !== undefined) {
    mistakes.push(`UPSTREAM_URL is set without a credential. Set ${CREDENTIALS.map((names) => names.join(' with ')).join(', or ')}.`); // prettier-ignore
  }
  if (token !== undefined) {
    if (!/^[\x21-\x7e]+$/.test(token)) {
      mistakes.push('UPSTREAM_TOKEN holds what no header can carry, such as a space. Set the token alone.');
    }
    return { kind: 'token', token };
  }
  if (tokenFile !== undefined) return { kind: 'token-file', file: resolve(tokenFile) };
  if (authUrl === undefined && refreshFile === undefined) return undefined;
  if (authUrl === undefined || refreshFile === undefined) {
    mistakes.push('UPSTREAM_AUTH_URL and UPSTREAM_REFRESH_TOKEN_FILE belong together. Set both.');
    return undefined;
  }
  mistakes.push(...objectionsToUrl('UPSTREAM_AUTH_URL', authUrl, 'our refresh token'));
  return { kind: 'session', authUrl, file: resolve(refreshFile) };
}

/** What is wrong with an address that a credential goes to. It is not repeated where it may hold a password. */
function objectionsToUrl(name: string, text: string, what: string): string[] {
  if (!URL.canParse(text)) return [`${name} is not a URL. Write it like https://bank.example/banking.`];
  if (!isTrustworthy(text)) {
    return [`${name} must begin with https:// (http only on a loopback address): ${what} goes there.`];
  }
  const { username, password, search, hash } = new URL(text);
  return [
    ...(username + password === '' ? [] : [`${name} holds a name or a password. Remove it, and set a credential.`]),
    ...(search + hash === '' ? [] : [`${name} has a query or a fragment. Remove it: paths are appended to the URL.`]),
  ];
}

function objectionsTo(text: string, { host, port }: OwnAddress): string[] {
  const mistakes = objectionsToUrl('UPSTREAM_URL', text, 'our credential');
  if (mistakes.length > 0 || !isOurs(new URL(text), host, port)) return mistakes;
  return [`UPSTREAM_URL is this service itself, on port ${port}. Set it to the other deployment, or set another PORT.`];
}

/** What listens on a wildcard address is reached over loopback too. */
function isOurs(url: URL, host: string, port: number): boolean {
  const theirs = Number(url.port || (url.protocol === 'https:' ? 443 : 80));
  if (theirs !== port) return false;
  const isHere = isLoopback(host) || host === '0.0.0.0' || host === '::';
  return url.hostname === host || (isHere && isLoopback(url.hostname));
}
