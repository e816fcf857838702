import { type Ed25519Jwk, importEd25519Key } from './signing.js';

describe('imported Ed25519 key', () => {
  let jwk: Ed25519Jwk;

  beforeAll(async () => {
    const pair = await crypto.subtle.generateKey('Ed25519', true, ['sign', 'verify']);
    if (!('privateKey' in pair)) throw new Error('the platform made no pair');
    jwk = await crypto.subtle.exportKey('jwk', pair.privateKey);
  });

  it('signs and is not extractable, if it is private', async () => {
    const key = await importEd25519Key({ ...jwk, alg: 'EdDSA' } as Ed25519Jwk);

    expect([key.type, key.usages, key.extractable]).toEqual(['private', ['sign'], false]);
  });

  it('verifies, if it is public', async () => {
    const key = await importEd25519Key({ ...jwk, d: undefined });

    expect([key.type, key.usages, key.extractable]).toEqual(['public', ['verify'], false]);
  });

  it.each([{ kty: 'EC' }, { crv: 'X25519' }, { x: undefined }])(
    'is refused with the required members for %j',
    async (fault) => {
      await expect(importEd25519Key({ ...jwk, ...fault })).rejects.toThrow(
        new TypeError(
          'The JWK is not an Ed25519 key: it needs "kty": "OKP", "crv": "Ed25519", "x", and "d" for signing.',
        ),
      );
    },
  );
});
