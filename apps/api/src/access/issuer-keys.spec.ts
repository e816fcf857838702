import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createLocalJWKSet, errors, SignJWT } from 'jose';
import { Refusal } from '@banking/domain';
import { keyFetchChannel } from '@banking/telemetry';
import { discoverKeysOf, fetchKeysOf, IssuerKeys, type KeyReport } from './issuer-keys.js';
import { TokenVerifier } from './token-verifier.js';

describe('IssuerKeys', () => {
  const SECOND_MS = 1_000;
  const MINUTE_MS = 60 * SECOND_MS;
  const HOUR_MS = 60 * MINUTE_MS;
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const TOKEN = { payload: '', signature: '' };

  let nowMs: number;
  let fetches: number;
  let reports: KeyReport[];
  /** What the issuer responds. */
  let respond: () => Promise<{ keys: object[] }>;
  let keys: IssuerKeys;

  const has = (...ids: string[]) =>
    Promise.resolve({ keys: ids.map((kid) => ({ ...publicKey.export({ format: 'jwk' }), kid })) });
  const fail = () => Promise.reject(new Error('down'));
  /** Whether a key is found, or why not. */
  const find = async (kid: string) => {
    try {
      await keys.keyOf({ alg: 'ES256', kid }, TOKEN);
      return 'found';
    } catch (error) {
      return error instanceof errors.JWKSNoMatchingKey ? 'unknown' : (error as { reason: string }).reason;
    }
  };

  beforeEach(() => {
    nowMs = 0;
    fetches = 0;
    reports = [];
    respond = () => has('a');
    keys = new IssuerKeys(
      async () => {
        fetches += 1;
        return createLocalJWKSet(await respond());
      },
      (report) => reports.push(report),
      () => nowMs,
    );
  });

  it('are not fetched again for a key id that two of them have', async () => {
    respond = () => has('a', 'a');
    await find('a');
    nowMs = 9 * MINUTE_MS;

    await expect(keys.keyOf({ alg: 'ES256', kid: 'a' }, TOKEN)).rejects.toBeInstanceOf(errors.JWKSMultipleMatchingKeys);

    expect(fetches).toBe(1);
  });

  it('are reported to the metrics with each fetch', async () => {
    const published: unknown[] = [];
    const listen = (message: unknown) => published.push(message);
    keyFetchChannel.subscribe(listen);
    await find('a');
    nowMs = HOUR_MS;
    respond = fail;
    await find('a');
    keyFetchChannel.unsubscribe(listen);

    expect(published).toEqual([{ isFailing: false }, { isFailing: true }]);
  });

  it.each([fetchKeysOf('https://login.example', 'http://127.0.0.1:1/keys'), discoverKeysOf('http://127.0.0.1:1')])(
    'have the cause in the error of a fetch',
    async (fetchKeys) => {
      await expect(fetchKeys()).rejects.toMatchObject({ cause: { message: 'fetch failed' } });
    },
  );

  it('are fetched once for many tokens, and again after ten minutes', async () => {
    expect(await Promise.all([find('a'), find('a')])).toEqual(['found', 'found']);
    nowMs = 10 * MINUTE_MS - 1;
    await find('a');
    expect(fetches).toBe(1);

    nowMs += 1;
    respond = () => has('b');
    expect([await find('b'), await find('a'), fetches]).toEqual(['found', 'unknown', 2]);
  });

  it('are fetched for unknown key ids once in thirty seconds', async () => {
    await find('a');
    nowMs = 30 * SECOND_MS - 1;
    expect([await find('b'), fetches]).toEqual(['unknown', 1]);

    nowMs += 1;
    const forged = await Promise.all(Array.from({ length: 300 }, () => find(randomUUID())));
    expect([new Set(forged), await find('c'), fetches]).toEqual([new Set(['unknown']), 'unknown', 2]);

    nowMs += 30 * SECOND_MS;
    respond = () => has('a', 'b');
    expect([await find('b'), fetches]).toEqual(['found', 3]);
  });

  it('are used for twelve hours while fetches fail, and fetched once in thirty seconds', async () => {
    await find('a');
    respond = fail;
    const outcomes = { known: new Set<string>(), forged: new Set<string>() };
    for (let count = 0; count < 300; count += 1) {
      nowMs += 4 * SECOND_MS;
      outcomes.known.add(await find('a'));
      outcomes.forged.add(await find(randomUUID()));
    }

    expect(outcomes).toEqual({ known: new Set(['found']), forged: new Set(['unknown', 'unavailable']) });
    // Of 20 minutes, the first tries begin when thirty seconds are over.
    expect([fetches, reports.length]).toEqual([38, 37]);
    expect(reports[0]).toEqual({ why: 'down', usedForS: 12 * 3_600 - 32 });

    nowMs = 12 * HOUR_MS - 1;
    expect(await find('a')).toBe('found');
    nowMs += 1;
    expect(await find('a')).toBe('unavailable');
    respond = () => has('a');
    nowMs += 30 * SECOND_MS;
    expect([await find('a'), reports.at(-1)]).toEqual(['found', {}]);
  });

  it('are found without waiting for an issuer that is silent after a failure', async () => {
    await find('a');
    respond = fail;
    nowMs = 10 * MINUTE_MS;
    await find('a');
    respond = () => new Promise(() => undefined);
    nowMs += MINUTE_MS;

    expect([await find('a'), await find('a'), fetches]).toEqual(['found', 'found', 3]);
  });

  it('are unavailable before the first fetch that succeeds, which is tried again after five seconds', async () => {
    respond = fail;
    expect([await find('a'), await find('a'), fetches]).toEqual(['unavailable', 'unavailable', 1]);
    nowMs = 5 * SECOND_MS;
    respond = () => has('a');

    expect([await find('a'), fetches]).toEqual(['found', 2]);
  });
});

describe('discovery', () => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const KEY_SET = { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'a' }] };
  const DOCUMENT = '/.well-known/openid-configuration';
  const DOCUMENT_BYTES_MAX = 65_536;
  const KEY_SET_BYTES_MAX = 1_048_576;

  const LATE = AbortSignal.abort(new DOMException('too late', 'TimeoutError'));

  type Respond = (request: IncomingMessage, response: ServerResponse) => void;

  let server: Server;
  let issuer: string;
  /** The paths that were requested. */
  let requested: string[];
  /** What the log receives. */
  let reports: KeyReport[];
  /** What the provider responds at a path. */
  let provider: Record<string, Respond>;

  const json =
    (body: unknown, status = 200): Respond =>
    (_, response) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  const redirect =
    (location: string): Respond =>
    (_, response) =>
      response.writeHead(302, { location }).end();
  /** A valid object that takes so many bytes as JSON. */
  const ofSize = (body: object, bytes: number) => {
    const padded = { ...body, padding: '' };
    return { ...padded, padding: 'x'.repeat(bytes - JSON.stringify(padded).length) };
  };

  beforeAll(async () => {
    server = createServer((request, response) => {
      requested.push(request.url ?? '');
      (provider[request.url ?? ''] ?? json({}, 404))(request, response);
    });
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
    issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    server.closeAllConnections();
    return new Promise((closed) => server.close(closed));
  });
  beforeEach(() => {
    requested = [];
    reports = [];
    provider = { [DOCUMENT]: json({ issuer, jwks_uri: `${issuer}/keys` }), '/keys': json(KEY_SET) };
  });
  afterEach(() => {
    jest.restoreAllMocks();
    jest.useRealTimers();
  });

  const openVerifier = (source: { kind: 'discovery' } | { kind: 'jwks-url'; url: string }, of = issuer) =>
    TokenVerifier.open({
      tokens: [{ audience: 'banking-api', type: 'at+jwt', bindsByEmail: true, source: { issuer: of, ...source } }],
      dataDir: '',
      report: (report) => reports.push(report),
    });
  const discovering = (of?: string) => openVerifier({ kind: 'discovery' }, of);
  const fetching = () => openVerifier({ kind: 'jwks-url', url: `${issuer}/keys` });

  const tokenOf = (subject: string, of = issuer, kid = 'a') =>
    new SignJWT()
      .setProtectedHeader({ alg: 'ES256', kid, typ: 'at+jwt' })
      .setIssuer(of)
      .setAudience('banking-api')
      .setSubject(subject)
      .setIssuedAt()
      .setExpirationTime('10m')
      .sign(privateKey);

  /** Why the keys could not be fetched, which the log receives and the caller does not. */
  async function whyUnavailable(verifier: TokenVerifier): Promise<string> {
    const refusal = await verifier.subjectOf(await tokenOf('ada')).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(Refusal);
    expect(refusal).toMatchObject({
      reason: 'unavailable',
      message: 'The identity provider cannot be reached.',
      retryAfterSeconds: 5,
    });
    return reports.at(-1)?.why ?? 'no report';
  }

  describe('an issuer that is discovered', () => {
    it('is asked once for its document and keys', async () => {
      const verifier = await discovering();
      expect(requested).toEqual([]);

      for (const subject of ['ada', 'bob']) {
        expect(await verifier.subjectOf(await tokenOf(subject))).toEqual({ issuer, subject });
      }

      expect(requested).toEqual([DOCUMENT, '/keys']);
    });

    it('may move its keys', async () => {
      jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
      const verifier = await discovering();
      await verifier.subjectOf(await tokenOf('ada'));
      const moved = { keys: KEY_SET.keys.map((key) => ({ ...key, kid: 'b' })) };
      provider = { [DOCUMENT]: json({ issuer, jwks_uri: `${issuer}/moved` }), '/moved': json(moved) };
      jest.advanceTimersByTime(30_000);

      expect(await verifier.subjectOf(await tokenOf('ada', issuer, 'b'))).toMatchObject({ subject: 'ada' });
    });

    it('may end with a slash', async () => {
      const withSlash = `${issuer}/`;
      provider[DOCUMENT] = json({ issuer: withSlash, jwks_uri: `${issuer}/keys` });

      const verifier = await discovering(withSlash);

      expect(await verifier.subjectOf(await tokenOf('ada', withSlash))).toMatchObject({ issuer: withSlash });
    });

    it('may contain slashes', async () => {
      const realm = `${issuer}/realms/bank`;
      provider[`/realms/bank${DOCUMENT}`] = json({ issuer: realm, jwks_uri: `${issuer}/keys` });

      const verifier = await discovering(realm);

      expect(await verifier.subjectOf(await tokenOf('ada', realm))).toMatchObject({ issuer: realm });
    });

    it('may have a document up to the limit', async () => {
      provider[DOCUMENT] = json(ofSize({ issuer, jwks_uri: `${issuer}/keys` }, DOCUMENT_BYTES_MAX));

      expect(await (await discovering()).subjectOf(await tokenOf('ada'))).toMatchObject({ subject: 'ada' });
    });

    it.each<[string, () => Respond, string]>([
      ['missing', () => json({}, 404), 'status 404'],
      [
        'that of another issuer',
        () => json({ issuer: 'https://other.example' }),
        'its issuer is https://other.example',
      ],
      ['without a URL of keys', () => json({ issuer }), 'its jwks_uri is no https URL'],
      [
        'with an http URL of keys',
        () => json({ issuer, jwks_uri: 'http://login.example/keys' }),
        'its jwks_uri is no https URL',
      ],
      [
        'too large',
        () => json(ofSize({ issuer, jwks_uri: `${issuer}/keys` }, DOCUMENT_BYTES_MAX + 1)),
        'The response is larger than 65536 bytes.',
      ],
      ['a redirect', () => redirect(`${issuer}/elsewhere`), 'unexpected redirect'],
    ])('is unavailable if its document is %s', async (_, respond, why) => {
      provider[DOCUMENT] = respond();

      expect(await whyUnavailable(await discovering())).toBe(
        `the discovery document of ${issuer} cannot be read: ${why}. ` +
          'Check OIDC_ISSUER and the network, or set JWKS_URL or JWKS_FILE',
      );
      expect(requested).toEqual([DOCUMENT]);
    });

    it('is unavailable if its document takes too long', async () => {
      jest.spyOn(AbortSignal, 'timeout').mockReturnValue(LATE);

      expect(await whyUnavailable(await discovering())).toContain(' cannot be read: too late. ');
    });

    it('is not asked again within five seconds of a failure', async () => {
      jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
      const verifier = await discovering();
      provider[DOCUMENT] = json({}, 503);
      await whyUnavailable(verifier);
      jest.advanceTimersByTime(4_999);
      await whyUnavailable(verifier);
      expect(requested).toEqual([DOCUMENT]);

      provider[DOCUMENT] = json({ issuer, jwks_uri: `${issuer}/keys` });
      jest.advanceTimersByTime(1);

      expect(await verifier.subjectOf(await tokenOf('ada'))).toMatchObject({ subject: 'ada' });
    });
  });

  describe('keys of a URL', () => {
    it('may be as large as the limit', async () => {
      provider['/keys'] = json(ofSize(KEY_SET, KEY_SET_BYTES_MAX));

      expect(await (await fetching()).subjectOf(await tokenOf('ada'))).toMatchObject({ subject: 'ada' });
    });

    it.each<[string, () => Respond, string]>([
      ['missing', () => json({}, 404), 'status 404'],
      ['redirected', () => redirect(`${issuer}/elsewhere`), 'unexpected redirect'],
      ['no JSON', () => (_, response) => response.end('{"keys":'), 'Unexpected end of JSON input'],
      ['no key set', () => json({ keys: 'a' }), 'JSON Web Key Set malformed'],
      ['too large', () => json(ofSize(KEY_SET, KEY_SET_BYTES_MAX + 1)), 'The response is larger than 1048576 bytes.'],
    ])('are unavailable if they are %s', async (_, respond, why) => {
      provider['/keys'] = respond();

      expect(await whyUnavailable(await fetching())).toBe(
        `the keys of ${issuer} cannot be fetched: ${why}. ` +
          'Check JWKS_URL, or jwks_uri in its discovery document, and the network, or set JWKS_FILE',
      );
    });

    it('are unavailable if they take too long', async () => {
      jest.spyOn(AbortSignal, 'timeout').mockReturnValue(LATE);

      expect(await whyUnavailable(await fetching())).toContain('cannot be fetched: too late. ');
    });

    it('are unavailable if the connection is closed, with the cause', async () => {
      provider['/keys'] = ({ socket }) => socket.destroy();

      expect(await whyUnavailable(await fetching())).not.toContain('fetch failed');
    });
  });
});
