import { RefreshTokenSession } from './refresh-token-session.js';
import { SessionError, memoryStore, type SessionTokens, type TokenStore } from './credentials.js';
import { failureOf, RotatingAuth, TestTokenStore } from './testing/rotating-auth.js';
import { hangs, NOT_TIMEOUTS, type ScriptedService, scriptedService, type Step } from './testing/scripted-service.js';

let auth: RotatingAuth;
let service: ScriptedService;
let authUrl: string;

const exchange: Step = (response, { body }) => {
  const tokens = auth.exchange((JSON.parse(body) as SessionTokens).refreshToken);
  if (auth.isSilent) response.destroy();
  else response.writeHead(tokens ? 200 : 401).end(JSON.stringify(tokens));
};

beforeEach(async () => {
  auth = new RotatingAuth();
  service = await scriptedService();
  service.script(exchange);
  authUrl = service.url;
});

afterEach(() => service.close());

const sessionOver = (store: TokenStore) => new RefreshTokenSession({ authUrl, store });
const inFuture = (seconds: number) => Date.now() + seconds * 1000;

describe('signed-in session', () => {
  it('refreshes once for fifty concurrent calls', async () => {
    const session = sessionOver(memoryStore('refresh-0'));

    const tokens = await Promise.all(Array.from({ length: 50 }, () => session.token()));

    expect(new Set(tokens)).toEqual(new Set(['access-1']));
    expect(await session.token()).toBe('access-1');
    expect(auth.presented).toEqual(['refresh-0']);
  });

  it('refreshes once after fifty concurrent 401', async () => {
    const session = sessionOver(memoryStore('refresh-0'));
    await session.token();

    const tokens = await Promise.all(Array.from({ length: 50 }, () => session.renewed('access-1')));

    expect(new Set(tokens)).toEqual(new Set(['access-2']));
    expect(auth.presented).toEqual(['refresh-0', 'refresh-1']);
  });

  it('does not refresh after a late 401 for an older token', async () => {
    const session = sessionOver(memoryStore('refresh-0'));
    await session.renewed(await session.token());

    expect(await session.renewed('access-1')).toBe('access-2');
    expect(await session.token()).toBe('access-2');
    expect(auth.refreshes).toBe(2);
  });

  it('waits for the running refresh after a 401', async () => {
    const session = sessionOver(memoryStore('refresh-0'));
    await session.token();

    const late = new Promise<string>((resolve) => {
      service.script((response, request) => {
        resolve(session.renewed('access-1'));
        exchange(response, request);
      });
    });

    const tokens = await Promise.all([session.renewed('access-1'), late, session.token()]);
    expect(tokens).toEqual(['access-2', 'access-2', 'access-2']);
    expect(auth.refreshes).toBe(2);
  });

  it('returns the newest token after a late 401 during a refresh', async () => {
    const session = sessionOver(memoryStore('refresh-0'));
    await session.renewed(await session.token());

    expect(await Promise.all([session.renewed('access-2'), session.renewed('access-1')])).toEqual([
      'access-3',
      'access-3',
    ]);
  });

  it('stores both tokens before their first use', async () => {
    const store = new TestTokenStore();
    await sessionOver(store).token();

    expect(store.stored).toEqual({ accessToken: 'access-1', refreshToken: 'refresh-1' });
    expect(await sessionOver(store).token()).toBe('access-1');
    expect(await sessionOver(store).renewed('access-1')).toBe('access-2');
    expect(auth.isEnded).toBe(false);
  });
});

describe('session with a failing store', () => {
  it('returns no token if the write fails, and writes first in the next call', async () => {
    const store = new TestTokenStore();
    const session = sessionOver(store);
    store.failure = new Error('the disk is full');

    const failures = await Promise.all([failureOf(session.token()), failureOf(session.token())]);

    expect(failures).toEqual([expect.any(SessionError), expect.any(SessionError)]);
    expect(failures[0]).toMatchObject({ isOver: false, cause: new Error('the disk is full') });
    expect(await session.token()).toBe('access-1');
    expect(store.stored?.refreshToken).toBe('refresh-1');
    expect(auth.presented).toEqual(['refresh-0']);
  });

  it('uses the tokens of a new sign-in and does not overwrite them', async () => {
    const store = new TestTokenStore();
    const session = sessionOver(store);
    store.failure = new Error('the disk is full');
    await failureOf(session.token());
    store.stored = { accessToken: 'access-of-theirs', refreshToken: 'refresh-of-theirs' };

    expect(await session.token()).toBe('access-of-theirs');
    expect(store.stored.refreshToken).toBe('refresh-of-theirs');
  });

  it('ends the call at the timeout of the store, and recovers in the next call', async () => {
    let reads = 0;
    const store: TokenStore = {
      ...memoryStore('refresh-0'),
      read: () => ((reads += 1) === 1 ? new Promise<never>(() => {}) : Promise.resolve({ refreshToken: 'refresh-0' })),
    };
    const session = new RefreshTokenSession({ authUrl, store });

    jest.useFakeTimers({ doNotFake: NOT_TIMEOUTS });
    const failure = failureOf(session.token());
    await jest.advanceTimersByTimeAsync(60_000);
    jest.useRealTimers();

    expect(await failure).toMatchObject({ isOver: false, message: 'The token store did not respond in time.' });
    expect(await session.token()).toBe('access-1');
  });

  it('sends nothing if the read fails', async () => {
    const read = () => Promise.reject(new Error('the disk is gone'));

    expect(await failureOf(sessionOver({ ...memoryStore('refresh-0'), read }).token())).toMatchObject({
      isOver: false,
    });
    expect(auth.refreshes).toBe(0);
  });

  it('requires a sign-in if the store is empty, and sends nothing', async () => {
    const store = { ...memoryStore(''), read: async () => undefined };

    expect(await failureOf(sessionOver(store).token())).toMatchObject({ name: 'SessionError', isOver: true });
    expect(auth.refreshes).toBe(0);
  });
});

describe('two sessions with one store', () => {
  it('share the tokens of a refresh', async () => {
    const store = new TestTokenStore();
    const [one, other] = [sessionOver(store), sessionOver(store)];
    await one.token();
    await other.token();

    expect(await one.renewed('access-1')).toBe('access-2');
    expect(await other.renewed('access-1')).toBe('access-2');
    expect(await other.renewed('access-2')).toBe('access-3');
    expect(await one.renewed('access-2')).toBe('access-3');
    expect(auth.presented).toEqual(['refresh-0', 'refresh-1', 'refresh-2']);
  });

  it('recover from a refused token that the other has replaced', async () => {
    const store = new TestTokenStore();
    service.script((response) => {
      store.stored = { accessToken: 'access-1', refreshToken: 'refresh-1' };
      response.writeHead(401).end();
    });

    expect(await sessionOver(store).token()).toBe('access-1');
  });
});

describe('ended session', () => {
  it('fails without a request until the store has another refresh token', async () => {
    const store = new TestTokenStore();
    const session = sessionOver(store);
    await session.token();
    auth.isEnded = true;

    const failure = await failureOf(session.renewed('access-1'));
    expect(failure).toMatchObject({
      isOver: true,
      message: `POST ${authUrl}/sessions/tokens answered 401: sign in again.`,
    });
    for (const call of [() => session.token(), () => session.renewed('access-1')]) {
      expect((await failureOf(call())).isOver).toBe(true);
    }
    expect(auth.presented).toEqual(['refresh-0', 'refresh-1']);

    auth = new RotatingAuth('signed-in-again');
    await store.write({ refreshToken: 'signed-in-again-0' });
    expect(await session.token()).toBe('access-1');
  });

  it('does not send a token that is still valid', async () => {
    auth.isEnded = true;
    const store = new TestTokenStore({ accessToken: 'access-0', refreshToken: 'refresh-0', expiresAt: inFuture(20) });
    const session = sessionOver(store);

    expect((await failureOf(session.token())).isOver).toBe(true);
    expect((await failureOf(session.token())).isOver).toBe(true);
    expect(auth.refreshes).toBe(1);
  });

  it('reports a possible refresh after a lost response, and the end after the next refusal', async () => {
    const session = sessionOver(memoryStore('refresh-0'));
    auth.isSilent = true;
    expect(await failureOf(session.token())).toMatchObject({
      isOver: false,
      message: expect.stringContaining('may have been executed'),
      cause: expect.objectContaining({ name: 'TypeError' }),
    });
    auth.isSilent = false;

    expect(await failureOf(session.token())).toMatchObject({ isOver: true });
  });
});

describe('early refresh', () => {
  it.each([
    [20, 'access-1'],
    [60, 'access-0'],
    [undefined, 'access-0'],
  ])('results with %p seconds left in the token %s', async (seconds, token) => {
    const expiresAt = seconds && inFuture(seconds);

    expect(
      await sessionOver(new TestTokenStore({ accessToken: 'access-0', refreshToken: 'refresh-0', expiresAt })).token(),
    ).toBe(token);
  });

  it('does not run for every call with a short lifetime', async () => {
    auth.expiresIn = 10;
    const session = sessionOver(memoryStore('refresh-0'));

    expect([await session.token(), await session.token()]).toEqual(['access-1', 'access-1']);
  });

  it('runs for every call if the lifetime is zero', async () => {
    auth.expiresIn = 0;
    const session = sessionOver(memoryStore('refresh-0'));

    expect([await session.token(), await session.token()]).toEqual(['access-1', 'access-2']);
  });

  it('lets calls use the current token while the auth service hangs', async () => {
    auth.expiresIn = 100;
    const session = sessionOver(memoryStore('refresh-0'));
    await session.token();
    const later = jest.spyOn(Date, 'now').mockReturnValue(inFuture(80));
    service.script(hangs);

    const tokens = [await session.token(), await session.token()];

    later.mockRestore();
    expect(tokens).toEqual(['access-1', 'access-1']);
  });

  it('is repeated after half of the remaining time if it failed', async () => {
    const store = new TestTokenStore({ refreshToken: 'refresh-0', accessToken: 'access-0', expiresAt: inFuture(20) });
    service.script((response) => response.writeHead(503).end());
    const session = sessionOver(store);

    const tokens = [await session.token(), await session.token(), await session.token()];

    expect(tokens).toEqual(Array(3).fill('access-0'));
    expect(service.received).toHaveLength(1);
  });

  it('leaves the current token in use if it fails, until a 401', async () => {
    const stored = { accessToken: 'access-0', refreshToken: 'refresh-0', expiresAt: inFuture(20) };
    const session = sessionOver(new TestTokenStore(stored));
    auth.isSilent = true;

    expect(await session.token()).toBe('access-0');
    expect(await failureOf(session.renewed('access-0'))).toMatchObject({ isOver: false });
    expect(await failureOf(session.token())).toMatchObject({ isOver: false });
  });
});
