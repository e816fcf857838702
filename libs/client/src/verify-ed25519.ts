import { type Ed25519Key, expectEd25519Key } from './ed25519-key.js';
import type { SignableRequest } from './sending.js';
import { componentReader, contentDigest, requiredComponents, signatureBase } from './signature-base.js';
import { SignatureError } from './signature-error.js';
import { parseSignature, parseSignatureInput } from './structured-fields.js';

/** What a signature that holds says about itself. */
export interface VerifiedSignature {
  /** Compare it with the one you know the key by. */
  readonly keyId: string;
  /** Seconds since 1970, by the clock of whoever signed. */
  readonly created: number;
  readonly nonce: string;
}

/**
 * What a receiver of `ed25519Signer`'s requests does: proves that the holder of the key sent exactly this request.
 *
 * Not that it is sent for the first time: that is the receiver's. Refuse a `created` that is too old or lies ahead, and a
 * `nonce` that the same key has used within that age.
 *
 * Takes other signers' order of components and parameters and further covered headers, and nothing it does not
 * understand: another label beside, another parameter or algorithm, another digest than `sha-256`, a form that is not
 * canonical.
 *
 * @param headers those the signer made; where all headers arrive together, the same object as `request.headers`.
 * @throws SignatureError for everything that proves nothing.
 * @throws TypeError for a key that is no public Ed25519 key.
 */
export async function verifyEd25519(
  request: SignableRequest,
  headers: Readonly<Record<string, string>>,
  publicKey: Ed25519Key,
): Promise<VerifiedSignature> {
  expectEd25519Key(publicKey, 'verify');
  const read = componentReader(request, headers);
  const { label, components, parameters, ...said } = parseSignatureInput(read('signature-input') ?? '');
  const signature = parseSignature(read('signature') ?? '', label);

  await expectDigest(request.body ?? new Uint8Array(), read('content-digest'));
  const uncovered = requiredComponents(request, read).find((component) => !components.includes(component));
  if (uncovered !== undefined) throw new SignatureError(`The signature does not cover ${uncovered}.`);

  const base = new TextEncoder().encode(signatureBase(components, parameters, read));
  if (await crypto.subtle.verify('Ed25519', publicKey, signature, base)) return said;
  throw new SignatureError('The signature is not the one of this request with this key.');
}

/** On the wire an empty body and none are the same, so neither needs a digest; one that is there must be right. */
async function expectDigest(body: Uint8Array, digest: string | undefined): Promise<void> {
  if (digest === undefined && body.byteLength === 0) return;
  if (digest === undefined) throw new SignatureError('The request has a body and no Content-Digest.');
  if (digest !== (await contentDigest(body)))
    throw new SignatureError('The body is not the one of the Content-Digest.');
}
