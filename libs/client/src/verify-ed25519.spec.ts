import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { componentReader, contentDigest, signatureBase } from './signature-base.js';
import { ed25519Signer, type Ed25519Key, type SignableRequest, SignatureError, verifyEd25519 } from './signing.js';

const ORDER: SignableRequest = {
  method: 'POST',
  url: new URL('https://bank.example/banking/accounts/11/orders?dry=false'),
  headers: { 'Content-Type': 'application/json', 'Workspace-ID': '1', 'Idempotency-Key': 'rent-2026-12' },
  body: new TextEncoder().encode('{"recipientID":3,"amount":"125050"}'),
};
const PARAMETERS = ';created=1618884473;keyid="k";alg="ed25519";nonce="n"';

let keys: { readonly privateKey: Ed25519Key; readonly publicKey: Ed25519Key };

beforeAll(async () => {
  keys = (await crypto.subtle.generateKey('Ed25519', false, ['sign', 'verify'])) as typeof keys;
});

/** Signed with the right key, over components and parameters that the test chooses. */
async function signedOver(components: readonly string[], parameters = PARAMETERS, request = ORDER) {
  const digest = request.body && { 'Content-Digest': await contentDigest(request.body) };
  const written = `(${components.map((component) => `"${component}"`).join(' ')})${parameters}`;
  const base = new TextEncoder().encode(signatureBase(components, written, componentReader(request, { ...digest })));
  const signature = Buffer.from(await crypto.subtle.sign('Ed25519', keys.privateKey, base)).toString('base64');
  return { ...digest, 'Signature-Input': `sig1=${written}`, Signature: `sig1=:${signature}:` };
}
const verify = (headers: Readonly<Record<string, string>>, request = ORDER) =>
  verifyEd25519(request, headers, keys.publicKey);
const refused = async (verified: Promise<unknown>, sentence: string) =>
  expect(verified).rejects.toThrow(new SignatureError(sentence));

const ALL = ['@method', '@path', '@query', 'content-digest', 'workspace-id', 'idempotency-key'];
const UNREAD =
  'The Signature-Input must be one signature over plain components with exactly created, keyid, alg and nonce.';

describe('receiver with the right key', () => {
  it('accepts a signature of all components', async () => {
    expect(await verify(await signedOver(ALL))).toEqual({ keyId: 'k', created: 1618884473, nonce: 'n' });
  });

  it('accepts more components and another order', async () => {
    const components = [...ALL.toReversed(), '@authority', 'content-type'];
    const parameters = ';alg="ed25519";nonce="\\"\\\\";keyid="k k";created=0';

    expect(await verify(await signedOver(components, parameters))).toEqual({ keyId: 'k k', created: 0, nonce: '"\\' });
  });

  it.each(ALL)('refuses a signature without %s', async (component) => {
    const components = ALL.filter((other) => other !== component);

    await refused(verify(await signedOver(components)), `The signature does not cover ${component}.`);
  });

  it('refuses an added empty query, body or workspace', async () => {
    const plain: SignableRequest = { method: 'POST', url: new URL('https://bank.example/a'), headers: {} };
    const headers = await signedOver(['@method', '@path'], PARAMETERS, plain);
    await verify(headers, plain);

    const asking = { ...plain, url: new URL('https://bank.example/a?#b') };
    await refused(verify(headers, asking), 'The signature does not cover @query.');
    const withBody = { ...plain, body: new Uint8Array(1) };
    await refused(verify(headers, withBody), 'The request has a body and no Content-Digest.');
    const more = { ...headers, 'Content-Digest': await contentDigest(withBody.body) };
    await refused(verify(more, withBody), 'The signature does not cover content-digest.');
    const elsewhere = { ...plain, headers: { 'workspace-id': '2' } };
    await refused(verify(headers, elsewhere), 'The signature does not cover workspace-id.');
  });

  it.each(['created', 'keyid', 'alg', 'nonce'])('refuses a signature without the parameter %s', async (name) => {
    const parameters = PARAMETERS.replace(new RegExp(`;${name}=[^;]+`), '');

    await refused(verify(await signedOver(ALL, parameters)), `The signature has no parameter "${name}".`);
  });

  it.each([
    [PARAMETERS.replace('ed25519', 'hmac-sha256'), 'The algorithm of the signature is not "ed25519".'],
    [`${PARAMETERS};created=1618884473`, 'The signature has a parameter twice.'],
    [`${PARAMETERS};expires=1618884474`, UNREAD],
    [`${PARAMETERS};tag="other"`, UNREAD],
    [PARAMETERS.replace(';created', '; created'), UNREAD],
    [PARAMETERS.replace('=1618884473', '=01618884473'), UNREAD],
    [PARAMETERS.replace('=1618884473', '=-1'), UNREAD],
    [PARAMETERS.replace('=1618884473', '="1618884473"'), UNREAD],
    [PARAMETERS.replace('"n"', '""'), UNREAD],
    [PARAMETERS.replace('"n"', '"\\n"'), UNREAD],
    [PARAMETERS.replace('"n"', 'n'), UNREAD],
  ])('refuses the parameters %s', async (parameters, sentence) => {
    await refused(verify(await signedOver(ALL, parameters)), sentence);
  });

  it('refuses a component that is covered twice', async () => {
    await refused(verify(await signedOver([...ALL, '@path'])), 'The signature covers a component twice.');
  });

  it.each(['"@status"', '"@signature-params"', '"x-missing"'])('refuses the component %s', async (name) => {
    const headers = await signedOver(ALL);
    const input = headers['Signature-Input'].replace('"@path"', `"@path" ${name}`);

    const sentence = `The signature covers ${name.slice(1, -1)}, which the request does not have.`;
    await refused(verify({ ...headers, 'Signature-Input': input }), sentence);
  });

  it.each(['"@query-param";name="dry"', '"workspace-id";sf', '"Workspace-ID"', ' ', '""', 'token'])(
    'refuses the list %s',
    async (component) => {
      const headers = await signedOver(ALL);
      const input = headers['Signature-Input'].replace('"@path"', `"@path" ${component}`);

      await refused(verify({ ...headers, 'Signature-Input': input }), UNREAD);
    },
  );

  it('refuses a second signature in any position', async () => {
    const headers = await signedOver(ALL);
    const { 'Signature-Input': input, Signature: signature } = headers;
    const notThe = 'The Signature must have the label of the Signature-Input and 64 bytes of base64.';

    await refused(verify({ ...headers, 'Signature-Input': `${input}, ${input.replace('sig1', 'sig2')}` }), UNREAD);
    await refused(verify({ ...headers, 'Signature-Input': `${input}, ${input}` }), UNREAD);
    await refused(verify({ ...headers, Signature: `${signature}, ${signature.replace('sig1', 'sig2')}` }), notThe);
    await refused(verify({ ...headers, Signature: signature.replace('sig1', 'sig2') }), notThe);
    const twice = { ...headers, signature: signature.replace('sig1=:', 'sig1=:A') };
    await refused(verify(twice), 'The request has two values for signature: send one.');
  });

  it('refuses base64 that is not canonical', async () => {
    const headers = await signedOver(ALL);
    const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
    const other = headers.Signature.replace(/.(?===:$)/, (last) => LETTERS[LETTERS.indexOf(last) + 1] ?? '');
    const bytes = (text: string) => Buffer.from(text.slice('sig1=:'.length), 'base64');
    expect(bytes(other)).toEqual(bytes(headers.Signature));

    await refused(verify({ ...headers, Signature: other }), 'The base64 of the Signature is not canonical.');
  });

  it('refuses another or a second digest', async () => {
    const headers = await signedOver(ALL);
    const digest = headers['Content-Digest'] ?? '';
    for (const other of [digest.replace('256', '512'), `${digest}, ${digest}`, `md5=:AA==:, ${digest}`, '']) {
      await refused(verify({ ...headers, 'Content-Digest': other }), 'The body does not match the Content-Digest.');
    }
  });

  it('refuses a line break in a covered header, like the signer', async () => {
    const request = { ...ORDER, headers: { 'Workspace-ID': '1\n"idempotency-key": x' } };
    const sentence = 'The request has a workspace-id with characters outside printable ASCII.';

    await refused(verify(await signedOver(ALL), request), sentence);
    await refused(ed25519Signer({ keyId: 'k', privateKey: keys.privateKey })(request), sentence);
  });

  it('refuses the signature of another key', async () => {
    const other = (await crypto.subtle.generateKey('Ed25519', false, ['sign', 'verify'])) as typeof keys;

    const verified = verifyEd25519(ORDER, await signedOver(ALL), other.publicKey);
    await refused(verified, 'The signature does not match this request and this key.');
  });

  it('throws a TypeError for a key without the usage verify', async () => {
    await expect(verifyEd25519(ORDER, await signedOver(ALL), keys.privateKey)).rejects.toThrow(
      new TypeError('The key is not an Ed25519 key with the usage "verify": make it with importEd25519Key.'),
    );
  });
});

describe('receiver over HTTP', () => {
  const bodyOf = async (incoming: IncomingMessage) => Buffer.concat(await incoming.toArray());
  const server = createServer((incoming, answer) => {
    const { method = '', url = '', headers } = incoming;
    const own = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
    bodyOf(incoming)
      .then((body) => verifyEd25519({ method, url: new URL(url, origin), headers: own, body }, own, keys.publicKey))
      .then(
        ({ keyId }) => answer.end(keyId),
        (error: Error) => answer.writeHead(401).end(error.message),
      );
  });
  let origin: string;

  beforeAll(async () => {
    await once(server.listen(0, '127.0.0.1'), 'listening');
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    server.closeAllConnections();
    await once(server.close(), 'close');
  });

  it.each([
    ['GET', '/transfers/26', undefined],
    ['GET', '/transfers?cursor=M%C3%BCnchen%2F2+2&from=a|b\'"', undefined],
    ['GET', '/a%2Fb/../c//d;e?', undefined],
    ['POST', '/orders', '{"description":"März"}'],
    ['POST', '/orders/7/cancellation', ''],
    ['POST', '/orders/7/cancellation', undefined],
  ])('verifies the received request %s %s', async (method, path, text) => {
    const body = text === undefined ? undefined : new TextEncoder().encode(text);
    const request = { method, url: new URL(path, origin), headers: { 'Workspace-ID': ' 1' }, body };
    const made = await ed25519Signer({ keyId: 'mine', privateKey: keys.privateKey })(request);

    const headers = { ...request.headers, ...made };
    const answer = await fetch(request.url, { method, headers, ...(body && { body }) });
    expect(await answer.text()).toBe('mine');
    const tampered = { ...headers, 'Workspace-ID': '2' };
    expect((await fetch(request.url, { method, headers: tampered, ...(body && { body }) })).status).toBe(401);
  });
});

describe('signer', () => {
  it('uses the current time and a new nonce for each signature', async () => {
    const sign = ed25519Signer({ keyId: 'k', privateKey: keys.privateKey });
    const before = Math.floor(Date.now() / 1000);
    const [first, second] = [await verify(await sign(ORDER)), await verify(await sign(ORDER))];

    expect(first.created).toBeGreaterThanOrEqual(before);
    expect(first.created).toBeLessThanOrEqual(Date.now() / 1000);
    expect(first.nonce).toMatch(/^[\w-]{22}$/);
    expect(second.nonce).not.toBe(first.nonce);
  });

  it.each(['', 'schlüssel', 'a\nb', 'a\tb', '\u007f', undefined])('refuses the keyId %j', (keyId) => {
    expect(() => ed25519Signer({ keyId: keyId as string, privateKey: keys.privateKey })).toThrow(
      new TypeError('The keyId must be printable ASCII, and not empty.'),
    );
  });

  it('refuses a nonce that no header can carry', async () => {
    const sign = ed25519Signer({ keyId: 'k', privateKey: keys.privateKey, nonce: () => '' });

    await expect(sign(ORDER)).rejects.toThrow(/^The nonce must be printable ASCII/);
  });

  it('refuses an extractable key and a key without the usage sign', async () => {
    const readable = (await crypto.subtle.generateKey('Ed25519', true, ['sign', 'verify'])) as typeof keys;
    const other = await crypto.subtle.generateKey({ name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);

    expect(() => ed25519Signer({ keyId: 'k', privateKey: readable.privateKey })).toThrow(/is extractable/);
    for (const privateKey of [keys.publicKey, other]) {
      expect(() => ed25519Signer({ keyId: 'k', privateKey })).toThrow(/with the usage "sign": make it with importEd/);
    }
  });
});
