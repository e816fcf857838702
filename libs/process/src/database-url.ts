import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { EnvironmentReader } from './environment-reader.js';
import { isLoopback } from './trustworthy-url.js';

/** TLS of a connection, as `node:tls` takes it. */
interface TlsSettings {
  readonly rejectUnauthorized: boolean;
  readonly checkServerIdentity?: () => undefined;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** Where a PostgreSQL server is. The driver reads nothing about TLS from the URL. */
export interface DatabaseConnection {
  readonly connectionString: string;
  readonly ssl: false | TlsSettings;
}

/** The TLS settings of each `sslmode` of libpq, and of `no-verify` of node-postgres. */
const SSL_MODES: Readonly<Record<string, false | TlsSettings>> = {
  disable: false,
  allow: false,
  prefer: false,
  require: { rejectUnauthorized: false },
  'no-verify': { rejectUnauthorized: false },
  'verify-ca': { rejectUnauthorized: true, checkServerIdentity: () => undefined },
  'verify-full': { rejectUnauthorized: true },
};

/** The values of `ssl`, which node-postgres reads where libpq has `sslmode`. */
const SSL_FLAGS: Readonly<Record<string, string>> = {
  true: 'verify-full',
  '1': 'verify-full',
  false: 'disable',
  '0': 'disable',
  'no-verify': 'no-verify',
};

const FILES = { ca: 'sslrootcert', cert: 'sslcert', key: 'sslkey' } as const;

/** The TLS parameters of a URL. `sslnegotiation` is removed too, because every server supports the usual negotiation. */
const TLS_PARAMETERS = ['sslmode', 'ssl', ...Object.values(FILES), 'sslnegotiation', 'uselibpqcompat'];

/**
 * The URL of a PostgreSQL server with an explicit `sslmode`. If TLS is required, the URL of another host must have
 * `verify-full`, which is also its default. On this machine TLS is off unless the URL sets it.
 */
export function readDatabaseUrl(reader: EnvironmentReader, name: string, isTlsRequired: boolean): string | undefined {
  const text = reader.url(name, ['postgres:', 'postgresql:']);
  if (text === undefined) return undefined;
  const url = new URL(text);
  if (!isDecodable(url.hostname)) {
    reader.mistakes.push(`${name} has a host that is not percent-encoded correctly. Correct it.`);
    return undefined;
  }
  const stated = statedMode(url);
  const mode = stated ?? defaultMode(url, isTlsRequired);
  if (!Object.hasOwn(SSL_MODES, mode)) {
    reader.mistakes.push(`${name} has an unknown sslmode. Set sslmode=verify-full, or remove it.`);
    return undefined;
  }
  if (isTlsRequired && isRemote(url) && mode !== 'verify-full') {
    reader.mistakes.push(
      `${name} names another host with sslmode=${mode}, which does not verify the server. Set sslmode=verify-full or remove ` +
        'sslmode; or set DATABASE_TLS=off to connect without verification.',
    );
  }
  url.searchParams.set('sslmode', mode);
  url.searchParams.delete('ssl');
  reader.mistakes.push(...mistakesInFiles(url, name));
  return url.href;
}

/** The connection that a URL describes. A URL of another host without `sslmode` is one with `verify-full`. */
export function connectionTo(databaseUrl: string): DatabaseConnection {
  const url = new URL(databaseUrl);
  const mode = statedMode(url) ?? defaultMode(url, true);
  const files: Record<string, string> = {};
  for (const [option, parameter] of Object.entries(FILES)) {
    const file = fileOf(url, parameter);
    if (file !== undefined) files[option] = readFileSync(file, 'utf8');
  }
  // As in libpq, a CA given beside `require` is used.
  const tls = SSL_MODES[mode === 'require' && files['ca'] !== undefined ? 'verify-ca' : mode];
  if (tls === undefined) throw new Error('the URL has an unknown sslmode');
  for (const parameter of TLS_PARAMETERS) url.searchParams.delete(parameter);
  // Without a host, the driver would take one from PGHOST.
  if (hostOf(url) === '') url.searchParams.set('host', 'localhost');
  return { connectionString: url.href, ssl: tls && { ...tls, ...files } };
}

/** The host as the driver reads it: the parameter `host` replaces the host of the URL, and its last value counts. */
function hostOf({ searchParams, hostname }: URL): string {
  return searchParams.getAll('host').at(-1) || decodeURIComponent(hostname);
}

function isDecodable(text: string): boolean {
  try {
    return decodeURIComponent(text) !== undefined;
  } catch {
    return false;
  }
}

function isRemote(url: URL): boolean {
  const host = hostOf(url);
  const isSocket = host.startsWith('/');
  return host !== '' && !isSocket && !isLoopback(host);
}

function statedMode({ searchParams }: URL): string | undefined {
  const flag = searchParams.getAll('ssl').at(-1);
  return searchParams.getAll('sslmode').at(-1) ?? (flag === undefined ? undefined : (SSL_FLAGS[flag] ?? 'unknown'));
}

function defaultMode(url: URL, isTlsRequired: boolean): string {
  const isWanted = (isTlsRequired && isRemote(url)) || url.searchParams.has(FILES.ca);
  return isWanted ? 'verify-full' : 'disable';
}

/** The path of a file; undefined if the URL names none, or the certificates of the system. */
function fileOf({ searchParams }: URL, parameter: string): string | undefined {
  const file = searchParams.getAll(parameter).at(-1);
  return file === undefined || (parameter === FILES.ca && file === 'system') ? undefined : file;
}

function mistakesInFiles(url: URL, name: string): string[] {
  return Object.values(FILES).flatMap((parameter) => {
    const file = fileOf(url, parameter);
    if (file === undefined) return [];
    try {
      const content = readFileSync(file);
      if (parameter !== FILES.key) void new X509Certificate(content);
      return [];
    } catch (error) {
      const { syscall, code } = error as NodeJS.ErrnoException;
      const why = syscall === undefined ? 'is not a certificate in PEM form' : `cannot be read (${code})`;
      return [`The file that ${name} names by ${parameter} ${why}. Correct the path, or the file.`];
    }
  });
}
