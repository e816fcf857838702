import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { EnvironmentReader } from './environment-reader.js';
import { addPasswordFile, PASSWORD_FILE, passwordFrom, isLoopback } from './password-file.js';

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
  /** The same database at the further hosts of the URL, in its order. */
  readonly otherHosts?: readonly string[];
  /** Called for each new connection: the password of a file. */
  readonly password?: () => string;
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

/** The driver prefers these to our name, by which migrations see the release of a process. */
const NAMES = ['application_name', 'fallback_application_name'];

/** The TLS parameters of a URL. `sslnegotiation` is removed too, because every server supports the usual negotiation. */
const TLS_PARAMETERS = ['sslmode', 'ssl', ...Object.values(FILES), 'sslnegotiation', 'uselibpqcompat'];

const TARGET = 'target_session_attrs';

/** Which servers a URL may name, by its values of `target_session_attrs`. */
export interface DatabaseTarget {
  readonly values: readonly string[];
  readonly advice: string;
}

/** Every connection of the service writes. */
const PRIMARY: DatabaseTarget = {
  values: ['read-write', 'primary'],
  advice: 'other than read-write. Every connection of the service writes: set read-write, or remove it.',
};

/** Every connection is to a standby, whichever of these is set: where there is none, the connections of the primary serve. */
export const STANDBY: DatabaseTarget = {
  values: ['standby', 'prefer-standby', 'read-only'],
  advice: 'other than standby. Only a standby is read as a replica: set standby, or remove it.',
};

/** The parts of a URL around its list of hosts, which `new URL` refuses if one before the last has a port. */
const HOST_LIST = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/is;

/**
 * The URL of a PostgreSQL server with an explicit `sslmode`. It may name several hosts, separated by commas, as for libpq. If TLS is
 * required, the URL of another host must have `verify-full`, which is also its default. On this machine TLS is off unless the URL sets it.
 */
export function readDatabaseUrl(
  reader: EnvironmentReader,
  name: string,
  isTlsRequired: boolean,
  target = PRIMARY,
): string | undefined {
  const text = reader.text(name);
  if (text === undefined) {
    addPasswordFile(reader, name, undefined);
    return undefined;
  }
  const urls = urlsOfHosts(text);
  const [first] = urls;
  const mistakes =
    first === undefined
      ? [`is not a URL that begins with postgres:// or postgresql://.`]
      : mistakesInHosts(urls, target);
  if (first === undefined || mistakes.length > 0) {
    reader.mistakes.push(...mistakes.map((mistake) => `${name} ${mistake}`));
    return undefined;
  }
  const mode = statedMode(first) ?? defaultMode(urls, isTlsRequired);
  if (!Object.hasOwn(SSL_MODES, mode)) {
    reader.mistakes.push(`${name} has an unknown sslmode. Set sslmode=verify-full, or remove it.`);
    return undefined;
  }
  if (isTlsRequired && urls.some(isRemote) && mode !== 'verify-full') {
    reader.mistakes.push(
      `${name} names another host with sslmode=${mode}, which does not verify the server. Set sslmode=verify-full or remove ` +
        'sslmode; or set DATABASE_TLS=off to connect without verification.',
    );
  }
  first.searchParams.set('sslmode', mode);
  first.searchParams.delete('ssl');
  addPasswordFile(reader, name, first);
  reader.mistakes.push(...mistakesInFiles(first, name));
  return withHosts(first, urls);
}

/** The connection that a URL describes. A URL of another host without `sslmode` is one with `verify-full`. */
export function connectionTo(databaseUrl: string): DatabaseConnection {
  const urls = urlsOfHosts(databaseUrl);
  const [url] = urls;
  if (url === undefined) throw new Error('the text is not the URL of a PostgreSQL server');
  const mode = statedMode(url) ?? defaultMode(urls, true);
  const files: Record<string, string> = {};
  for (const [option, parameter] of Object.entries(FILES)) {
    const file = fileOf(url, parameter);
    if (file !== undefined) files[option] = readFileSync(file, 'utf8');
  }
  // As in libpq, a CA given beside `require` is used.
  const tls = SSL_MODES[mode === 'require' && files['ca'] !== undefined ? 'verify-ca' : mode];
  if (tls === undefined) throw new Error('the URL has an unknown sslmode');
  const [connectionString = '', ...otherHosts] = urls.map(withoutOurParameters);
  const password = passwordFrom(url);
  return {
    connectionString,
    ...(otherHosts.length > 0 && { otherHosts }),
    ...(password && { password }),
    ssl: tls && { ...tls, ...files },
  };
}

/** The hosts of a URL with their ports, without the login: for messages. */
export function hostsOf(databaseUrl: string): string {
  return urlsOfHosts(databaseUrl)
    .map(({ host }) => host)
    .join(', ');
}

/** One URL for each host; none if the text is not the URL of a PostgreSQL server. */
function urlsOfHosts(text: string): URL[] {
  const [, beginning = '', hosts = '', rest = ''] = HOST_LIST.exec(text) ?? [];
  if (beginning === '') return [];
  const texts = hosts.split(',').map((host) => `${beginning}${host}${rest}`);
  return texts.every((one) => URL.canParse(one)) ? texts.map((one) => new URL(one)) : [];
}

function withHosts({ href }: URL, urls: readonly URL[]): string {
  const [, beginning = '', , rest = ''] = HOST_LIST.exec(href) ?? [];
  return `${beginning}${urls.map(({ host }) => host).join(',')}${rest}`;
}

function withoutOurParameters(url: URL): string {
  const own = new URL(url);
  for (const parameter of [...TLS_PARAMETERS, TARGET, PASSWORD_FILE, ...NAMES]) own.searchParams.delete(parameter);
  // Without a host, the driver would take one from PGHOST.
  if (hostOf(own) === '') own.searchParams.set('host', 'localhost');
  return own.href;
}

function mistakesInHosts(urls: readonly URL[], { values, advice }: DatabaseTarget): string[] {
  const hosts = urls.flatMap(({ searchParams }) => searchParams.getAll('host'));
  const target = urls[0]?.searchParams.getAll(TARGET).at(-1);
  return [
    ...(urls.every(({ hostname }) => isDecodable(hostname))
      ? []
      : ['has a host that is not percent-encoded correctly. Correct it.']),
    ...(urls.length > 1 && urls.some(({ hostname }) => hostname === '')
      ? ['has an empty host between commas. Remove it.']
      : []),
    ...(hosts.some((host) => urls.length > 1 || host.includes(','))
      ? [
          'names several hosts and has the parameter host. Name all of them before the path: postgres://login@a:5432,b:5432/banking.',
        ]
      : []),
    ...(target !== undefined && !values.includes(target) ? [`has a ${TARGET} ${advice}`] : []),
  ];
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

function defaultMode(urls: readonly URL[], isTlsRequired: boolean): string {
  const isWanted = urls.some((url) => (isTlsRequired && isRemote(url)) || url.searchParams.has(FILES.ca));
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
