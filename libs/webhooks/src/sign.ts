import { createHmac, createPrivateKey, type KeyObject, sign } from 'node:crypto';

/** What signs a webhook: the secret of `v1`, or the private key of `v1a`. */
export type Signer = (id: string, timestamp: number, body: string) => string;

/** PKCS #8 of Ed25519 without its key, which are the last 32 bytes. */
const PKCS8_OF_ED25519 = Buffer.from('302e020100300506032b657004220420', 'hex');
const SEED_BYTES = 32;

/** Signs with HMAC-SHA256 and each of the secrets. A receiver accepts any signature of the header. */
export function hmacSigner(secrets: readonly Uint8Array[]): Signer {
  return (id, timestamp, body) =>
    secrets
      .map((secret) => `v1,${createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')}`)
      .join(' ');
}

/** Signs with Ed25519 and each of the private keys, given as PKCS #8 in DER, or as the 32 bytes of the key. */
export function ed25519Signer(keys: readonly Uint8Array[]): Signer {
  const signing = keys.map(privateKeyOf);
  return (id, timestamp, body) => {
    const content = Buffer.from(`${id}.${timestamp}.${body}`);
    return signing.map((key) => `v1a,${sign(null, content, key).toString('base64')}`).join(' ');
  };
}

function privateKeyOf(key: Uint8Array): KeyObject {
  const der = key.length === SEED_BYTES ? Buffer.concat([PKCS8_OF_ED25519, key]) : Buffer.from(key);
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
}
