import { inspect } from 'node:util';
import { RefreshTokenSession, type RefreshTokenSessionOptions } from './refresh-token-session.js';
import { SessionError, memoryStore } from './credentials.js';
import { failureOf, TestTokenStore } from './testing/rotating-auth.js';
import { responds, hangs, type ScriptedService, scriptedService } from './testing/scripted-service.js';

const REFRESH_TOKEN = 'the-refresh-token';
const TOKENS = { accessToken: 'the-access-token', refreshToken: 'the-next-refresh-token' };

let service: ScriptedService;
let authUrl: string;

beforeEach(async () => {
  service = await scriptedService();
  service.script(responds(200, TOKENS));
  authUrl = service.url;
});

afterEach(() => service.close());

const sessionWith = (options: Partial<RefreshTokenSessionOptions> = {}) =>
  new RefreshTokenSession({ authUrl, store: memoryStore(REFRESH_TOKEN), ...options });
/** All text of a value that a logger can read. */
const shown = (value: unknown) => inspect(value, { depth: null, showHidden: true }) + JSON.stringify(value);

describe('successful refresh', () => {
  it.each(['', '/', '/auth', '/auth/'])('sends one POST with the token for the base %p', async (path) => {
    expect(await sessionWith({ authUrl: new URL(path, authUrl) }).token()).toBe(TOKENS.accessToken);

    expect(service.received).toEqual([
      {
        method: 'POST',
        url: `${path.replace(/\/$/, '')}/sessions/tokens`,
        headers: expect.objectContaining({ accept: 'application/json', 'content-type': 'application/json' }),
        body: JSON.stringify({ refreshToken: REFRESH_TOKEN }),
      },
    ]);
    expect(service.received[0]?.headers).not.toHaveProperty('authorization');
  });

  it.each([
    ['as we spell it', { ...TOKENS, expiresIn: 900 }],
    ['as OAuth does', { access_token: TOKENS.accessToken, refresh_token: TOKENS.refreshToken, expires_in: 900 }],
  ])('stores all tokens of a response with %s', async (_spelling, body) => {
    service.script(responds(201, body));
    const store = new TestTokenStore();
    const [from, , to] = [Date.now(), await sessionWith({ store }).token(), Date.now()];

    expect(store.stored).toEqual({ ...TOKENS, expiresAt: expect.any(Number) });
    expect(store.stored?.expiresAt).toBeGreaterThanOrEqual(from + 900_000);
    expect(store.stored?.expiresAt).toBeLessThanOrEqual(to + 900_000);
  });

  it.each([[null], ['900'], [undefined]])('treats the lifetime %p as unknown', async (expiresIn) => {
    service.script(responds(200, { ...TOKENS, expiresIn }));
    const store = new TestTokenStore();
    await sessionWith({ store }).token();

    expect(store.stored).toEqual(TOKENS);
  });

  it('keeps the old refresh token if the response has none', async () => {
    const store = new TestTokenStore({ refreshToken: REFRESH_TOKEN });
    const [one, other] = [sessionWith({ store }), sessionWith({ store })];
    service.script(responds(200, { accessToken: 'access-1', refreshToken: null }));
    expect(await one.token()).toBe('access-1');
    service.script(responds(200, { accessToken: 'access-2' }));

    expect(await other.renewed('access-1')).toBe('access-2');
    expect(await one.renewed('access-1')).toBe('access-2');
    expect(store.stored).toEqual({ accessToken: 'access-2', refreshToken: REFRESH_TOKEN });
  });

  it('returns a token that was refused before, without an endless loop', async () => {
    const session = sessionWith();

    expect(await session.renewed(await session.token())).toBe(TOKENS.accessToken);
    expect(await session.token()).toBe(TOKENS.accessToken);
    expect(service.received).toHaveLength(2);
  });

  it('uses a custom fetch', async () => {
    const sent: string[] = [];
    const fetchAndTell: typeof fetch = (input, init) => {
      sent.push(String(input));
      return fetch(input, init);
    };

    await sessionWith({ fetch: fetchAndTell }).token();
    expect(sent).toEqual([`${authUrl}/sessions/tokens`]);
  });
});

describe('failed refresh', () => {
  it.each([400, 401, 403])('ends the session after %i', async (status) => {
    service.script(responds(status, { error: 'invalid_grant', error_description: REFRESH_TOKEN }));

    const failure = await failureOf(sessionWith().token());

    expect(failure).toBeInstanceOf(SessionError);
    expect(failure).toMatchObject({ isOver: true, message: expect.stringContaining(`answered ${status}`) });
    expect(shown(failure)).not.toContain(REFRESH_TOKEN);
  });

  it.each([404, 408, 429, 500, 503])('leaves the session open after %i', async (status) => {
    service.script(responds(status, TOKENS));
    const session = sessionWith();

    const failure = await failureOf(session.token());
    service.script(responds(200, TOKENS));

    expect(failure).toMatchObject({ isOver: false, message: expect.stringContaining(`answered ${status}`) });
    expect(await session.token()).toBe(TOKENS.accessToken);
  });

  it.each([
    ['null', null],
    ['a text', 'the-access-token the-next-refresh-token'],
    ['a list', [TOKENS]],
    ['no access token', { refreshToken: TOKENS.refreshToken }],
    ['an access token that is no text', { ...TOKENS, accessToken: ['the-access-token'] }],
    ['an access token that no header can carry', { ...TOKENS, accessToken: 'the-access-token\r\nX: y' }],
    ['a refresh token that is no text', { ...TOKENS, refreshToken: 7 }],
    ['an empty refresh token', { ...TOKENS, refreshToken: '' }],
    ['more than any tokens need', { ...TOKENS, padding: 'x'.repeat(200_000) }],
  ])('reports a possible refresh after a response with %s', async (_what, body) => {
    service.script(responds(200, body));

    const failure = await failureOf(sessionWith().token());

    expect(failure).toMatchObject({ isOver: false, message: expect.stringContaining('may have been executed') });
    expect(shown(failure)).not.toMatch(/the-(access|refresh|next)/);
  });

  it.each(['', 'the-access-token the-next-refresh-token'])(
    'reports a possible refresh after %j, which is not JSON',
    async (sent) => {
      service.script((response) => response.writeHead(200).end(sent));

      const failure = await failureOf(sessionWith().token());

      expect(failure).toMatchObject({ isOver: false, message: expect.stringContaining('may have been executed') });
      expect(shown(failure)).not.toMatch(/the-(access|refresh|next)/);
    },
  );

  it('reads only the beginning of an endless response', async () => {
    const closed = new Promise((resolve) => {
      service.script((response) => {
        const more = () => response.write('x'.repeat(10_000), more);
        response.writeHead(200).on('close', resolve);
        more();
      });
    });

    expect((await failureOf(sessionWith().token())).message).toContain('answered 200 without tokens');
    await closed;
  });

  it('does not follow a redirect', async () => {
    service.script(responds(307, '', { Location: '/elsewhere' }));

    expect(await failureOf(sessionWith().token())).toMatchObject({ isOver: false });
    expect(service.received).toHaveLength(1);
  });

  it('ends at the timeout without a response', async () => {
    service.script(hangs);

    const failure = await failureOf(sessionWith({ timeoutMs: 20 }).token());
    expect(failure).toMatchObject({ isOver: false, message: expect.stringContaining('no complete response in time') });
  });

  it('has the refused connection as its cause', async () => {
    await service.close();

    const failure = await failureOf(sessionWith().token());
    expect(failure).toMatchObject({ isOver: false, cause: { cause: { code: 'ECONNREFUSED' } } });
  });
});

describe('invalid options of a session', () => {
  it.each([
    { authUrl: 'auth.example' },
    { authUrl: 'http://auth.example' },
    { authUrl: 'http://localhost.auth.example' },
    { authUrl: 'http://127.0.0.1.auth.example' },
    { authUrl: 'http://localhost:secret@auth.example' },
    { authUrl: 'https://ada:secret@auth.example' },
    { authUrl: 'https://auth.example/?version=2' },
    { authUrl: 'https://auth.example/#top' },
    { authUrl: 'ftp://auth.example' },
    { timeoutMs: 0 },
    { timeoutMs: NaN },
    { timeoutMs: 2 ** 31 },
    { timeoutMs: 1.5 },
    { earlyMs: -1 },
    { earlyMs: NaN },
  ])('throw a TypeError without a value for %o', (options) => {
    expect(() => sessionWith(options)).toThrow(TypeError);
    expect(() => sessionWith(options)).toThrow(/^(?!.*secret)/);
  });

  it.each([
    'https://auth.example/a',
    'http://localhost:8080',
    'http://127.0.0.1',
    'http://127.9.9.9:1/a',
    'http://[::1]',
  ])('accept the authUrl %s', (url) => {
    expect(() => sessionWith({ authUrl: url })).not.toThrow();
  });
});

describe('session', () => {
  it('does not log its tokens', async () => {
    const session = sessionWith();
    await session.token();

    expect(shown(session)).not.toMatch(/the-(access|refresh|next)/);
  });

  it('throws errors that another copy of the library recognises', async () => {
    await jest.isolateModulesAsync(async () => {
      const other = await import('./credentials.js');
      class Expired extends SessionError {}
      const own = new SessionError('It is over.', { isOver: true });

      expect(other.SessionError).not.toBe(SessionError);
      expect(own).toBeInstanceOf(other.SessionError);
      expect(own instanceof Expired).toBe(false);
      expect(new Error('It is over.')).not.toBeInstanceOf(other.SessionError);
    });
  });
});
