import type { Credential } from './credentials.js';
import { Deadline } from './deadline.js';
import { type AuthService, type FreshTokens, refresh, tokensUrl } from './refresh.js';
import { SessionError } from './session-error.js';
import type { SessionTokens, TokenStore } from './token-store.js';

export interface RefreshTokenSessionOptions {
  /** The URL that the paths of the auth service are appended to: `https`, or `http` on a loopback address. */
  readonly authUrl: string | URL;
  readonly store: TokenStore;
  /** For one refresh, to the last byte of the response, and for one call of the store. 10,000 by default. */
  readonly timeoutMs?: number | undefined;
  /** How long before its expiry a token is refreshed; at most half its lifetime. 30,000 by default. */
  readonly earlyMs?: number | undefined;
  /** Replaces the `fetch` of the platform. It must obey `signal` and `redirect`. */
  readonly fetch?: typeof fetch | undefined;
}

/** The last refresh. */
interface Refreshed {
  readonly tokens: FreshTokens;
  /** The tokens of the store before. */
  readonly replaced: SessionTokens;
}

const TIMER_MAX_MS = 2_147_483_647;

/**
 * A credential of short-lived access tokens. Each is obtained with a refresh token that can be used once (RFC 6749
 * section 6).
 *
 * Concurrent calls share one refresh, and none of them can abort it. The session returns an access token after the store
 * has the new refresh token, so only a crash during a refresh can end the session.
 */
export class RefreshTokenSession implements Credential {
  readonly #service: AuthService;
  readonly #store: TokenStore;
  readonly #earlyMs: number;
  /** The tokens of the store, when last read or written. */
  #current: SessionTokens | undefined;
  #renewAt = 0;
  /** The last access token that the service refused with 401. */
  #refused: string | undefined;
  /** The last refresh. A store whose write failed may not have it. */
  #latest: Refreshed | undefined;
  /** The last refresh token that the auth service refused, and its error. */
  #over: { readonly refreshToken: string; readonly error: SessionError } | undefined;
  #running: Promise<() => string> | undefined;

  /** @throws TypeError for invalid options */
  constructor({
    authUrl,
    store,
    timeoutMs = 10_000,
    earlyMs = 30_000,
    fetch = globalThis.fetch,
  }: RefreshTokenSessionOptions) {
    if (!(Number.isInteger(timeoutMs) && timeoutMs >= 1 && timeoutMs <= TIMER_MAX_MS && earlyMs >= 0)) {
      throw new TypeError(`timeoutMs must be a whole number from 1 to ${TIMER_MAX_MS}, and earlyMs at least 0.`);
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
    // The current token is used while it is valid, without waiting for the refresh.
    return this.#usable(this.#current?.expiresAt) ?? (await running)();
  }

  /** @throws SessionError */
  renewed(refused: string): Promise<string> {
    // A late 401 may refer to a token that was replaced since.
    if (!this.#current || this.#current.accessToken === refused) this.#refused = refused;
    return this.token();
  }

  #usable(until = 0): string | undefined {
    const token = this.#current?.accessToken;
    return token !== this.#refused && Date.now() < until ? token : undefined;
  }

  /** @returns a function that returns the token or throws, because a refresh may have no caller that waits for it */
  async #run(): Promise<() => string> {
    try {
      const token = await this.#obtain();
      return () => token;
    } catch (error) {
      // The refresh was early: the current token stays in use, and the next refresh is after half of its remaining time.
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
    const stored = await this.#inStore(() => this.#store.read());
    // The store does not have the last tokens, because writing them failed.
    if (this.#latest && isSame(stored, this.#latest.replaced)) await this.#save(this.#latest);
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
      // Another process may have refreshed first and have written its tokens.
      return this.#obtain();
    }
    return this.#save(this.#latest);
  }

  /** Writes the tokens to the store before the access token is returned. */
  async #save({ tokens }: Refreshed): Promise<string> {
    await this.#inStore(() => this.#store.write(tokens));
    this.#refused = undefined;
    // At most half its lifetime, or every call would refresh a token of ten seconds.
    this.#use(tokens, Math.min(this.#earlyMs, ((tokens.expiresAt ?? Infinity) - Date.now()) / 2));
    return tokens.accessToken;
  }

  #use(tokens: SessionTokens | undefined, earlyMs: number): void {
    this.#current = tokens;
    this.#renewAt = (tokens?.expiresAt ?? Infinity) - earlyMs;
  }

  async #inStore<T>(call: () => Promise<T>): Promise<T> {
    const deadline = new Deadline(this.#service.timeoutMs, undefined);
    try {
      return await deadline.within(call());
    } catch (cause) {
      const how = deadline.timedOut ? 'did not respond in time' : 'failed';
      throw new SessionError(`The token store ${how}.`, { isOver: false, cause });
    } finally {
      deadline.dispose();
    }
  }
}

function isSame(one: SessionTokens | undefined, other: SessionTokens): boolean {
  return one?.refreshToken === other.refreshToken && one.accessToken === other.accessToken;
}
