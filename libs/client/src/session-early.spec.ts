import { RefreshTokenSession } from './refresh-token-session.js';
import { failureOf, RotatingAuth, TestTokenStore } from './testing/rotating-auth.js';
import { hangs, type ScriptedService, scriptedService, type Step } from './testing/scripted-service.js';
import { memoryStore, type SessionTokens, type TokenStore } from './credentials.js';

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
