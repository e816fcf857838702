import type { Credential } from './credentials.js';
import { Deadline } from './deadline.js';
import { type AuthService, type FreshTokens, refresh, tokensUrl } from './refresh.js';
import { SessionError } from './session-error.js';
import type { SessionTokens, TokenStore } from './token-store.js';

export interface RefreshTokenSessionOptions {
  /** Where the paths of the auth service begin: `https`, or `http` on a loopback address. */
  readonly authUrl: string | URL;
  readonly store: TokenStore;
  /** For one refresh, from its first byte to the last of the answer. 10 000 if not said. */
  readonly timeoutMs?: number | undefined;
  /** How long before the end of a token the next one is obtained; at most half its life. 30 000 if not said. */
  readonly earlyMs?: number | undefined;
  /** What to send with, instead of the platform's own `fetch`. It must heed `signal` and `redirect`. */
  readonly fetch?: typeof fetch | undefined;
}

/** The last refresh. */
interface Refreshed {
  readonly tokens: FreshTokens;
  /** What the store had before. */
  readonly replaced: SessionTokens;
}

const TIMER_MAX_MS = 2_147_483_647;

/**
 * The credential of whoever signed in once: short-lived access tokens, each obtained with a refresh token that is good
 * for one time (RFC 6749 section 6).
 *
 * However many calls need a token, one refresh runs, and none of them ends it. An access token is handed out once the
 * store has what came with it, so that only a crash in the midst of a refresh can cost the session.
 */
export class RefreshTokenSession implements Credential {
  readonly #service: AuthService;
  readonly #store: TokenStore;
  readonly #earlyMs: number;
  /** In the store, as far as we know. */
  #current: SessionTokens | undefined;
  #renewAt = 0;
  /** The last access token of ours that was answered with 401. */
  #refused: string | undefined;
  /** What a store that failed may not have yet. */
  #latest: Refreshed | undefined;
  /** The last refresh token that the auth service refused, and how. */
  #over: { readonly refreshToken: string; readonly error: SessionError } | undefined;
  #running: Promise<() => string> | undefined;

  /** @throws TypeError for options that cannot work */
  constructor({
    authUrl,
    store,
    timeoutMs = 10_000,
    earlyMs = 30_000,
    fetch = globalThis.fetch,
  }: RefreshTokenSessionOptions) {
    if (!(Number.isInteger(timeoutMs) && timeoutMs >= 1 && timeoutMs <= TIMER_MAX_MS && earlyMs >= 0)) {
      throw new TypeError(`timeoutMs is a whole number from 1 to ${TIMER_MAX_MS}, earlyMs at least 0.`);
    }
    this.#service = { url: tokensUrl(authUrl), timeoutMs, fetch };
    this.#store = store;
    this.#earlyMs = earlyMs;
  }

  /** @throws SessionError */
  async token(): Promise<string> {
    const fresh = this.#usable(this.#renewAt);
    if (fresh !== undefined) return fresh;
    const running = (this.#running ??= this.#run());
    // Nobody waits for the next one while this one lasts.
    return this.#usable(this.#current?.expiresAt) ?? (await running)();
  }

  /** @throws SessionError */
  renewed(refused: string): Promise<string> {
    // A late 401 is about a token that we have replaced since.
    if (!this.#current || this.#current.accessToken === refused) this.#refused = refused;
    return this.token();
  }

  #usable(until = 0): string | undefined {
    const token = this.#current?.accessToken;
    return token !== this.#refused && Date.now() < until ? token : undefined;
  }

  /** @returns what gives the token, or throws why there is none: nobody may be waiting for it */
  async #run(): Promise<() => string> {
    try {
      const token = await this.#obtain();
      return () => token;
    } catch (error) {
      // This was early: as long as the token lasts, nobody needs to know, and half of that time nobody asks again.
      const { expiresAt = 0 } = this.#current ?? {};
      const token = this.#usable(expiresAt);
      if (token !== undefined) this.#renewAt = (Date.now() + expiresAt) / 2;
      return () => {
        if (token === undefined) throw error;
        return token;
      };
    } finally {
      this.#running = undefined;
    }
  }

  async #obtain(): Promise<string> {
    const stored = await this.#asked(() => this.#store.read());
    // It has not got our last tokens: writing them failed.
    if (this.#latest && isSame(stored, this.#latest.replaced)) await this.#keep(this.#latest);
    else this.#use(stored, this.#earlyMs);

    const current = this.#current;
    if (!current || current.refreshToken === this.#over?.refreshToken) {
      this.#current = undefined;
      throw this.#over?.error ?? new SessionError('The token store is empty: sign in.', { isOver: true });
    }
    return this.#usable(this.#renewAt) ?? this.#renew(current);
  }

  async #renew(current: SessionTokens): Promise<string> {
    const { refreshToken } = current;
    try {
      this.#latest = { tokens: await refresh(this.#service, refreshToken), replaced: current };
    } catch (error) {
      if (!(error instanceof SessionError && error.isOver)) throw error;
      this.#over = { refreshToken, error };
      // Somebody else may have been faster, and have written what they got.
      return this.#obtain();
    }
    return this.#keep(this.#latest);
  }

  /** Nobody gets an access token before the store has the refresh token that came with it. */
  async #keep({ tokens }: Refreshed): Promise<string> {
    await this.#asked(() => this.#store.write(tokens));
    this.#refused = undefined;
    // At most half its life, or a token of ten seconds would be renewed by every call.
    this.#use(tokens, Math.min(this.#earlyMs, ((tokens.expiresAt ?? Infinity) - Date.now()) / 2));
    return tokens.accessToken;
  }

  #use(tokens: SessionTokens | undefined, earlyMs: number): void {
    this.#current = tokens;
    this.#renewAt = (tokens?.expiresAt ?? Infinity) - earlyMs;
  }

  async #asked<T>(store: () => Promise<T>): Promise<T> {
    const deadline = new Deadline(this.#service.timeoutMs, undefined);
    try {
      return await deadline.within(store());
    } catch (cause) {
      const how = deadline.timedOut ? 'did not answer in time' : 'failed';
      throw new SessionError(`The token store ${how}.`, { isOver: false, cause });
    } finally {
      deadline.end();
    }
  }
}

function isSame(one: SessionTokens | undefined, other: SessionTokens): boolean {
  return one?.refreshToken === other.refreshToken && one.accessToken === other.accessToken;
}
