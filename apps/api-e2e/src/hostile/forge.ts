import {
  createHmac,
  createPublicKey,
  generateKeyPairSync,
  type JsonWebKey,
  type KeyObject,
  randomUUID,
  sign,
} from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { callOf, type Document, type Route, routesOf } from '../documented/document.js';
import { openApiOf, sendRequest } from '../responses.js';
import { idOf, type Service } from '../service.js';

/** A key of a trusted issuer, and the claims of a valid token of that issuer. */
export interface Mint {
  readonly issuer: string;
  readonly audience: string;
  readonly subject: string;
  /** Claims of this issuer besides the registered ones. */
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly alg: 'ES256' | 'RS256';
  readonly kid: string;
  readonly key: KeyObject;
}

/** The changes of a valid token. `undefined` removes a part. */
export interface Change {
  readonly header?: Readonly<Record<string, unknown>>;
  readonly claims?: Readonly<Record<string, unknown>>;
  /** Returns the third part for the first two. By default, the right key signs. */
  readonly signature?: (input: string) => string;
  /** The last change of the complete token. */
  readonly whole?: (token: string) => string;
}

const encoded = (part: unknown) => Buffer.from(JSON.stringify(part)).toString('base64url');

/** A valid token with changes. */
export function forge(mint: Mint, { header, claims, signature, whole = (token) => token }: Change = {}): string {
  const now = Math.floor(Date.now() / 1000);
  const payload = {
    iss: mint.issuer,
    sub: mint.subject,
    aud: mint.audience,
    iat: now,
    exp: now + 600,
    jti: randomUUID(),
    ...mint.claims,
    ...claims,
  };
  const input = `${encoded({ alg: mint.alg, typ: 'at+jwt', kid: mint.kid, ...header })}.${encoded(payload)}`;
  return whole(`${input}.${signature ? signature(input) : signed(mint, input)}`);
}

const signed = ({ key }: Pick<Mint, 'key'>, input: string, digest: string | null = 'sha256'): string =>
  sign(digest, Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url');

const hmac = (secret: string | Buffer) => (input: string) =>
  createHmac('sha256', secret).update(input).digest('base64url');

/** An attacker with another key and a URL that publishes it. */
interface Attacker {
  readonly key: KeyObject;
  readonly publicJwk: JsonWebKey;
  readonly url: string;
}

function newAttacker(alg: Mint['alg'], url: string): Attacker {
  const { publicKey, privateKey } = newKeyPair(alg);
  return { key: privateKey, publicJwk: publicKey.export({ format: 'jwk' }), url };
}

export const newKeyPair = (alg: Mint['alg']) =>
  alg === 'ES256'
    ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
    : generateKeyPairSync('rsa', { modulusLength: 2048 });

const inSeconds = (offset: number) => Math.floor(Date.now() / 1000) + offset;

/** The tokens that must be rejected, by their fault. */
function forgeries(mint: Mint, attacker: Attacker): Readonly<Record<string, Change>> {
  const publicKey = createPublicKey(mint.key);
  const publicJwk = publicKey.export({ format: 'jwk' }) as JsonWebKey;
  const byAttacker = (input: string) => signed(attacker, input);
  const theirs = { kid: 'theirs' };
  return {
    ...algorithmForgeries(publicKey, publicJwk),
    'a signature with one bit flipped': { whole: flipLastBit },
    'a signature cut short': { whole: (token) => token.slice(0, -4) },
    'another payload under a good signature': { whole: swapPayload },
    'a signature of zeros': { signature: () => Buffer.alloc(64).toString('base64url') },
    'an empty signature': { signature: () => '' },
    'the key of an attacker under our key id': { signature: byAttacker },
    'a key of its own in the header': { header: { ...theirs, jwk: attacker.publicJwk }, signature: byAttacker },
    'a key of its own in the header, under our key id': { header: { jwk: attacker.publicJwk }, signature: byAttacker },
    'a key set of its own to fetch': { header: { ...theirs, jku: `${attacker.url}/keys` }, signature: byAttacker },
    'a key set of its own, under our key id': { header: { jku: `${attacker.url}/keys` }, signature: byAttacker },
    'a certificate of its own to fetch': { header: { ...theirs, x5u: `${attacker.url}/cert` }, signature: byAttacker },
    'a certificate of its own in the header': { header: { ...theirs, x5c: ['MIIB'] }, signature: byAttacker },
    'a key id that is a path': { header: { kid: '../../../../dev/null' }, signature: hmac('') },
    'an unknown key id': { header: { kid: `unknown-${randomUUID()}` } },
    'a key id of a prototype': { header: { kid: '__proto__' } },
    'a key id that is a statement': { header: { kid: "x' union select 'k" }, signature: byAttacker },
    'a key id that is no string': { header: { kid: 7 } },
    'an unsupported critical header': { header: { crit: ['exp'] } },
    'an unencoded payload': { header: { b64: false, crit: ['b64'] } },
    'another type: JWT': { header: { typ: 'JWT' } },
    'another type: an ID token': { header: { typ: 'id+jwt' } },
    'another type: a logout token': { header: { typ: 'logout+jwt' } },
    'no type': { header: { typ: undefined } },
    ...claimForgeries(mint),
  };
}

/** The faults of a token of any issuer. */
function namesOfForgeries(): string[] {
  const { privateKey: key } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const mint: Mint = { issuer: 'urn:x', audience: 'x', subject: 'x', alg: 'ES256', kid: 'x', key };
  return Object.keys(forgeries(mint, { key, publicJwk: {}, url: '' }));
}

function algorithmForgeries(publicKey: KeyObject, publicJwk: JsonWebKey): Record<string, Change> {
  const pem = publicKey.export({ format: 'pem', type: 'spki' });
  const unsigned = { signature: () => '' };
  return {
    'no algorithm: none': { header: { alg: 'none' }, ...unsigned },
    'no algorithm: None': { header: { alg: 'None' }, ...unsigned },
    'no algorithm: nOnE, signed': { header: { alg: 'nOnE' } },
    'no algorithm at all': { header: { alg: undefined } },
    'an empty algorithm': { header: { alg: '' } },
    'an algorithm of the past': { header: { alg: 'RS1' } },
    'an algorithm of another key': { header: { alg: 'ES512' } },
    'our public key as a secret': { header: { alg: 'HS256' }, signature: hmac(pem) },
    'our public key as a secret, without its last line end': {
      header: { alg: 'HS256' },
      signature: hmac(String(pem).trim()),
    },
    'our key set as a secret': { header: { alg: 'HS256' }, signature: hmac(JSON.stringify({ keys: [publicJwk] })) },
    'our key as a secret': { header: { alg: 'HS256' }, signature: hmac(JSON.stringify(publicJwk)) },
    'an empty secret': { header: { alg: 'HS256' }, signature: hmac('') },
  };
}

function claimForgeries({ issuer, audience }: Mint): Record<string, Change> {
  return {
    'no issuer': { claims: { iss: undefined } },
    'another issuer': { claims: { iss: 'https://issuer.example' } },
    'the issuer with a slash more': { claims: { iss: `${issuer}/` } },
    'the issuer in a list': { claims: { iss: [issuer] } },
    'no audience': { claims: { aud: undefined } },
    'an empty list of audiences': { claims: { aud: [] } },
    'an audience that begins as ours': { claims: { aud: `${audience}-evil` } },
    'an audience that is a part of ours': { claims: { aud: audience.slice(0, -1) } },
    'another audience': { claims: { aud: ['account', 'other-api'] } },
    'an empty subject': { claims: { sub: '' } },
    'no subject': { claims: { sub: undefined } },
    'a subject that is no string': { claims: { sub: 1 } },
    'a subject in a list': { claims: { sub: ['a'] } },
    'no expiry': { claims: { exp: undefined } },
    'an expiry long past': { claims: { exp: inSeconds(-3_600), iat: inSeconds(-7_200) } },
    'an expiry just past the tolerance': { claims: { exp: inSeconds(-45), iat: inSeconds(-600) } },
    'an expiry beyond all time': { claims: { exp: 1e300 } },
    'an expiry that is a string': { claims: { exp: String(inSeconds(600)) } },
    'an expiry beyond all times': { claims: { exp: 1e300 } },
    'a date of issue to come': { claims: { iat: inSeconds(3_600), exp: inSeconds(7_200) } },
    'a date of issue days ago': { claims: { iat: inSeconds(-3 * 86_400) } },
    'no date of issue': { claims: { iat: undefined } },
    'a time before which it does not count': { claims: { nbf: inSeconds(3_600) } },
  };
}

/** The last character of base64url carries padding bits; the one before it does not. */
function flipLastBit(token: string): string {
  const bytes = Buffer.from(token.slice(token.lastIndexOf('.') + 1), 'base64url');
  bytes[bytes.length - 1]! ^= 1;
  return `${token.slice(0, token.lastIndexOf('.') + 1)}${bytes.toString('base64url')}`;
}

function swapPayload(token: string): string {
  const [header, payload = '', signature] = token.split('.');
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Record<string, unknown>;
  return [header, encoded({ ...claims, sub: 'someone-else', email: 'eve@southwind.example' }), signature].join('.');
}

/** A read without a workspace, and a change in one. */
const SOME_OPERATIONS = ['listApps', 'placeOrder'];

/** The names of the forgeries, which tests need before an issuer exists. */
const NAMES = namesOfForgeries();

interface Target {
  readonly service: Pick<Service, 'url' | 'world'>;
  /** A trusted key, for a user of Northwind Trading. */
  readonly mint: Mint;
}

/** Every forged token is refused at these operations, with one message and without a request to another host. */
export function refusesForgeries(issuer: string, provide: () => Promise<Target>, operations: 'some' | 'every'): void {
  describe(`tokens forged for ${issuer}`, () => {
    let target: Target;
    let trap: Server;
    let attacker: Attacker;
    let visits = 0;
    const messages = new Set<unknown>();

    beforeAll(async () => {
      target = await provide();
      trap = createServer((_, response) => {
        visits += 1;
        response.end('{"keys":[]}');
      });
      await new Promise<void>((listening) => trap.listen(0, '127.0.0.1', listening));
      const { port } = trap.address() as AddressInfo;
      attacker = newAttacker(target.mint.alg, `http://127.0.0.1:${port}`);
    });

    afterAll(() => new Promise((closed) => trap.close(closed)));

    const requestWith = (path: string, token: string, method = 'GET') => {
      const { service } = target;
      const anyone = { ...service, tokenOf: () => Promise.resolve(token) };
      return sendRequest(anyone, path, {
        method,
        as: 'any user',
        workspace: idOf(service.world, 'workspaces', 'Northwind Trading'),
      });
    };

    it('accepts an unchanged valid token', async () => {
      const response = await requestWith('/apps', forge(target.mint));

      expect(response.status).toBe(200);
    });

    it('accepts a valid token with several audiences that include the service', async () => {
      const token = forge(target.mint, { claims: { aud: ['other-api', target.mint.audience] } });

      expect((await requestWith('/apps', token)).status).toBe(200);
    });

    it.each(NAMES)('refuses %s without a request to another host', async (name) => {
      const token = forge(target.mint, forgeries(target.mint, attacker)[name]);
      const document = (await openApiOf(target.service)) as unknown as Document;
      const routes = routesOf(document).filter(({ operation }) => operation.security.length > 0);
      expect(routes.length).toBeGreaterThan(25);
      const isChosen = ({ operation: { operationId } }: Route) =>
        operations === 'every' || SOME_OPERATIONS.includes(operationId);
      const chosen = routes.filter(isChosen);
      expect(chosen.length).toBeGreaterThanOrEqual(SOME_OPERATIONS.length);

      for (const { method, path } of chosen.map((route) => callOf(route))) {
        const response = await requestWith(path, token, method);

        expect([method, path, response.status]).toEqual([method, path, 401]);
        expect(response.body).toEqual({
          errorCode: 'invalid_request',
          reason: 'not_authenticated',
          message: expect.any(String),
          requestId: response.headers.get('x-request-id'),
        });
        expect(response.headers.get('www-authenticate')).toBe('Bearer');
        messages.add((response.body as { message: unknown }).message);
      }
      expect(visits).toBe(0);
    });

    it('returns the same message for every forged token', () => {
      expect([...messages]).toHaveLength(1);
    });
  });
}
