/** A `CryptoKey` of WebCrypto, by a type that the declarations of browsers and of Node share. */
export type WebhookKey = Parameters<typeof crypto.subtle.sign>[1];

/** What signatures of this service begin with: HMAC-SHA256 of Standard Webhooks. */
export const VERSION = 'v1,';

const FORM = 'A secret is "whsec_" and 24 to 64 bytes in base64.';

/** @throws TypeError without quoting a secret, unless each is `whsec_…` */
export async function webhookKeys(
  secrets: string | readonly string[],
  usage: 'sign' | 'verify',
): Promise<readonly WebhookKey[]> {
  const list: readonly unknown[] = typeof secrets === 'string' ? [secrets] : secrets;
  if (list.length === 0) throw new TypeError(`There is no secret. ${FORM}`);
  return Promise.all(
    list.map((secret) => {
      const [, base64 = ''] = /^whsec_(.+)$/.exec(typeof secret === 'string' ? secret : '') ?? [];
      const bytes = bytesOf(base64);
      if (!bytes || bytes.byteLength < 24 || bytes.byteLength > 64) {
        throw new TypeError(`A secret has another form. ${FORM}`);
      }
      return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, [usage]);
    }),
  );
}

/** The bytes of canonical base64, so that one signature has one text. @returns undefined for another text */
export function bytesOf(base64: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64) || base64.length % 4 !== 0) return undefined;
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  return base64Of(bytes) === base64 ? bytes : undefined;
}

export const base64Of = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes));
