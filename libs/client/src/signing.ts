/**
 * Signing requests, and verifying them as a receiver does: an entry of its own, since a client that does not sign need not
 * load it.
 */
export * from './ed25519-signer.js';
export { type Ed25519Jwk, type Ed25519Key, importEd25519Key } from './ed25519-key.js';
export type { RequestSigner, SignableRequest } from './sending.js';
export * from './signature-error.js';
export * from './verify-ed25519.js';
