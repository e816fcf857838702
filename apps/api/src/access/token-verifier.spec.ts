import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { CompactSign, type JWTPayload, SignJWT } from 'jose';
import type { Refusal } from '@banking/domain';
import { LOCAL_ISSUER, LocalIssuer } from '@banking/process/local-issuer';
import type { KeyReport } from './issuer-keys.js';
import type { TokenConfig } from './token-config.js';
import { CredentialError, type CredentialFault, TokenVerifier } from './token-verifier.js';

describe('accepted tokens', () => {
  const ISSUER = 'https://login.example';
  const TOKENS = { audience: 'banking-api', type: 'at+jwt', bindsByEmail: true } as const;

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
      tokens: [{ ...TOKENS, source: { kind: 'jwks-file', issuer: ISSUER, file } }],
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
      ['said to be verified by a number', { email: 'ada@bank.example', email_verified: -92 }, undefined],
    ])('identifies its subject by an e-mail that is %s as %j', async (_, claims, email) => {
      expect(await verifier.subjectOf(await tokenOf(claims))).toEqual({ issuer: ISSUER, subject: 'ada', email });
    });

    it.each<[string, Readonly<Record<string, unknown>>, Header]>([
      ['several audiences', { aud: ['other-api', TOKENS.audience] }, {}],
      ['the whole media type', {}, { typ: 'application/at+jwt' }],
      ['a beginning in the past', { nbf: now() - 5 }, {}],
      ['times with fractions', { iat: now() - 0.5, nbf: now() - 4.5, exp: now() + 600.5 }, {}],
    ])('may have %s', async (_, claims, header) => {
      expect(await verifier.subjectOf(await tokenOf(claims, header))).toMatchObject({ subject: 'ada' });
    });

    it('may be expired for less than thirty seconds', async () => {
      stopClocks();

      expect(await verifier.subjectOf(await tokenOf({ exp: now() - 29 }))).toMatchObject({ subject: 'ada' });
    });

    it('may be of the issuer of this machine', async () => {
      const local = await LocalIssuer.open(dataDir);
      const own = await TokenVerifier.open({ tokens: [{ ...TOKENS, source: { kind: 'local' } }], dataDir });
      const email = 'ada@bank.example';

      const token = await local.sign({ email, audience: TOKENS.audience, lifetimeSeconds: 60 });

      expect(await own.subjectOf(token)).toEqual({ issuer: LOCAL_ISSUER, subject: email, email });
    });
  });

  describe('the scopes and the sign-in of a token', () => {
    it('are those of this service, and none without one', async () => {
      const scopesOf = async (claims: object) => (await verifier.subjectOf(await tokenOf({ ...claims }))).scopes;

      const text = 'openid orders:create email transfers:read';
      expect(await scopesOf({ scope: text })).toEqual(['orders:create', 'transfers:read']);
      expect(await scopesOf({ scope: ['openid', 'orders:create'] })).toEqual(['orders:create']);
      expect(await scopesOf({ scp: text })).toEqual(['orders:create', 'transfers:read']);
      expect(await scopesOf({ scope: 'openid', scp: ['orders:read'] })).toEqual(['orders:read']);
      for (const other of ['openid profile', '', undefined, [], 'ORDERS:CREATE']) {
        expect(await scopesOf({ scope: other })).toBeUndefined();
      }
    });

    it('are none where a claim has another type, so that such a token allows nothing', async () => {
      for (const wrong of [7, null, true, { 0: 'orders:create' }, ['orders:create', 7]]) {
        for (const name of ['scope', 'scp']) {
          expect((await verifier.subjectOf(await tokenOf({ [name]: wrong }))).scopes).toEqual([]);
        }
      }
    });

    it('are required with OIDC_SCOPES=required: a token without them allows nothing', async () => {
      const source = { kind: 'jwks-file', issuer: ISSUER, file: join(dataDir, 'keys.json') } as const;
      const strict = await TokenVerifier.open({ tokens: [{ ...TOKENS, source }], requiresScopes: true, dataDir });

      expect((await strict.subjectOf(await tokenOf({ scope: 'openid' }))).scopes).toEqual([]);
      expect((await strict.subjectOf(await tokenOf({ scope: 'orders:read' }))).scopes).toEqual(['orders:read']);
    });

    it('are the class and the time of the sign-in, if they are of their types', async () => {
      const signInOf = async (claims: object) => {
        const { acr, authenticatedAtS } = await verifier.subjectOf(await tokenOf({ ...claims }));
        return { acr, authenticatedAtS };
      };

      expect(await signInOf({ acr: 'phr', auth_time: 1_800_000_000 })).toEqual({
        acr: 'phr',
        authenticatedAtS: 1_800_000_000,
      });
      expect(await signInOf({ auth_time: 1_800_000_000.9 })).toEqual({ authenticatedAtS: 1_800_000_000 });
      expect(await signInOf({ acr: ['phr'], auth_time: '1800000000' })).toEqual({});
      expect(await signInOf({ auth_time: 1e300 })).toEqual({});
    });
  });

  describe('of several issuers', () => {
    const OTHER = 'https://staff.example';
    let several: TokenVerifier;
    beforeAll(async () => {
      const file = join(dataDir, 'other.json');
      const jwk = { ...KEYS['P-384']!.publicKey.export({ format: 'jwk' }), kid: 'P-384' };
      await writeFile(file, JSON.stringify({ keys: [jwk] }));
      const first = { kind: 'jwks-file', issuer: ISSUER, file: join(dataDir, 'keys.json') } as const;
      const second = { kind: 'jwks-file', issuer: OTHER, file } as const;
      several = await TokenVerifier.open({
        tokens: [
          { ...TOKENS, source: first },
          { ...TOKENS, audience: 'staff-api', bindsByEmail: false, source: second },
        ],
        dataDir,
      });
    });

    const ofOther = { iss: OTHER, aud: 'staff-api', email: 'ada@bank.example', email_verified: true };
    const faultOf = (token: string) =>
      several.subjectOf(token).then(
        () => 'accepted',
        (error: CredentialError) => error.fault,
      );

    it('each has its keys, its audience and its subjects', async () => {
      const other = await tokenOf(ofOther, { alg: 'ES384', kid: 'P-384' });

      expect(await several.subjectOf(await tokenOf())).toEqual({ issuer: ISSUER, subject: 'ada' });
      expect(await several.subjectOf(other)).toMatchObject({ issuer: OTHER, subject: 'ada' });
    });

    it('one that may not bind by e-mail says so in its subjects', async () => {
      const email = { email: 'ada@bank.example', email_verified: true };
      const other = await several.subjectOf(await tokenOf(ofOther, { alg: 'ES384', kid: 'P-384' }));

      expect(await several.subjectOf(await tokenOf(email))).not.toHaveProperty('bindsByEmail');
      expect(other).toMatchObject({ email: 'ada@bank.example', bindsByEmail: false });
    });

    it('none can sign for another, and a further one is refused', async () => {
      expect(await faultOf(await tokenOf({ ...ofOther, iss: ISSUER }, { alg: 'ES384', kid: 'P-384' }))).toBe(
        'audience',
      );
      expect(await faultOf(await tokenOf(ofOther))).toBe('unknown_key');
      expect(await faultOf(await tokenOf({ ...ofOther, aud: TOKENS.audience }, { alg: 'ES384', kid: 'P-384' }))).toBe(
        'audience',
      );
      for (const iss of ['https://evil.example', undefined, 7])
        expect(await faultOf(await tokenOf({ iss }))).toBe('issuer');
      expect(await faultOf('a.b.c')).toBe('malformed');
    });
  });

  describe('a refused token', () => {
    it.each<[string, Readonly<Record<string, unknown>>, Header, CredentialFault]>([
      ['another issuer', { iss: 'https://other.example' }, {}, 'issuer'],
      ['another audience', { aud: 'other-api' }, {}, 'audience'],
      ['another type', {}, { typ: 'JWT' }, 'type'],
      ['no expiry', { exp: undefined }, {}, 'exp'],
      ['no date of issue', { iat: undefined }, {}, 'iat'],
      ['no subject', { sub: undefined }, {}, 'sub'],
      ['an empty subject', { sub: '' }, {}, 'sub'],
      ['a subject with NUL', { sub: 'a\0b' }, {}, 'sub'],
      ['a subject with half of a surrogate pair', { sub: 'a\ud800b' }, {}, 'sub'],
      ['a subject that is a number', { sub: 7 }, {}, 'sub'],
      ['an issuer that is an object', { iss: { a: ISSUER } }, {}, 'issuer'],
      ['an audience that is a number', { aud: 0 }, {}, 'audience'],
      ['an expiry that is a text', { exp: 'exp' }, {}, 'exp'],
      ['an expiry beyond 2^53 - 1', { exp: 2 ** 53 }, {}, 'exp'],
      ['a date of issue in the future', { iat: now() + 600 }, {}, 'iat'],
      ['a beginning that is a text', { nbf: 'nbf' }, {}, 'not_yet_valid'],
      ['an expiry past the tolerance', { exp: now() - 31 }, {}, 'expired'],
      ['a date of issue before yesterday', { iat: now() - 86_500 }, {}, 'expired'],
      ['a beginning in the future', { nbf: now() + 600 }, {}, 'not_yet_valid'],
      ['the thumbprint of a key', { cnf: { jkt: 'a' } }, {}, 'proof_required'],
      ['the thumbprint of a certificate', { cnf: { 'x5t#S256': 'a' } }, {}, 'proof_required'],
      ['a confirmation without content', { cnf: null }, {}, 'proof_required'],
    ])('has %s', async (_, claims, header, fault) => {
      const refusal = await verifier.subjectOf(await tokenOf(claims, header)).catch((error: unknown) => error);

      expect(refusal).toBeInstanceOf(CredentialError);
      expect(refusal).toMatchObject({ name: 'CredentialError', message: fault, fault });
    });

    it('has a signature of another token, with the error of its verification', async () => {
      const [[header, payload], [, , signature]] = [
        (await tokenOf()).split('.'),
        (await tokenOf({ sub: 'eve' })).split('.'),
      ];
      const refusal = await verifier.subjectOf([header, payload, signature].join('.')).catch((error: unknown) => error);

      expect(refusal).toMatchObject({ fault: 'signature', cause: { code: 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED' } });
    });

    it('has an algorithm with a shared secret', async () => {
      const token = await new SignJWT(claimsNow())
        .setProtectedHeader({ alg: 'HS256', kid: 'P-256', typ: TOKENS.type })
        .sign(Buffer.alloc(32));

      await expect(verifier.subjectOf(token)).rejects.toMatchObject({ fault: 'algorithm' });
    });

    it('has a payload that is no object', async () => {
      const token = await new CompactSign(Buffer.from('[]'))
        .setProtectedHeader({ alg: 'ES256', kid: 'P-256', typ: TOKENS.type })
        .sign(KEYS['P-256']!.privateKey);

      await expect(verifier.subjectOf(token)).rejects.toMatchObject({ fault: 'malformed' });
    });

    it.each([
      ['a key id that the issuer does not have', { alg: 'ES256', kid: 'other' }, 'unknown_key'],
      ['a key that is too short', { alg: 'RS256', kid: 'short RSA' }, 'unverifiable'],
      [
        'a critical header that is not known',
        { alg: 'ES256', kid: 'P-256', crit: ['canary'], canary: 1 },
        'unsupported',
      ],
      ['a critical header that is a number', { alg: 'ES256', kid: 'P-256', crit: [0] }, 'malformed'],
      ['an algorithm that is a number', { alg: 900_992, kid: 'P-256' }, 'malformed'],
    ])('has %s', async (_, named, fault) => {
      const [, payload, signature] = (await tokenOf()).split('.');
      const header = Buffer.from(JSON.stringify({ ...named, typ: TOKENS.type })).toString('base64url');

      await expect(verifier.subjectOf([header, payload, signature].join('.'))).rejects.toMatchObject({
        name: 'CredentialError',
        message: fault,
        fault,
      });
    });
  });

  describe('a token that no issuer signed', () => {
    it('is refused, and is no other error', async () => {
      const base64url = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
      const headers = fc.oneof(
        fc.record({
          alg: fc.constantFrom('ES256', 'RS256', 'none'),
          kid: fc.constantFrom(...Object.keys(KEYS)),
          typ: fc.constant(TOKENS.type),
        }),
        fc.jsonValue(),
      );
      const parts = fc
        .tuple(headers, fc.oneof(fc.constant(claimsNow()), fc.jsonValue()), fc.uint8Array({ maxLength: 256 }))
        .map(([header, claims, signature]) =>
          [base64url(header), base64url(claims), Buffer.from(signature).toString('base64url')].join('.'),
        );

      await fc.assert(
        fc.asyncProperty(
          fc.oneof({ weight: 3, arbitrary: parts }, fc.string(), fc.stringMatching(/^[\w.-]{0,40}$/)),
          async (token) => {
            await expect(verifier.subjectOf(token)).rejects.toBeInstanceOf(CredentialError);
          },
        ),
        { numRuns: 300, examples: [['e'], ['n/I.e.'], ['a.b.c'], ['..']] },
      );
    });
  });

  describe('with the type JWT', () => {
    let plain: TokenVerifier;
    beforeAll(async () => {
      const source = { kind: 'jwks-file', issuer: ISSUER, file: join(dataDir, 'keys.json') } as const;
      plain = await TokenVerifier.open({ tokens: [{ ...TOKENS, type: 'JWT', source }], dataDir });
    });

    it.each([[{}], [{ typ: 'Bearer' }], [{ token_use: 'access', azp: 'app', sid: 's' }]])(
      'an access token with %j is accepted',
      async (claims) => {
        expect(await plain.subjectOf(await tokenOf(claims, { typ: 'JWT' }))).toMatchObject({ subject: 'ada' });
      },
    );

    it.each([
      [{ nonce: 'n' }],
      [{ nonce: null }],
      [{ at_hash: 'h' }],
      [{ c_hash: 'h' }],
      [{ s_hash: 'h' }],
      [{ events: { 'http://schemas.openid.net/event/backchannel-logout': {} } }],
      [{ typ: 'ID' }],
      [{ typ: 'Refresh' }],
      [{ typ: 'Offline' }],
      [{ typ: 'Logout' }],
      [{ typ: ['Bearer'] }],
      [{ token_use: 'id' }],
    ])('a token with %j is refused', async (claims) => {
      await expect(plain.subjectOf(await tokenOf(claims, { typ: 'JWT' }))).rejects.toMatchObject({
        fault: 'no_access_token',
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
      ['its lifetime in whole seconds', 10.9, 10_000],
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
      const token = await tokenOf({ sub: 'unverified' });
      expect([verifier.verifiedSubject(token), verifier.originOf(token)]).toEqual([undefined, undefined]);
    });

    it.each([
      [{ jti: 't', client_id: 'app', azp: 'other' }, 't', 'app'],
      [{ azp: 'other' }, undefined, 'other'],
      [{ jti: 7, client_id: 8 }, undefined, undefined],
    ])('with %j has its origin', async (claims, tokenId, clientId) => {
      const token = await tokenOf(claims);
      await verifier.subjectOf(token);

      expect(verifier.originOf(token)).toEqual({ issuer: ISSUER, subject: 'ada', tokenId, clientId });
    });

    it('may have a nonce if its header says that it is an access token', async () => {
      expect(await verifier.subjectOf(await tokenOf({ nonce: 'n' }))).toMatchObject({ subject: 'ada' });
    });
  });
});

describe('token verifier', () => {
  describe('TokenVerifier with JWKS_FILE', () => {
    let dataDir: string;

    beforeAll(async () => {
      dataDir = await mkdtemp(join(tmpdir(), 'keys-'));
    });
    afterAll(() => rm(dataDir, { recursive: true, force: true }));

    it.each([
      ['does not exist', undefined, 'cannot be read (ENOENT)'],
      ['is truncated', '{"keys":[', 'is no JSON'],
      ['contains no keys', '{"keys":[]}', 'has no "keys"'],
      ['contains null', 'null', 'has no "keys"'],
      ['is no object', '["keys"]', 'has no "keys"'],
      ['may be written by other users', '{"keys":[{}]}', 'can be written by other users (run chmod go-w on it)', 0o666],
    ])('fails the start if the file %s', async (_what, text, why, mode = 0o600) => {
      const file = join(dataDir, 'keys.json');
      if (text !== undefined) await writeFile(file, text);
      if (text !== undefined) await chmod(file, mode);
      const source = { kind: 'jwks-file', issuer: 'https://login.example', file } as const;
      const tokens: readonly TokenConfig[] = [{ audience: 'banking-api', type: 'at+jwt', bindsByEmail: true, source }];

      const work = TokenVerifier.open({ tokens, dataDir });

      await expect(work).rejects.toMatchObject({ mistakes: [`JWKS_FILE ${file} ${why}.`] });
    });
  });

  describe('TokenVerifier with an unreachable issuer', () => {
    const issuer = 'http://127.0.0.1:1';
    const header = Buffer.from('{"alg":"ES256","kid":"a","typ":"at+jwt"}').toString('base64url');
    const token = `${header}.e30.${Buffer.alloc(64).toString('base64url')}`;

    it.each([
      [
        'found by discovery',
        { kind: 'discovery', issuer },
        /^the discovery document of http:\/\/127\.0\.0\.1:1 cannot be read: .+\. Check OIDC_ISSUER and the network, or /,
      ],
      [
        'named by a URL',
        { kind: 'jwks-url', issuer, url: `${issuer}/keys` },
        /^the keys of http:\/\/127\.0\.0\.1:1 cannot be fetched: .+\. Check JWKS_URL, or .+, or set JWKS_FILE$/,
      ],
    ] as const)('logs the cause and the action if the keys are %s, and tells the caller neither', async (...row) => {
      const [, source, why] = row;
      const reports: KeyReport[] = [];
      const verifier = await TokenVerifier.open({
        tokens: [{ audience: 'a', type: 'at+jwt', bindsByEmail: true, source }],
        dataDir: '',
        report: (report) => reports.push(report),
      });

      const refusal = await verifier.subjectOf(token).then(
        () => undefined,
        (error: Refusal) => error,
      );

      expect(refusal).toMatchObject({ reason: 'unavailable' });
      expect(refusal?.message).toBe('The identity provider cannot be reached.');
      expect(refusal?.cause).toBeUndefined();
      expect(reports).toEqual([{ why: expect.stringMatching(why), usedForS: 0 }]);
    });

    it.each(['HS256', 'HS512', 'none', 'RS1'])('refuses the algorithm %s without a request for keys', async (alg) => {
      const forged = `${Buffer.from(JSON.stringify({ alg, kid: 'a', typ: 'at+jwt' })).toString('base64url')}.e30.AAAA`;
      const source = { kind: 'jwks-url', issuer, url: `${issuer}/keys` } as const;
      const verifier = await TokenVerifier.open({
        tokens: [{ audience: 'a', type: 'at+jwt', bindsByEmail: true, source }],
        dataDir: '',
      });

      // A request for keys would fail as `unavailable`.
      await expect(verifier.subjectOf(forged)).rejects.toBeInstanceOf(CredentialError);
    });
  });
});
