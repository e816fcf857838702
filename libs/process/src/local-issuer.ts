import { constants } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createPrivateFile } from './data-dir.js';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, SignJWT, type JWK } from 'jose';

/** The `iss` of tokens signed with the key of DATA_DIR. */
export const LOCAL_ISSUER = 'urn:banking:local';

const ALGORITHM = 'ES256';
const KEY_FILE = 'signing-key.json';

/** The signing key cannot be read or written. The message states what to do. */
export class LocalIssuerError extends Error {
  override readonly name = 'LocalIssuerError';
}

/** The claims of a token. */
export interface TokenOptions {
  /** Marked as verified in the token, so anyone who can read the key can act as any user. */
  readonly email: string;
  readonly audience: string;
  /** At most 24 hours, the limit of the service. */
  readonly lifetimeSeconds: number;
}

/**
 * The identity provider of a deployment without one. It signs tokens with a key in DATA_DIR that only its owner can read. The first
 * use creates the key. Processes that start at the same time use the same key.
 */
export class LocalIssuer {
  private constructor(
    private readonly key: JWK,
    /** The public half, as a JWK Set (RFC 7517). */
    readonly keySet: { readonly keys: JWK[] },
  ) {}

  /** @throws LocalIssuerError if the key cannot be read, written or parsed */
  static async open(dataDir: string): Promise<LocalIssuer> {
    const file = join(dataDir, KEY_FILE);
    const text = (await readKey(dataDir, file)) ?? (await createKey(dataDir, file));
    try {
      const key = JSON.parse(text) as JWK;
      await importJWK(key, ALGORITHM);
      const { d: _secret, ...publicKey } = key;
      return new LocalIssuer(key, { keys: [publicKey] });
    } catch (error) {
      throw new LocalIssuerError(
        `The signing key ${file} is damaged. Remove it and start again: tokens signed with it stop working.`,
        { cause: error },
      );
    }
  }

  /** A JWT access token (RFC 9068) for a user by e-mail. */
  async sign({ email, audience, lifetimeSeconds }: TokenOptions): Promise<string> {
    const now = Math.floor(Date.now() / 1000);
    return new SignJWT({ email, email_verified: true })
      .setProtectedHeader({ alg: ALGORITHM, typ: 'at+jwt', kid: this.key.kid ?? '' })
      .setIssuer(LOCAL_ISSUER)
      .setSubject(email)
      .setAudience(audience)
      .setIssuedAt(now)
      .setExpirationTime(now + lifetimeSeconds)
      .setJti(crypto.randomUUID())
      .sign(await importJWK(this.key, ALGORITHM));
  }
}

/**
 * Reads the key; undefined without a file. A process that can write the key can act as any user. So the file must be readable only by
 * its owner, in a folder that only its owner can write. The owner must be this process or the owner of the folder.
 *
 * @throws LocalIssuerError
 */
async function readKey(dataDir: string, file: string): Promise<string | undefined> {
  try {
    const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW);
    try {
      const [key, folder] = [await handle.stat(), await stat(dataDir)];
      if (!key.isFile())
        throw new LocalIssuerError(`The signing key ${file} is not a regular file. Remove it and start again.`);
      const isOurs = key.uid === process.getuid?.() || key.uid === folder.uid;
      if (!isOurs || (key.mode & 0o077) !== 0 || (folder.mode & 0o022) !== 0) {
        throw new LocalIssuerError(
          `Other users could have written the signing key ${file}. Remove it, and make its folder writable only by its owner (chmod go-w ${dataDir}).`,
        );
      }
      return await handle.readFile('utf8');
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (error instanceof LocalIssuerError) throw error;
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new LocalIssuerError(`The signing key ${file} cannot be read: ${(error as Error).message}.`, {
      cause: error,
    });
  }
}

/** Of several processes, the first creates the key, and all use it. */
async function createKey(dataDir: string, file: string): Promise<string> {
  const { privateKey } = await generateKeyPair(ALGORITHM, { extractable: true });
  const key = await exportJWK(privateKey);
  const text = JSON.stringify({ ...key, alg: ALGORITHM, use: 'sig', kid: await calculateJwkThumbprint(key) });
  try {
    await createPrivateFile(dataDir, KEY_FILE, text);
  } catch (error) {
    throw new LocalIssuerError(`The signing key ${file} cannot be written: ${(error as Error).message}.`, {
      cause: error,
    });
  }
  return (await readKey(dataDir, file)) ?? text;
}
