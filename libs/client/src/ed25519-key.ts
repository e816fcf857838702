/** A `CryptoKey` of WebCrypto, by a type that the declarations of browsers and of Node share. */
export type Ed25519Key = Parameters<typeof crypto.subtle.sign>[1];

/** An Ed25519 key as JSON (RFC 8037). With `d` it is a private key. */
export interface Ed25519Jwk {
  readonly kty?: string | undefined;
  readonly crv?: string | undefined;
  /** The 32 bytes of the public key, base64url. */
  readonly x?: string | undefined;
  /** The 32 bytes of the private key, base64url. */
  readonly d?: string | undefined;
}

/**
 * Imports a signing key from a JWK with `d`, or a verification key from a JWK without it. The key is not extractable, so
 * discard the JWK.
 *
 * @throws TypeError for a JWK of another kind, without quoting it.
 * @throws DOMException, from the platform, for an invalid key, or without Ed25519: browsers have it since Chrome 137,
 *   Firefox 129 and Safari 17.
 */
export async function importEd25519Key({ kty, crv, x, d }: Ed25519Jwk): Promise<Ed25519Key> {
  if (kty !== 'OKP' || crv !== 'Ed25519' || x === undefined) {
    throw new TypeError(
      'The JWK is not an Ed25519 key: it needs "kty": "OKP", "crv": "Ed25519", "x", and "d" for signing.',
    );
  }
  // Without `alg`, whose name differs between platforms, and without `key_ops`, which is set below.
  const jwk = d === undefined ? { kty, crv, x } : { kty, crv, x, d };
  return crypto.subtle.importKey('jwk', jwk, 'Ed25519', false, [d === undefined ? 'verify' : 'sign']);
}

/** @throws TypeError for a key without this usage */
export function expectEd25519Key(key: Ed25519Key, usage: 'sign' | 'verify'): void {
  if (key.algorithm.name !== 'Ed25519' || !key.usages.includes(usage)) {
    throw new TypeError(`The key is not an Ed25519 key with the usage "${usage}": make it with importEd25519Key.`);
  }
  if (usage === 'sign' && key.extractable) {
    throw new TypeError('The private key is extractable: make it with importEd25519Key, or with extractable: false.');
  }
}
