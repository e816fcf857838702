import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { open, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Credential } from '@banking/client';
import { RefreshTokenSession, type SessionTokens, type TokenStore } from '@banking/client/session';
import { ConfigError } from '@banking/process';
import type { UpstreamCredential } from './upstream-config.js';

const MAX_BYTES = 16_384;
const TOKEN = /^[\x21-\x7e]+$/;

/**
 * Stores the tokens of a session in a file that only its owner can read. An operator writes a refresh token into it. Each refresh
 * replaces the file.
 *
 * The process must be able to create files in the folder. A single file that is mounted into a container cannot be replaced: mount its
 * folder.
 */
export class TokenFile implements TokenStore {
  constructor(private readonly path: string) {}

  /** @throws ConfigError if the file is missing, readable by others, or contains no tokens */
  async read(): Promise<SessionTokens> {
    const { text, mode } = await contentOf(this.path);
    if ((mode & 0o077n) !== 0n) {
      const octal = (mode & 0o777n).toString(8).padStart(4, '0');
      throw mistake(this.path, `is accessible to others than its owner (mode ${octal}). Run chmod 600 on it`);
    }
    const tokens = tokensIn(text);
    if (tokens === undefined) throw mistake(this.path, 'contains no refresh token. Write only the token into it');
    return tokens;
  }

  /** Replaces the file atomically. After the return a crash leaves the new tokens, before it the old or the new ones. */
  async write(tokens: SessionTokens): Promise<void> {
    // Resolves a symbolic link: a rename onto the link itself would leave the old tokens in its target.
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
    // Without this, a crash may lose the rename.
    const folder = await open(dirname(path));
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  }
}

/**
 * The access token in a file that another process keeps current, such as a secret mounted by Kubernetes. It is read again
 * when the file has changed, and after a 401. Unlike a refresh token, it may be readable by others, as mounted secrets are.
 *
 * A call throws ConfigError if the file is missing or contains no token; once a token was read, only after a 401.
 */
export function readTokenFile(path: string): Credential {
  let cached: { readonly version: string; readonly token: string } | undefined;

  const renewed = async () => {
    const { text, version } = await contentOf(path);
    if (!TOKEN.test(text)) throw mistake(path, 'contains no token, or more than a token. Write only the token into it');
    cached = { version, token: text };
    return text;
  };
  const token = async () => {
    if (cached === undefined) return renewed();
    try {
      return (await versionOf(path)) === cached.version ? cached.token : await renewed();
    } catch (error) {
      // The file may be missing while it is replaced. The cached token is used until the upstream refuses it.
      if (error instanceof ConfigError) return cached.token;
      throw error;
    }
  };
  return { token, renewed };
}

interface Content {
  readonly text: string;
  readonly mode: bigint;
  /** Differs after every change. */
  readonly version: string;
}

async function contentOf(path: string): Promise<Content> {
  // Does not wait for a writer if the file is a pipe.
  const file = await existing(path, open(path, constants.O_RDONLY | constants.O_NONBLOCK));
  try {
    const about = await file.stat({ bigint: true });
    if (!about.isFile()) throw mistake(path, 'is no regular file. Name a file that contains a token');
    if (about.size > MAX_BYTES) throw mistake(path, `is longer than ${MAX_BYTES} bytes, so it contains no token`);
    const { bytesRead, buffer } = await file.read(Buffer.alloc(MAX_BYTES), 0, MAX_BYTES, 0);
    const text = buffer.toString('utf8', 0, bytesRead).trim();
    if (text === '') throw mistake(path, 'is empty. Write a token into it');
    return { text, mode: about.mode, version: versionFrom(about) };
  } finally {
    await file.close();
  }
}

async function versionOf(path: string): Promise<string> {
  return versionFrom(await existing(path, stat(path, { bigint: true })));
}

const versionFrom = ({ ino, size, mtimeNs }: { ino: bigint; size: bigint; mtimeNs: bigint }) =>
  [ino, size, mtimeNs].join();

async function existing<T>(path: string, result: Promise<T>): Promise<T> {
  try {
    return await result;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw mistake(path, code === 'ENOENT' ? 'does not exist. Write a token into it' : `cannot be read (${code})`);
  }
}

function mistake(path: string, what: string): ConfigError {
  return new ConfigError([`The token file ${path} ${what}.`]);
}

/** The tokens that an operator or this class has written, if the text has one of those forms. */
function tokensIn(text: string): SessionTokens | undefined {
  if (!text.startsWith('{')) return TOKEN.test(text) ? { refreshToken: text } : undefined;
  let stored: Readonly<Record<string, unknown>>;
  try {
    stored = JSON.parse(text) as typeof stored;
  } catch {
    // The error is dropped because it quotes the file.
    return undefined;
  }
  const { refreshToken, accessToken, expiresAt } = stored;
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

/** The credential for the upstream: a fixed token, a token in a file that another process keeps current, or a session of our own. */
export function credentialFrom(config: UpstreamCredential): Credential {
  switch (config.kind) {
    case 'token': {
      const token = Promise.resolve(config.token);
      return { token: () => token, renewed: () => token };
    }
    case 'token-file':
      return readTokenFile(config.file);
    case 'session':
      return new RefreshTokenSession({ authUrl: config.authUrl, store: new TokenFile(config.file) });
  }
}
