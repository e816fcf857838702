/** A `CryptoKey` of WebCrypto, under the name it has both in a browser's types and in Node's. */
export type Ed25519Key = Parameters<typeof crypto.subtle.sign>[1];

/** An Ed25519 key as JSON (RFC 8037). With `d` it is the private one. */
export interface Ed25519Jwk {
  readonly kty?: string | undefined;
  readonly crv?: string | undefined;
  /** The 32 bytes of the public key, base64url. */
  readonly x?: string | undefined;
  /** The 32 bytes of the private key, base64url. */
  readonly d?: string | undefined;
}

/**
 * A key to sign with, from a JWK with `d`, or else one to verify with. It cannot be read out again, so drop the JWK.
 *
 * @throws TypeError for a JWK of another kind, without quoting it.
 * @throws DOMException, from the platform, for bytes that are no key, or where there is no Ed25519: browsers have it since
 *   Chrome 137, Firefox 129 and Safari 17.
 */
export async function importEd25519Key({ kty, crv, x, d }: Ed25519Jwk): Promise<Ed25519Key> {
  if (kty !== 'OKP' || crv !== 'Ed25519' || x === undefined) {
    throw new TypeError(
      'The JWK is no Ed25519 key: it needs "kty": "OKP", "crv": "Ed25519", "x", and "d" to sign with.',
    );
  }
  // The key alone: platforms disagree about what `alg` is called, and `key_ops` is what we ask for here.
  const jwk = d === undefined ? { kty, crv, x } : { kty, crv, x, d };
  return crypto.subtle.importKey('jwk', jwk, 'Ed25519', false, [d === undefined ? 'verify' : 'sign']);
}

/** @throws TypeError for a key that cannot do it. */
export function expectEd25519Key(key: Ed25519Key, usage: 'sign' | 'verify'): void {
  if (key.algorithm.name !== 'Ed25519' || !key.usages.includes(usage)) {
    throw new TypeError(`The key is not an Ed25519 key with the usage "${usage}": make it with importEd25519Key.`);
  }
  if (usage === 'sign' && key.extractable) {
    throw new TypeError('The private key can be read out again: make it with importEd25519Key, or extractable: false.');
  }
}
