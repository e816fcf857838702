import { resolve } from 'node:path';
import { type EnvironmentReader, isLoopback, isTrustworthy } from '@banking/process';

export interface UpstreamConfig {
  /** The URL to which the paths of the interface are appended. */
  readonly url: string;
  /** For one request, until the last byte of its response. */
  readonly timeoutMs: number;
  readonly credential: UpstreamCredential;
}

export type UpstreamCredential =
  | { readonly kind: 'token'; readonly token: string }
  /** A file that another process keeps current. */
  | { readonly kind: 'token-file'; readonly file: string }
  /** The session of a user who has signed in once. The file contains the refresh token, and the gateway writes it. */
  | { readonly kind: 'session'; readonly authUrl: string; readonly file: string };

/** The address on which this service listens. */
interface OwnAddress {
  readonly host: string;
  readonly port: number;
}

/** The maximum is below the time limit of a handler, so that the caller gets the outcome of the request. */
const TIMEOUT_MS = { min: 100, usual: 10_000, max: 14_000 };

/** Settings of our own books, which a gateway does not have, each with the value that is harmless. */
const BOOKS_SETTINGS: readonly (readonly [name: string, harmless?: string])[] = [
  ['DATABASE_URL'],
  ['DATABASE_PASSWORD_FILE'],
  ['DATABASE_OWNER_URL'],
  ['DATABASE_OWNER_PASSWORD_FILE'],
  ['DATABASE_REPLICA_URL'],
  ['DATABASE_REPLICA_PASSWORD_FILE'],
  ['CELLS'],
  ['CELLS_FILE'],
  ['RAILS_FILE'],
  ['DATABASE_POOL_SIZE'],
  ['DATABASE_TLS'],
  ['DATABASE_POOLER'],
  ['DATABASE_NAMED_STATEMENTS'],
  ['DEMO_DATA', 'off'],
  ['WORKER', 'off'],
  ['RATES_URL'],
  ['RATES_MAX_AGE_S'],
  ['QUOTE_VALID_S'],
];

/** The settings of a gateway. Undefined without UPSTREAM_URL. Adds mistakes to those of the reader. */
export function readUpstream(reader: EnvironmentReader, own: OwnAddress): UpstreamConfig | undefined {
  const { text, given, whole, mistakes } = reader;
  const url = text('UPSTREAM_URL');
  const timeoutMs = whole('UPSTREAM_TIMEOUT_MS', TIMEOUT_MS.min, TIMEOUT_MS.max) ?? TIMEOUT_MS.usual;
  const credential = readCredential(reader);
  if (url === undefined) {
    const alone = [...CREDENTIALS.flat(), 'UPSTREAM_TIMEOUT_MS'].filter((name) => text(name) !== undefined);
    if (alone.length > 0) {
      mistakes.push(`${alone.join(', ')} set without UPSTREAM_URL. Set UPSTREAM_URL too, or remove it.`);
    }
    return undefined;
  }
  mistakes.push(...urlMistakes(url, own));
  for (const [name, harmless] of BOOKS_SETTINGS) {
    const set = given(name);
    if (set === undefined || text(name) === harmless) continue;
    mistakes.push(`${set} is set beside UPSTREAM_URL, but a gateway has no books of its own. Remove ${set}.`);
  }
  return credential && { url, timeoutMs, credential };
}

/** The kinds of credential, each with its settings. Exactly one is required. */
const CREDENTIALS = [
  ['UPSTREAM_TOKEN'],
  ['UPSTREAM_TOKEN_FILE'],
  ['UPSTREAM_AUTH_URL', 'UPSTREAM_REFRESH_TOKEN_FILE'],
] as const;

/** The credential that is set. Required only beside UPSTREAM_URL. */
function readCredential({ text, mistakes }: EnvironmentReader): UpstreamCredential | undefined {
  const set = CREDENTIALS.filter((names) => names.some((name) => text(name) !== undefined));
  const [token, tokenFile, authUrl, refreshFile] = CREDENTIALS.flat().map(text);
  if (set.length > 1) {
    const names = set.flat().filter((name) => text(name) !== undefined);
    mistakes.push(`${names.join(', ')} are set. Keep one credential.`);
  }
  if (set.length === 0 && text('UPSTREAM_URL') !== undefined) {
    const choices = CREDENTIALS.map((names) => names.join(' with ')).join(', or ');
    mistakes.push(`UPSTREAM_URL is set without a credential. Set ${choices}.`);
  }
  if (token !== undefined) {
    if (!/^[\x21-\x7e]+$/.test(token)) {
      mistakes.push(
        'UPSTREAM_TOKEN contains a character that no header can carry, such as a space. Set the token alone.',
      );
    }
    return { kind: 'token', token };
  }
  if (tokenFile !== undefined) return { kind: 'token-file', file: resolve(tokenFile) };
  if (authUrl === undefined && refreshFile === undefined) return undefined;
  if (authUrl === undefined || refreshFile === undefined) {
    mistakes.push('UPSTREAM_AUTH_URL and UPSTREAM_REFRESH_TOKEN_FILE belong together. Set both.');
    return undefined;
  }
  mistakes.push(...credentialUrlMistakes('UPSTREAM_AUTH_URL', authUrl, 'the refresh token'));
  return { kind: 'session', authUrl, file: resolve(refreshFile) };
}

/** The mistakes in a URL to which a credential is sent. Messages do not repeat the URL, since it may contain a password. */
function credentialUrlMistakes(name: string, text: string, credential: string): string[] {
  if (!URL.canParse(text)) return [`${name} is not a URL. Write it like https://bank.example/banking.`];
  if (!isTrustworthy(text)) {
    return [`${name} must begin with https:// (http only on a loopback address): ${credential} is sent there.`];
  }
  const { username, password, search, hash } = new URL(text);
  return [
    ...(username + password === ''
      ? []
      : [`${name} contains a user name or a password. Remove it, and set a credential.`]),
    ...(search + hash === '' ? [] : [`${name} has a query or a fragment. Remove it: paths are appended to the URL.`]),
  ];
}

function urlMistakes(text: string, { host, port }: OwnAddress): string[] {
  const mistakes = credentialUrlMistakes('UPSTREAM_URL', text, 'the credential');
  if (mistakes.length > 0 || !isOurs(new URL(text), host, port)) return mistakes;
  return [`UPSTREAM_URL is this service itself, on port ${port}. Set it to the other deployment, or set another PORT.`];
}

/** A service that listens on a wildcard address is reachable over loopback too. */
function isOurs(url: URL, host: string, port: number): boolean {
  const theirs = Number(url.port || (url.protocol === 'https:' ? 443 : 80));
  if (theirs !== port) return false;
  const isHere = isLoopback(host) || host === '0.0.0.0' || host === '::';
  return url.hostname === host || (isHere && isLoopback(url.hostname));
}
