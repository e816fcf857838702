import { type Ed25519Key, expectEd25519Key } from './ed25519-key.js';
import type { RequestSigner } from './transport.js';
import { componentReader, contentDigest, requiredComponents, signatureBase } from './signature-base.js';
import { isString, serializeBytes, serializeString } from './structured-fields.js';

export interface Ed25519SignerOptions {
  /** The name of the key at the receiver. Printable ASCII. */
  readonly keyId: string;
  /** Not extractable; `importEd25519Key` makes it. */
  readonly privateKey: Ed25519Key;
  /** For tests. The system clock by default. */
  readonly now?: () => Date;
  /** For tests. 16 random bytes in base64url by default. */
  readonly nonce?: () => string;
}

/**
 * Creates a `signer` for a client. It signs every attempt of a call with HTTP Message Signatures (RFC 9421, `ed25519`).
 *
 * A signature covers method, path, query, the body through `Content-Digest` (RFC 9530), `Workspace-ID` and
 * `Idempotency-Key`, each if present. It does not cover host and token, because proxies change them: use one key for each
 * environment. `created` and `nonce` let the receiver detect a repetition.
 *
 * Requires Ed25519 of WebCrypto. Node 20.19.0 warns once on stderr that it is experimental; 20.20 and 24 do not.
 *
 * @throws TypeError for an invalid keyId or key.
 * @throws SignatureError, from the signer, for a request that cannot be signed.
 */
export function ed25519Signer(options: Ed25519SignerOptions): RequestSigner {
  const { keyId, privateKey, now = () => new Date(), nonce = randomNonce } = options;
  const id = parameter('keyId', keyId);
  expectEd25519Key(privateKey, 'sign');

  return async (request) => {
    const digest = request.body && { 'Content-Digest': await contentDigest(request.body) };
    const read = componentReader(request, { ...digest });
    const components = requiredComponents(request, read);
    const created = Math.floor(now().getTime() / 1000);
    const parameters =
      `(${components.map(serializeString).join(' ')})` +
      `;created=${created};keyid=${id};alg="ed25519";nonce=${parameter('nonce', nonce())}`;
    const base = new TextEncoder().encode(signatureBase(components, parameters, read));
    const signature = await crypto.subtle.sign('Ed25519', privateKey, base);
    return { ...digest, 'Signature-Input': `sig1=${parameters}`, Signature: `sig1=${serializeBytes(signature)}` };
  };
}

function parameter(name: string, value: unknown): string {
  if (isString(value)) return serializeString(value);
  throw new TypeError(`The ${name} must be printable ASCII, and not empty.`);
}

function randomNonce(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}
