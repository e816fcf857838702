import { createPublicKey, verify } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { componentReader, signatureBase } from './signature-base.js';
import { ed25519Signer, importEd25519Key, SignatureError, verifyEd25519 } from './signing.js';

interface Vector {
  readonly name: string;
  readonly request: {
    readonly method: string;
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: string;
  };
  readonly signatureBase: string;
  readonly headers: { readonly 'Signature-Input': string; readonly Signature: string };
}

const FILE = join(__dirname, '../test-vectors/ed25519-signing.json');
const { key, keyId, created, nonce, vectors, rfc9421 } = JSON.parse(readFileSync(FILE, 'utf8')) as {
  readonly key: Readonly<Record<'kty' | 'crv' | 'x' | 'd', string>>;
  readonly keyId: string;
  readonly created: number;
  readonly nonce: string;
  readonly vectors: readonly Vector[];
  readonly rfc9421: Vector & { readonly components: readonly string[] };
};

const requestOf = ({ method, url, headers, body }: Vector['request']) => ({
  ...{ method, url: new URL(url), headers },
  ...(body !== undefined && { body: new TextEncoder().encode(body) }),
});
const publicKeyOf = () => importEd25519Key({ kty: key.kty, crv: key.crv, x: key.x });
const bytesOf = (signature: string) => Buffer.from(signature.slice(signature.indexOf(':')), 'base64');

describe('example of RFC 9421, appendix B.2.6', () => {
  const request = requestOf(rfc9421.request);
  const written = rfc9421.headers['Signature-Input'];
  const base = signatureBase(
    rfc9421.components,
    written.slice(written.indexOf('=') + 1),
    componentReader(request, rfc9421.headers),
  );

  it('has the signature base of the RFC', () => {
    expect(base).toBe(rfc9421.signatureBase);
  });

  it('has the signature of the RFC', async () => {
    const bytes = new TextEncoder().encode(base);
    const signature = await crypto.subtle.sign('Ed25519', await importEd25519Key(key), bytes);

    expect(Buffer.from(signature)).toEqual(bytesOf(rfc9421.headers.Signature));
    expect(await crypto.subtle.verify('Ed25519', await publicKeyOf(), signature, bytes)).toBe(true);
  });

  it('is refused for a payment, because it has no algorithm and no nonce', async () => {
    const verified = verifyEd25519(request, rfc9421.headers, await publicKeyOf());

    await expect(verified).rejects.toThrow(new SignatureError('The signature has no parameter "nonce".'));
  });
});

describe.each(vectors)('vector $name', (vector) => {
  const request = requestOf(vector.request);

  it('has exactly these headers for its time and nonce', async () => {
    const privateKey = await importEd25519Key(key);
    const sign = ed25519Signer({ keyId, privateKey, now: () => new Date(created * 1000 + 999), nonce: () => nonce });

    expect(await sign(request)).toEqual(vector.headers);
  });

  it('is valid, with keyId and time', async () => {
    expect(await verifyEd25519(request, vector.headers, await publicKeyOf())).toEqual({ keyId, created, nonce });
  });

  it('is valid without the library', () => {
    const publicKey = createPublicKey({ key: { kty: key.kty, crv: key.crv, x: key.x }, format: 'jwk' });

    const signature = bytesOf(vector.headers.Signature);
    expect(verify(null, Buffer.from(vector.signatureBase), publicKey, signature)).toBe(true);
  });
});
