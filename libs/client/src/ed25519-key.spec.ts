import { type Ed25519Jwk, importEd25519Key } from './signing.js';

describe('Given Ed25519 keys as JSON', () => {
  let jwk: Ed25519Jwk;

  beforeAll(async () => {
    const pair = await crypto.subtle.generateKey('Ed25519', true, ['sign', 'verify']);
    if (!('privateKey' in pair)) throw new Error('the platform made no pair');
    jwk = await crypto.subtle.exportKey('jwk', pair.privateKey);
  });

  it('When the private one is imported Then it signs and cannot be read out', async () => {
    const key = await importEd25519Key({ ...jwk, alg: 'EdDSA' } as Ed25519Jwk);

    expect([key.type, key.usages, key.extractable]).toEqual(['private', ['sign'], false]);
  });

  it('When the public one is imported Then it verifies', async () => {
    const key = await importEd25519Key({ ...jwk, d: undefined });

    expect([key.type, key.usages, key.extractable]).toEqual(['public', ['verify'], false]);
  });

  it.each([{ kty: 'EC' }, { crv: 'X25519' }, { x: undefined }])(
    'When it has %j Then it says what is needed',
    async (fault) => {
      await expect(importEd25519Key({ ...jwk, ...fault })).rejects.toThrow(
        new TypeError('The JWK is no Ed25519 key: it needs "kty": "OKP", "crv": "Ed25519", "x", and "d" to sign with.'),
      );
    },
  );
});
