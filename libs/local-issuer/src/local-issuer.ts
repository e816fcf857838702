import { constants } from 'node:fs';
import { link, mkdir, open, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, SignJWT, type JWK } from 'jose';

/** The `iss` of tokens signed with the key of DATA_DIR. */
export const LOCAL_ISSUER = 'urn:banking:local';

const ALGORITHM = 'ES256';
const KEY_FILE = 'signing-key.json';

/** A signing key that cannot be read or written. Its message says what to do. */
export class LocalIssuerError extends Error {
  override readonly name = 'LocalIssuerError';
}

/** What stands in a token. */
export interface TokenWish {
  /** Stands in the token as verified: whoever can read the key may speak for anyone. */
  readonly email: string;
  readonly audience: string;
  /** At most 24 hours, which is what the service accepts. */
  readonly lifetimeSeconds: number;
}

/**
 * The identity provider of a deployment that has none: a key in DATA_DIR, readable by its owner alone, and tokens signed with it.
 * Made on first use; two processes that start at once agree on one key.
 */
export class LocalIssuer {
  private constructor(
    private readonly key: JWK,
    /** The public half, as a JWK Set (RFC 7517). */
    readonly keySet: { readonly keys: JWK[] },
  ) {}

  /** @throws LocalIssuerError when the key cannot be read, written or understood */
  static async open(dataDir: string): Promise<LocalIssuer> {
    const file = join(dataDir, KEY_FILE);
    const text = (await readKey(dataDir, file)) ?? (await makeKey(dataDir, file));
    try {
      const key = JSON.parse(text) as JWK;
      await importJWK(key, ALGORITHM);
      const { d: _secret, ...shown } = key;
      return new LocalIssuer(key, { keys: [shown] });
    } catch (error) {
      throw new LocalIssuerError(
        `The signing key ${file} is damaged. Remove it and start again: tokens signed with it stop working.`,
        { cause: error },
      );
    }
  }

  /** A JWT access token (RFC 9068) for a user by e-mail. */
  async sign({ email, audience, lifetimeSeconds }: TokenWish): Promise<string> {
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
 * Whoever can write the key can speak for anyone: it is taken only from a file that its owner alone can read, in a folder that its owner
 * alone can write, where the owner is us or whose folder it is.
 */
async function readKey(dataDir: string, file: string): Promise<string | undefined> {
  try {
    const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW);
    try {
      const [key, folder] = [await handle.stat(), await stat(dataDir)];
      if (!key.isFile()) throw new LocalIssuerError(`The signing key ${file} is no file. Remove it and start again.`);
      const isOurs = key.uid === process.getuid?.() || key.uid === folder.uid;
      if (!isOurs || (key.mode & 0o077) !== 0 || (folder.mode & 0o022) !== 0) {
        throw new LocalIssuerError(
          `The signing key ${file} could have been written by others. Remove it, and let nobody else write to its folder (chmod go-w ${dataDir}).`,
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

/** Written whole beside its place, then linked there: whoever links first has made the key for all. */
async function makeKey(dataDir: string, file: string): Promise<string> {
  const { privateKey } = await generateKeyPair(ALGORITHM, { extractable: true });
  const key = await exportJWK(privateKey);
  const text = JSON.stringify({ ...key, alg: ALGORITHM, use: 'sig', kid: await calculateJwkThumbprint(key) });
  const draft = `${file}.${process.pid}.${crypto.randomUUID()}`;
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
    await writeFile(draft, text, { mode: 0o600, flag: 'wx' });
    await link(draft, file);
    return (await readKey(dataDir, file)) ?? text;
  } catch (error) {
    if (error instanceof LocalIssuerError) throw error;
    const theirs = (error as NodeJS.ErrnoException).code === 'EEXIST' ? await readKey(dataDir, file) : undefined;
    if (theirs !== undefined) return theirs;
    throw new LocalIssuerError(`The signing key ${file} cannot be written: ${(error as Error).message}.`, {
      cause: error,
    });
  } finally {
    await rm(draft, { force: true });
  }
}
