import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';

/** The endpoint that a secret belongs to. A sealed secret is not opened for another one. */
interface SealContext {
  readonly workspaceId: number | bigint;
  readonly endpointId: number | bigint;
}

/** Encrypts the secrets of webhook endpoints for the database. */
export interface SecretSealer {
  /** Encrypts with the first key. */
  seal(plain: Uint8Array, context: SealContext): Uint8Array;
  /** Decrypts with the key that the sealed secret names. @throws SealError */
  open(sealed: Uint8Array, context: SealContext): Uint8Array;
  /** Whether the key that the sealed secret names is here. */
  hasKeyOf(sealed: Uint8Array): boolean;
  /** The ids of the keys that open and do not seal any more. */
  readonly formerKeys: readonly string[];
}

/** A sealed secret that cannot be opened. The message never quotes it. */
export class SealError extends Error {
  override readonly name = 'SealError';
}

const ALGORITHM = 'aes-256-gcm';
const VERSION = 'v1';
const KEY_BYTES = 32;
/** NIST SP 800-38D recommends 96 bits. */
const IV_BYTES = 12;
const TAG_BYTES = 16;
const KEY_ID_LENGTH = 16;

/**
 * A sealer with AES-256-GCM. The first key seals, and every key opens, so that keys can be replaced.
 * A sealed secret is the text `v1:keyId:iv:ciphertext:tag`, its parts in base64url.
 *
 * @param keys at least one, of 32 bytes each
 */
export function secretSealer(keys: readonly Uint8Array[]): SecretSealer {
  const byId = new Map(keys.map((key) => [keyIdOf(key), key]));
  const [first] = keys;
  if (first === undefined || keys.some(({ length }) => length !== KEY_BYTES)) {
    throw new SealError(`A sealer needs keys of ${KEY_BYTES} bytes.`);
  }
  const firstId = keyIdOf(first);
  return {
    seal(plain, context) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv(ALGORITHM, first, iv, { authTagLength: TAG_BYTES }).setAAD(boundTo(context));
      const parts = [iv, Buffer.concat([cipher.update(plain), cipher.final()]), cipher.getAuthTag()];
      return Buffer.from([VERSION, firstId, ...parts.map((part) => part.toString('base64url'))].join(':'), 'ascii');
    },
    open(sealed, context) {
      const { keyId, iv, ciphertext, tag } = partsOf(sealed);
      const key = byId.get(keyId);
      if (!key) throw new SealError('The secret is sealed with a key that WEBHOOK_KEY does not have.');
      try {
        const decipher = createDecipheriv(ALGORITHM, key, iv, { authTagLength: TAG_BYTES });
        decipher.setAAD(boundTo(context)).setAuthTag(tag);
        return Buffer.concat([decipher.update(ciphertext), decipher.final()]);
      } catch {
        throw new SealError('The sealed secret was changed, or belongs to another endpoint.');
      }
    },
    hasKeyOf: (sealed) => byId.has(partsOf(sealed).keyId),
    formerKeys: [...byId.keys()].filter((id) => id !== firstId),
  };
}

/** Names a key without revealing it. */
const keyIdOf = (key: Uint8Array) => createHash('sha256').update(key).digest('hex').slice(0, KEY_ID_LENGTH);

const boundTo = ({ workspaceId, endpointId }: SealContext) => Buffer.from(`${workspaceId}:${endpointId}`, 'ascii');

function partsOf(sealed: Uint8Array) {
  const [version, keyId, ...encoded] = Buffer.from(sealed).toString('latin1').split(':');
  const [iv, ciphertext, tag] = encoded.map((part) => Buffer.from(part, 'base64url'));
  const isWhole = iv?.length === IV_BYTES && ciphertext !== undefined && tag?.length === TAG_BYTES;
  if (version !== VERSION || keyId === undefined || !isWhole || encoded.length !== 3) {
    throw new SealError('The sealed secret has an unknown format.');
  }
  return { keyId, iv, ciphertext, tag };
}
