import fc from 'fast-check';
import { RefreshTokenSession } from './refresh-token-session.js';
import { SessionError, type SessionTokens } from './credentials.js';
import { RotatingAuth, TestTokenStore } from './testing/rotating-auth.js';

/** `npm run prove` has the higher number. */
const RUNS = process.env['BANKING_TEST_IN_FULL'] === 'on' ? 2_000 : 200;

/** What happens beside the calls, each from the end of its list. */
interface Circumstances {
  readonly writes: ('done' | 'failed' | 'failed after it was done')[];
  /** The lifetime of the access tokens in seconds. */
  readonly lives: (number | undefined)[];
}

const CIRCUMSTANCES: fc.Arbitrary<Circumstances> = fc.record({
  writes: fc.array(fc.constantFrom('done', 'failed', 'failed after it was done'), { maxLength: 6 }),
  lives: fc.array(fc.constantFrom(undefined, 0, 3_600), { maxLength: 6 }),
});
/** A call that needs a token, or has got a 401 for an earlier token. */
const CALLS = fc.array(fc.option(fc.nat(20)), { minLength: 1, maxLength: 12 });

class World {
  readonly auth = new RotatingAuth();
  readonly shelf = new TestTokenStore();
  /** Every access token that the store has had. */
  readonly stored = new Set<unknown>();
  readonly returned: string[] = [];
  readonly refused = new Set<string>();
  readonly session = new RefreshTokenSession({
    authUrl: 'https://auth.example',
    store: { read: () => this.read(), write: (tokens) => this.write(tokens) },
    fetch: (_url, init) => this.answer(JSON.parse(String(init?.body)) as SessionTokens),
  });

  constructor(
    private readonly circumstances: Circumstances,
    /** Resolves after the events that precede it. */
    private readonly others: () => Promise<unknown>,
  ) {}

  async read() {
    await this.others();
    return this.shelf.stored;
  }

  async write(tokens: SessionTokens) {
    await this.others();
    const how = this.circumstances.writes.pop() ?? 'done';
    if (how !== 'failed') {
      await this.shelf.write(tokens);
      this.stored.add(tokens.accessToken);
      await this.others();
    }
    if (how !== 'done') throw new Error(how);
  }

  async answer({ refreshToken }: SessionTokens) {
    await this.others();
    this.auth.expiresIn = this.circumstances.lives.pop();
    const tokens = this.auth.exchange(refreshToken);
    await this.others();
    return Response.json(tokens ?? {}, { status: tokens ? 200 : 401 });
  }

  async call(which: number | null) {
    await this.others();
    const refused = which === null ? undefined : this.returned[which % this.returned.length];
    if (refused !== undefined) this.refused.add(refused);
    const refusedBefore = new Set(this.refused);
    try {
      const token = await (refused === undefined ? this.session.token() : this.session.renewed(refused));
      this.returned.push(token);
      expect(refusedBefore).not.toContain(token);
      expect(this.stored).toContain(token);
    } catch (error) {
      if (!(error instanceof SessionError)) throw error;
      expect(error).toMatchObject({ isOver: false, message: 'The token store failed.' });
    }
  }
}

describe('calls, 401s and failing writes in any order', () => {
  it('never send a refresh token twice, and never return a token before it is stored', async () => {
    const property = fc.asyncProperty(fc.scheduler(), CALLS, CIRCUMSTANCES, async (scheduler, calls, circumstances) => {
      const dieAtOnce = circumstances.lives.includes(0);
      const world = new World(circumstances, () => scheduler.schedule(Promise.resolve()));

      await scheduler.waitFor(Promise.all(calls.map((which) => world.call(which))));

      const { auth, refused } = world;
      expect(auth).toMatchObject({ isEnded: false, presented: [...new Set(auth.presented)] });
      if (!dieAtOnce) expect(auth.presented.length).toBeLessThanOrEqual(1 + refused.size);
    });
    await fc.assert(property, { numRuns: RUNS });
  });
});
