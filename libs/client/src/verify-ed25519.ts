import { type Ed25519Key, expectEd25519Key } from './ed25519-key.js';
import type { SignableRequest } from './transport.js';
import { componentReader, contentDigest, requiredComponents, signatureBase } from './signature-base.js';
import { SignatureError } from './signature-error.js';
import { parseSignature, parseSignatureInput } from './structured-fields.js';

/** The parameters of a valid signature. */
export interface VerifiedSignature {
  /** Compare it with the name of the key. */
  readonly keyId: string;
  /** Seconds since 1970, by the clock of the signer. */
  readonly created: number;
  readonly nonce: string;
}

/**
 * Verifies for a receiver that the owner of the key sent exactly this request.
 *
 * It does not detect a repetition. The receiver must refuse a `created` that is too old or in the future, and a `nonce`
 * that the same key has used within that age.
 *
 * Components, parameters and additional covered headers may have any order. A second label, another parameter or
 * algorithm, a digest other than `sha-256`, and a form that is not canonical are refused.
 *
 * @param headers of the signer; the same object as `request.headers` if all headers arrive together.
 * @throws SignatureError if the signature is not valid for the request.
 * @throws TypeError unless the key is a public Ed25519 key.
 */
export async function verifyEd25519(
  request: SignableRequest,
  headers: Readonly<Record<string, string>>,
  publicKey: Ed25519Key,
): Promise<VerifiedSignature> {
  expectEd25519Key(publicKey, 'verify');
  const read = componentReader(request, headers);
  const { label, components, parameters, ...parameterValues } = parseSignatureInput(read('signature-input') ?? '');
  const signature = parseSignature(read('signature') ?? '', label);

  await expectDigest(request.body ?? new Uint8Array(), read('content-digest'));
  const uncovered = requiredComponents(request, read).find((component) => !components.includes(component));
  if (uncovered !== undefined) throw new SignatureError(`The signature does not cover ${uncovered}.`);

  const base = new TextEncoder().encode(signatureBase(components, parameters, read));
  if (await crypto.subtle.verify('Ed25519', publicKey, signature, base)) return parameterValues;
  throw new SignatureError('The signature does not match this request and this key.');
}

/** A body needs a digest. An empty body and none are the same on the wire, so they need none. */
async function expectDigest(body: Uint8Array, digest: string | undefined): Promise<void> {
  if (digest === undefined && body.byteLength === 0) return;
  if (digest === undefined) throw new SignatureError('The request has a body and no Content-Digest.');
  if (digest !== (await contentDigest(body))) throw new SignatureError('The body does not match the Content-Digest.');
}
