import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';
import type { AnchorSigner } from './write-anchor.js';

/** The id of an Ed25519 public key: the SHA-256 of its SPKI encoding in DER, in hex. */
export function keyIdOf(publicKey: KeyObject): string {
  return createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('hex');
}

/** Reads an Ed25519 public key in PEM; undefined for any other text, also for a private key. */
export function readPublicKey(pem: string): KeyObject | undefined {
  return pem.includes('PRIVATE KEY') ? undefined : ed25519(() => createPublicKey(pem));
}

/** A signer with an Ed25519 private key in PEM; undefined for any other text. */
export function signerWith(pem: string): AnchorSigner | undefined {
  const key = ed25519(() => createPrivateKey(pem));
  if (!key) return undefined;
  const keyId = keyIdOf(createPublicKey(key));
  return { keyId, sign: (text) => Promise.resolve(sign(null, Buffer.from(text), key)) };
}

/** The error of OpenSSL may quote the text, so it is dropped. */
function ed25519(read: () => KeyObject): KeyObject | undefined {
  try {
    const key = read();
    return key.asymmetricKeyType === 'ed25519' ? key : undefined;
  } catch {
    return undefined;
  }
}
