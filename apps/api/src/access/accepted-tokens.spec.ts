import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SignJWT, type JWTPayload } from 'jose';
import { LOCAL_ISSUER, LocalIssuer } from '@banking/local-issuer';
import type { CredentialFault } from './credential-fault.js';
import { CredentialError, TokenVerifier } from './token-verifier.js';

const ISSUER = 'https://login.example';
const TOKENS = { audience: 'banking-api', type: 'at+jwt' } as const;

/** The keys of the issuer, by their id. */
const KEYS: Readonly<Record<string, { readonly privateKey: KeyObject; readonly publicKey: KeyObject }>> = {
  RSA: generateKeyPairSync('rsa', { modulusLength: 2_048 }),
  'short RSA': generateKeyPairSync('rsa', { modulusLength: 1_024 }),
  'P-256': generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  'P-384': generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  'P-521': generateKeyPairSync('ec', { namedCurve: 'P-521' }),
  Ed25519: generateKeyPairSync('ed25519'),
};

let dataDir: string;
let verifier: TokenVerifier;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'tokens-'));
  const keys = Object.entries(KEYS).map(([kid, { publicKey }]) => ({ ...publicKey.export({ format: 'jwk' }), kid }));
  const file = join(dataDir, 'keys.json');
  await writeFile(file, JSON.stringify({ keys }));
  verifier = await TokenVerifier.open({
    tokens: { ...TOKENS, source: { kind: 'jwks-file', issuer: ISSUER, file } },
    dataDir,
  });
});
afterAll(() => rm(dataDir, { recursive: true, force: true }));
afterEach(() => jest.useRealTimers());

const now = () => Math.floor(Date.now() / 1000);
const claimsNow = () => ({ iss: ISSUER, aud: TOKENS.audience, sub: 'ada', iat: now(), exp: now() + 600 });

interface Header {
  readonly alg?: string;
  readonly kid?: string;
  readonly typ?: string;
}

/** A valid token with changes. `undefined` removes a claim. */
async function tokenOf(changed: Readonly<Record<string, unknown>> = {}, header: Header = {}): Promise<string> {
  const { alg = 'ES256', kid = 'P-256', typ = TOKENS.type } = header;
  const claims = JSON.parse(JSON.stringify({ ...claimsNow(), ...changed })) as JWTPayload;
  return new SignJWT(claims).setProtectedHeader({ alg, kid, typ }).sign(KEYS[kid]!.privateKey);
}

function stopClocks(): void {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'], now: 1_800_000_000_000 });
}

describe('an accepted token', () => {
  it.each([
    ['RS256', 'RSA'],
    ['RS384', 'RSA'],
    ['RS512', 'RSA'],
    ['PS256', 'RSA'],
    ['PS384', 'RSA'],
    ['PS512', 'RSA'],
    ['ES256', 'P-256'],
    ['ES384', 'P-384'],
    ['ES512', 'P-521'],
    ['EdDSA', 'Ed25519'],
    ['Ed25519', 'Ed25519'],
  ])('may have the algorithm %s', async (alg, kid) => {
    const token = await tokenOf({}, { alg, kid });

    expect(await verifier.subjectOf(token)).toEqual({ issuer: ISSUER, subject: 'ada' });
  });

  it.each([
    ['verified', { email: 'Ada@Bank.Example', email_verified: true }, 'ada@bank.example'],
    ['not verified', { email: 'ada@bank.example', email_verified: false }, undefined],
    ['said to be verified by a text', { email: 'ada@bank.example', email_verified: 'true' }, undefined],
    ['a number', { email: 7, email_verified: true }, undefined],
    ['a list', { email: ['ada@bank.example'], email_verified: true }, undefined],
  ])('identifies its subject by an e-mail that is %s as %j', async (_, claims, email) => {
    expect(await verifier.subjectOf(await tokenOf(claims))).toEqual({ issuer: ISSUER, subject: 'ada', email });
  });

  it('may be expired for less than thirty seconds', async () => {
    stopClocks();

    expect(await verifier.subjectOf(await tokenOf({ exp: now() - 29 }))).toMatchObject({ subject: 'ada' });
  });

  it('may be of the issuer of this machine', async () => {
    const local = await LocalIssuer.open(dataDir);
    const own = await TokenVerifier.open({ tokens: { ...TOKENS, source: { kind: 'local' } }, dataDir });
    const email = 'ada@bank.example';

    const token = await local.sign({ email, audience: TOKENS.audience, lifetimeSeconds: 60 });

    expect(await own.subjectOf(token)).toEqual({ issuer: LOCAL_ISSUER, subject: email, email });
  });
});

describe('a refused token', () => {
  it.each<[string, Readonly<Record<string, unknown>>, Header, string, CredentialFault?]>([
    ['another issuer', { iss: 'https://other.example' }, {}, 'unexpected "iss" claim value'],
    ['another audience', { aud: 'other-api' }, {}, 'unexpected "aud" claim value'],
    ['another type', {}, { typ: 'JWT' }, 'unexpected "typ" JWT header value'],
    ['no expiry', { exp: undefined }, {}, 'missing required "exp" claim'],
    ['no date of issue', { iat: undefined }, {}, 'missing required "iat" claim'],
    ['no subject', { sub: undefined }, {}, 'missing required "sub" claim'],
    ['an empty subject', { sub: '' }, {}, 'the subject is empty'],
    ['a subject that is a number', { sub: 7 }, {}, 'the subject is empty'],
    ['an expiry with a fraction', { exp: now() + 600.5 }, {}, '"exp" is not a whole number of seconds'],
    ['an expiry past the tolerance', { exp: now() - 31 }, {}, '"exp" claim timestamp check failed', 'expired'],
    [
      'a date of issue before yesterday',
      { iat: now() - 86_500 },
      {},
      '"iat" claim timestamp check failed (too far in the past)',
      'expired',
    ],
  ])('has %s', async (_, claims, header, why, fault = 'claim') => {
    const refusal = await verifier.subjectOf(await tokenOf(claims, header)).catch((error: unknown) => error);

    expect(refusal).toBeInstanceOf(CredentialError);
    expect(refusal).toMatchObject({ name: 'CredentialError', message: why, fault });
  });

  it.each([
    [
      'a key id that the issuer does not have',
      { alg: 'ES256', kid: 'other' },
      'no applicable key found in the JSON Web Key Set',
      'unknown_key',
    ],
    [
      'a key that is too short',
      { alg: 'RS256', kid: 'short RSA' },
      'RS256 requires key modulusLength to be 2048 bits or larger',
      'unverifiable',
    ],
  ])('has %s', async (_, named, why, fault) => {
    const [, payload, signature] = (await tokenOf()).split('.');
    const header = Buffer.from(JSON.stringify({ ...named, typ: TOKENS.type })).toString('base64url');

    await expect(verifier.subjectOf([header, payload, signature].join('.'))).rejects.toMatchObject({
      name: 'CredentialError',
      message: why,
      fault,
      cause: { message: why },
    });
  });
});

describe('a verified token', () => {
  /** Stops the clocks, and moves only that of the machine past the expiry of each token. */
  async function verifyThenExpire(lifetimeSeconds: number): Promise<string> {
    stopClocks();
    const token = await tokenOf({ exp: now() + lifetimeSeconds });
    await verifier.subjectOf(token);
    jest.setSystemTime(Date.now() + 3_600_000);
    return token;
  }

  it.each([
    ['a minute', 600, 60_000],
    ['its lifetime, if that is shorter', 10, 10_000],
  ])('is not verified again for %s', async (_, lifetimeSeconds, ttlMs) => {
    const token = await verifyThenExpire(lifetimeSeconds);

    jest.advanceTimersByTime(ttlMs - 1);
    expect(await verifier.subjectOf(token)).toMatchObject({ subject: 'ada' });
    expect(verifier.verifiedSubject(token)).toMatchObject({ subject: 'ada' });
    jest.advanceTimersByTime(1);
    expect(verifier.verifiedSubject(token)).toBeUndefined();
    await expect(verifier.subjectOf(token)).rejects.toBeInstanceOf(CredentialError);
  });

  it('has no known subject before it is verified', async () => {
    expect(verifier.verifiedSubject(await tokenOf({ sub: 'unverified' }))).toBeUndefined();
  });
});
