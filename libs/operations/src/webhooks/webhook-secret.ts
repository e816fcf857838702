import { generateKeyPairSync, randomBytes } from 'node:crypto';
import type { WebhookSignature } from '@banking/domain';

const SECRET_BYTES = 32;

/** A new secret of an endpoint. */
export interface NewSecret {
  /** What is sealed: the bytes of a secret of v1, or the private key of v1a as PKCS #8 in DER. */
  readonly plain: Uint8Array;
  /** Of v1, for the caller. */
  readonly secret?: string;
  /** Of v1a. */
  readonly publicKey?: string;
}

/** Makes the secret of a scheme of Standard Webhooks. */
export function newSecret(signature: WebhookSignature): NewSecret {
  if (signature === 'v1') {
    const plain = randomBytes(SECRET_BYTES);
    return { plain, secret: `whsec_${plain.toString('base64')}` };
  }
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const { x } = publicKey.export({ format: 'jwk' });
  return {
    plain: privateKey.export({ format: 'der', type: 'pkcs8' }),
    publicKey: `whpk_${Buffer.from(x!, 'base64url').toString('base64')}`,
  };
}
