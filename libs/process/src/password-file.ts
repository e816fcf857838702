import { resolve } from 'node:path';
import { isIP } from 'node:net';
import type { EnvironmentReader } from './environment-reader.js';
import { readSecretFile, SecretFileError } from './secret-file.js';

/** The parameter by which a URL carries the path. Only `addPasswordFile` sets it. */
export const PASSWORD_FILE = 'banking_password_file';

/**
 * Adds the file of `DATABASE_PASSWORD_FILE` to the URL of `DATABASE_URL`, that of `passwordFile` to the `url` of a cell, and so on for
 * other logins. The file is checked now, and read again for each new connection, so that a changed password needs no restart.
 */
export function addPasswordFile(reader: EnvironmentReader, urlName: string, url: URL | undefined): void {
  url?.searchParams.delete(PASSWORD_FILE);
  const name = urlName
    .replace(/URL$/, 'PASSWORD_FILE')
    .replace(/\burl\)$/, 'passwordFile)')
    .replace(/Url\)$/, 'PasswordFile)');
  const path = reader.text(name);
  if (path === undefined) return;
  if (url === undefined) {
    if (reader.given(urlName) === undefined) {
      reader.mistakes.push(`${name} is set without ${urlName}. Set both, or neither.`);
    }
    return;
  }
  if (url.password !== '' || url.searchParams.has('password')) {
    reader.mistakes.push(`${urlName} holds a password and ${name} is set. Remove one of the two passwords.`);
  }
  try {
    readSecretFile(path);
    url.searchParams.set(PASSWORD_FILE, resolve(path));
  } catch (error) {
    if (!(error instanceof SecretFileError)) throw error;
    reader.mistakes.push(`The file that ${name} names ${error.message}. Correct the path, or the file.`);
  }
}

/** The password in the file of a URL, as node-postgres takes it: a function that it calls for each connection. */
export function passwordFrom({ searchParams }: URL): (() => string) | undefined {
  const path = searchParams.get(PASSWORD_FILE);
  if (path === null) return undefined;
  return () => {
    try {
      return readSecretFile(path);
    } catch (error) {
      throw new Error(`The password file ${path} ${(error as Error).message}.`, { cause: error });
    }
  };
}

/** Whether a response from this URL cannot be changed on the way: https, or http on a loopback address. */
export function isTrustworthy(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
}

/** Whether a host, with or without the brackets of a URL, is a loopback address. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, '$1');
  return bare === 'localhost' || bare === '::1' || (isIP(bare) === 4 && bare.startsWith('127.'));
}
