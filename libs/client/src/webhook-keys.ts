/** A `CryptoKey` of WebCrypto, by a type that the declarations of browsers and of Node share. */
type Key = Parameters<typeof crypto.subtle.sign>[1];

/** A key with the version of its signatures. */
export interface WebhookKey {
  readonly version: 'v1' | 'v1a';
  readonly key: Key;
}

export const ALGORITHMS = { v1: 'HMAC', v1a: 'Ed25519' } as const;

/** The number of bytes of a signature. */
export const SIGNATURE_BYTES = { v1: 32, v1a: 64 } as const;

const HMAC = { name: 'HMAC', hash: 'SHA-256' } as const;

/** What precedes the 32 bytes of an Ed25519 key in PKCS #8 (RFC 8410). */
const PKCS8_HEAD = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];

const HOW_TO_VERIFY = 'A secret is "whsec_" and 24 to 64 bytes in base64, or "whpk_" and the 32 bytes of a public key.';
const HOW_TO_SIGN = 'A secret is "whsec_" and 24 to 64 bytes in base64, or "whsk_" and the 32 bytes of a private key.';

/** @throws TypeError without quoting a secret, unless each is `whsec_…` or `whpk_…` */
export const verificationKeys = (secrets: string | readonly string[]): Promise<WebhookKey[]> =>
  keysOf(secrets, HOW_TO_VERIFY, async (prefix, bytes) => {
    if (prefix === 'whsec' && isSecret(bytes)) return hmacKey(bytes, 'verify');
    if (prefix !== 'whpk' || bytes.byteLength !== 32) return undefined;
    return { version: 'v1a', key: await crypto.subtle.importKey('raw', bytes, 'Ed25519', false, ['verify']) };
  });

/** @throws TypeError without quoting a secret, unless each is `whsec_…` or `whsk_…` */
export const signingKeys = (secrets: string | readonly string[]): Promise<WebhookKey[]> =>
  keysOf(secrets, HOW_TO_SIGN, async (prefix, bytes) => {
    if (prefix === 'whsec' && isSecret(bytes)) return hmacKey(bytes, 'sign');
    if (prefix !== 'whsk' || bytes.byteLength !== 32) return undefined;
    const pkcs8 = new Uint8Array([...PKCS8_HEAD, ...bytes]);
    return { version: 'v1a', key: await crypto.subtle.importKey('pkcs8', pkcs8, 'Ed25519', false, ['sign']) };
  });

type Import = (prefix: string, bytes: Uint8Array<ArrayBuffer>) => Promise<WebhookKey | undefined>;

async function keysOf(secrets: string | readonly string[], form: string, importKey: Import): Promise<WebhookKey[]> {
  const list: readonly unknown[] = typeof secrets === 'string' ? [secrets] : secrets;
  if (list.length === 0) throw new TypeError(`There is no secret. ${form}`);
  return Promise.all(
    list.map(async (secret) => {
      const [, prefix = '', base64 = ''] =
        /^(whsec|whpk|whsk)_(.+)$/.exec(typeof secret === 'string' ? secret : '') ?? [];
      const bytes = bytesOf(base64);
      const key = bytes && (await importKey(prefix, bytes));
      if (key === undefined) throw new TypeError(`A secret has another form. ${form}`);
      return key;
    }),
  );
}

const isSecret = ({ byteLength }: Uint8Array) => byteLength >= 24 && byteLength <= 64;

async function hmacKey(bytes: Uint8Array<ArrayBuffer>, usage: 'sign' | 'verify'): Promise<WebhookKey> {
  return { version: 'v1', key: await crypto.subtle.importKey('raw', bytes, HMAC, false, [usage]) };
}

/** The bytes of canonical base64, so that one signature has one text. @returns undefined for another text */
export function bytesOf(base64: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64) || base64.length % 4 !== 0) return undefined;
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  return base64Of(bytes) === base64 ? bytes : undefined;
}

export const base64Of = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes));
