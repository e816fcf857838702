import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { open, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Credential } from '@banking/client';
import type { SessionTokens, TokenStore } from '@banking/client/session';
import { ConfigError } from '@banking/process';

const MAX_BYTES = 16_384;
const TOKEN = /^[\x21-\x7e]+$/;

/**
 * Keeps the tokens of a session in a file that only its owner can read. An operator puts a refresh token there, as it is;
 * from then on it is ours, and each refresh replaces it.
 *
 * The folder must let us make files. A single file that is mounted into a container cannot be replaced: mount its folder.
 */
export class TokenFile implements TokenStore {
  constructor(private readonly path: string) {}

  /** @throws ConfigError for a file that is not there, is open to others, or holds no tokens */
  async read(): Promise<SessionTokens> {
    const { text, mode } = await contentOf(this.path);
    if ((mode & 0o077n) !== 0n) {
      const octal = (mode & 0o777n).toString(8).padStart(4, '0');
      throw mistake(this.path, `is open to others than its owner (mode ${octal}). Run chmod 600 on it`);
    }
    const tokens = tokensIn(text);
    if (tokens === undefined) throw mistake(this.path, 'holds no refresh token. Write one into it, and nothing else');
    return tokens;
  }

  /** Replaces the file whole. When this comes back, a crash leaves the new tokens; before, the old ones or the new ones. */
  async write(tokens: SessionTokens): Promise<void> {
    // Through a link: renaming onto the link itself would leave the old tokens where it leads.
    const path = await realpath(this.path);
    const part = `${path}.${randomUUID()}.part`;
    try {
      const file = await open(part, 'wx', 0o600);
      try {
        await file.writeFile(`${JSON.stringify(tokens)}\n`);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(part, path);
    } catch (error) {
      await rm(part, { force: true });
      throw error;
    }
    // Until then the folder may forget the new name.
    const folder = await open(dirname(path));
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  }
}

/**
 * The access token in a file that something else keeps current, such as a secret mounted by Kubernetes. It is read again
 * when the file has changed, and after a 401. Unlike a refresh token, others may read it: mounted secrets are that way.
 *
 * Its calls throw ConfigError for a file that is not there or holds no token; once there was one, only after a 401.
 */
export function readTokenFile(path: string): Credential {
  let known: { readonly version: string; readonly token: string } | undefined;

  const renewed = async () => {
    const { text, version } = await contentOf(path);
    if (!TOKEN.test(text)) throw mistake(path, 'holds more than a token, or none. Write one into it, and nothing else');
    known = { version, token: text };
    return text;
  };
  const token = async () => {
    if (known === undefined) return renewed();
    try {
      return (await versionOf(path)) === known.version ? known.token : await renewed();
    } catch (error) {
      // It is being written, or gone for a moment: the token we know is good until it is refused.
      if (error instanceof ConfigError) return known.token;
      throw error;
    }
  };
  return { token, renewed };
}

interface Content {
  /** Without what is blank around it. */
  readonly text: string;
  readonly mode: bigint;
  /** Another one after every change. */
  readonly version: string;
}

async function contentOf(path: string): Promise<Content> {
  // Does not wait for somebody to write, if it is a pipe.
  const file = await found(path, open(path, constants.O_RDONLY | constants.O_NONBLOCK));
  try {
    const about = await file.stat({ bigint: true });
    if (!about.isFile()) throw mistake(path, 'is no file. Name one that holds a token');
    if (about.size > MAX_BYTES) throw mistake(path, `is longer than ${MAX_BYTES} bytes, so it holds no token`);
    const { bytesRead, buffer } = await file.read(Buffer.alloc(MAX_BYTES), 0, MAX_BYTES, 0);
    const text = buffer.toString('utf8', 0, bytesRead).trim();
    if (text === '') throw mistake(path, 'is empty. Write a token into it');
    return { text, mode: about.mode, version: versionFrom(about) };
  } finally {
    await file.close();
  }
}

async function versionOf(path: string): Promise<string> {
  return versionFrom(await found(path, stat(path, { bigint: true })));
}

const versionFrom = ({ ino, size, mtimeNs }: { ino: bigint; size: bigint; mtimeNs: bigint }) =>
  [ino, size, mtimeNs].join();

async function found<T>(path: string, asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw mistake(path, code === 'ENOENT' ? 'is not there. Write a token into it' : `cannot be read (${code})`);
  }
}

function mistake(path: string, what: string): ConfigError {
  return new ConfigError([`The token file ${path} ${what}.`]);
}

/** What an operator or we have written; undefined where it is neither. */
function tokensIn(text: string): SessionTokens | undefined {
  if (!text.startsWith('{')) return TOKEN.test(text) ? { refreshToken: text } : undefined;
  let written: Readonly<Record<string, unknown>>;
  try {
    written = JSON.parse(text) as typeof written;
  } catch {
    // Not kept as a cause: it would quote the file.
    return undefined;
  }
  const { refreshToken, accessToken, expiresAt } = written;
  if (!isToken(refreshToken)) return undefined;
  return {
    refreshToken,
    ...(isToken(accessToken) && { accessToken }),
    ...(typeof expiresAt === 'number' && { expiresAt }),
  };
}

function isToken(value: unknown): value is string {
  return typeof value === 'string' && TOKEN.test(value);
}
