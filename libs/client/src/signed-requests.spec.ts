import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import {
  type Ed25519Jwk,
  ed25519Signer,
  importEd25519Key,
  type SignableRequest,
  SignatureError,
  verifyEd25519,
} from './signing.js';

interface Signed {
  readonly request: SignableRequest;
  readonly headers: Readonly<Record<string, string>>;
}

const { key } = JSON.parse(readFileSync(join(__dirname, '../test-vectors/ed25519-signing.json'), 'utf8')) as {
  readonly key: Ed25519Jwk;
};

const ORDER: SignableRequest = {
  method: 'POST',
  url: new URL('https://bank.example/banking/accounts/11/orders?dry=false'),
  headers: { 'Content-Type': 'application/json', 'Workspace-ID': '1', 'Idempotency-Key': 'rent-2026-12' },
  body: new TextEncoder().encode('{"recipientID":3,"amount":"125050"}'),
};

/** The bytes of a text with one byte replaced, inserted or removed. */
interface Change {
  readonly at: number;
  readonly by: string;
  readonly takes: 0 | 1;
}
const changed = (text: string, { at, by, takes }: Change): string => {
  const place = at % (text.length + 1 - takes);
  return text.slice(0, place) + by + text.slice(place + takes);
};
const changes = (characters: string): fc.Arbitrary<Change> => {
  const one = fc.constantFrom(...characters);
  return fc.oneof(
    fc.record({ at: fc.nat(1000), by: one, takes: fc.constantFrom(0 as const, 1 as const) }),
    fc.record({ at: fc.nat(1000), by: fc.constant(''), takes: fc.constant(1 as const) }),
  );
};
const PRINTABLE = Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index)).join('');

const changedHeader = (headers: Readonly<Record<string, string>>, name: string, change: Change) => ({
  ...headers,
  [name]: changed(headers[name] ?? '', change),
});
/** Changes only after the first character, because the host before the slash is not covered. */
const changedUrl = (url: URL, part: 'pathname' | 'search', change: Change): URL => {
  const begins = url.href.lastIndexOf(url[part]) + 1;
  const ends = begins + url[part].length - 1;
  return new URL(url.href.slice(0, begins) + changed(url.href.slice(begins, ends), change) + url.href.slice(ends));
};

/** The parts of a request that can be changed in transit, with the change. */
const PLACES: Readonly<Record<string, (signed: Signed, change: Change) => Signed>> = {
  method: ({ request, headers }, change) => ({
    request: { ...request, method: changed(request.method, change) },
    headers,
  }),
  path: ({ request, headers }, change) => ({
    request: { ...request, url: changedUrl(request.url, 'pathname', change) },
    headers,
  }),
  query: ({ request, headers }, change) => ({
    request: { ...request, url: changedUrl(request.url, 'search', change) },
    headers,
  }),
  body: ({ request, headers }, change) => {
    const text = changed(Buffer.from(request.body ?? []).toString('latin1'), change);
    return { request: { ...request, body: Buffer.from(text, 'latin1') }, headers };
  },
  ...Object.fromEntries(
    ['Workspace-ID', 'Idempotency-Key'].map((name) => [
      name,
      ({ request, headers }: Signed, change: Change) => ({
        request: { ...request, headers: changedHeader(request.headers, name, change) },
        headers,
      }),
    ]),
  ),
  ...Object.fromEntries(
    ['Content-Digest', 'Signature-Input', 'Signature'].map((name) => [
      name,
      ({ request, headers }: Signed, change: Change) => ({ request, headers: changedHeader(headers, name, change) }),
    ]),
  ),
};

/** The request of a receiver. Spaces around the value of a header are not part of the value. */
const seen = ({ request: { method, url, headers: own, body }, headers }: Signed) =>
  JSON.stringify([
    ...[method, url.href, Buffer.from(body ?? []).toString('latin1')],
    ...[own, headers].flatMap((record) => Object.values(record).map((value) => value.trim())),
  ]);

describe('signed order', () => {
  let signed: Signed;
  let verify: (one: Signed) => Promise<unknown>;

  beforeAll(async () => {
    const { kty, crv, x } = key;
    const publicKey = await importEd25519Key({ kty, crv, x });
    verify = ({ request, headers }) => verifyEd25519(request, headers, publicKey);
    signed = {
      request: ORDER,
      headers: await ed25519Signer({ keyId: 'test', privateKey: await importEd25519Key(key) })(ORDER),
    };
  });

  it('is valid without a change', async () => {
    await expect(verify(signed)).resolves.toMatchObject({ keyId: 'test' });
  });

  it.each(Object.keys(PLACES))('is refused after a change of one byte of %s', async (place) => {
    const characters = place === 'path' || place === 'query' ? 'aZ09/.?&=%+~-_' : PRINTABLE;
    await fc.assert(
      fc.asyncProperty(changes(characters), async (change) => {
        const other = PLACES[place]?.(signed, change) ?? signed;
        fc.pre(seen(other) !== seen(signed));
        await expect(verify(other)).rejects.toThrow(SignatureError);
      }),
      { numRuns: 200 },
    );
  });

  it.each(['created', 'nonce', 'keyid'])('is refused after a change of the parameter %s', async (name) => {
    const written = signed.headers['Signature-Input'] ?? '';
    const [whole = '', before = '', value = ''] = new RegExp(`(;${name}="?)([^;"]+)`).exec(written) ?? [];
    await fc.assert(
      fc.asyncProperty(changes('0123456789'), async (change) => {
        const other = written.replace(whole, before + changed(value, change));
        fc.pre(other !== written);
        await expect(verify({ ...signed, headers: { ...signed.headers, 'Signature-Input': other } })).rejects.toThrow(
          SignatureError,
        );
      }),
    );
  });

  it('is refused without one of its headers', async () => {
    for (const name of Object.keys(signed.headers)) {
      const { [name]: _gone, ...headers } = signed.headers;
      await expect(verify({ ...signed, headers })).rejects.toThrow(SignatureError);
    }
    for (const name of ['Workspace-ID', 'Idempotency-Key']) {
      const { [name]: _gone, ...headers } = ORDER.headers;
      await expect(verify({ ...signed, request: { ...ORDER, headers } })).rejects.toThrow(SignatureError);
    }
  });
});

describe('any request with any printable keyId', () => {
  const text = fc.string({ unit: fc.constantFrom(...PRINTABLE), minLength: 1, maxLength: 20 });
  const requests: fc.Arbitrary<SignableRequest> = fc.record({
    method: fc.constantFrom('GET', 'POST', 'PATCH', 'DELETE'),
    url: fc.webUrl({ withQueryParameters: true, validSchemes: ['https'] }).map((url) => new URL(url)),
    headers: fc.dictionary(fc.constantFrom('Workspace-ID', 'idempotency-key', 'Accept'), text),
    body: fc.option(fc.uint8Array(), { nil: undefined }),
  });

  it('is accepted by a receiver that passes all headers together', async () => {
    const privateKey = await importEd25519Key(key);
    const publicKey = await importEd25519Key({ ...key, d: undefined });
    await fc.assert(
      fc.asyncProperty(requests, text, text, fc.nat(4_102_444_800), async (request, keyId, nonce, created) => {
        const options = { keyId, privateKey, now: () => new Date(created * 1000), nonce: () => nonce };
        const made = await ed25519Signer(options)(request);
        const headers = Object.fromEntries(
          Object.entries({ ...request.headers, ...made }).map(([name, value]) => [name.toLowerCase(), value]),
        );
        const received = { ...request, headers, body: request.body ?? new Uint8Array() };
        expect(await verifyEd25519(received, headers, publicKey)).toEqual({ keyId, created, nonce });
      }),
    );
  });
});
