/** Signatures of requests and their verification: a separate entry, so that a client without a signer does not load it. */
export * from './ed25519-signer.js';
export { type Ed25519Jwk, type Ed25519Key, importEd25519Key } from './ed25519-key.js';
export type { RequestSigner, SignableRequest } from './transport.js';
export * from './signature-error.js';
export * from './verify-ed25519.js';
