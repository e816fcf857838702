import { SessionError, type SessionTokens, type TokenStore, type Credential } from './credentials.js';
import { Deadline } from './retry-policy.js';

/** The tokens of a refresh. */
type FreshTokens = SessionTokens & { readonly accessToken: string };

/** The auth service, and how it is called. */
interface AuthService {
  readonly url: URL;
  readonly timeoutMs: number;
  readonly fetch: typeof fetch;
}

const BODY_MAX_CHARACTERS = 65_536;
const SENDABLE = /^[\x21-\x7e]+$/;
const TRUSTWORTHY = /^(https:|http:\/\/(localhost|127(\.\d+){3}|\[::1])(:\d+)?$)/;

/** The URL that exchanges refresh tokens. @throws TypeError for a URL that must not receive them */
function tokensUrl(authUrl: string | URL): URL {
  const url = URL.canParse(authUrl) ? new URL(authUrl) : undefined;
  if (!url || !TRUSTWORTHY.test(url.origin) || url.href !== url.origin + url.pathname) {
    throw new TypeError('The authUrl must be https, or http on a loopback address, without name, query or fragment.');
  }
  url.pathname = url.pathname.replace(/\/*$/, '/sessions/tokens');
  return url;
}

/**
 * Exchanges a refresh token, which can be used once.
 *
 * @throws SessionError with `isOver` if the service refuses the token, and without it if the response is missing or
 *   invalid: the token may be used up then.
 */
async function refresh({ url, timeoutMs, fetch }: AuthService, refreshToken: string): Promise<FreshTokens> {
  const signal = AbortSignal.timeout(timeoutMs);
  const sentAt = Date.now();
  const inDoubt = (fault: string, options?: ErrorOptions) =>
    new SessionError(
      `POST ${url} ${fault}. The refresh may have been executed: if the next one is refused, sign in again.`,
      { isOver: false, ...options },
    );

  let response: Response;
  let text: string;
  try {
    response = await fetch(url, {
      method: 'POST',
      headers: { Accept: 'application/json', 'Content-Type': 'application/json' },
      body: JSON.stringify({ refreshToken }),
      // A redirect would send the token to another address.
      redirect: 'manual',
      credentials: 'omit',
      cache: 'no-store',
      signal,
    });
    text = await boundedText(response);
  } catch (cause) {
    throw inDoubt(`had no complete response${signal.aborted ? ' in time' : ''}`, { cause });
  }
  const { status, ok } = response;
  if (status === 400 || status === 401 || status === 403) {
    throw new SessionError(`POST ${url} answered ${status}: sign in again.`, { isOver: true });
  }
  if (status === 429) throw new SessionError(`POST ${url} answered 429: try later.`, { isOver: false });
  const tokens = ok ? readTokens(text, refreshToken, sentAt) : undefined;
  if (!tokens) throw inDoubt(`answered ${status} without tokens`);
  return tokens;
}

/** The body, cut off at a length that no response with tokens reaches. */
async function boundedText({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  const reader = body?.getReader();
  let text = '';
  while (reader && text.length < BODY_MAX_CHARACTERS) {
    const { done, value } = await reader.read();
    if (done) return text;
    text += decoder.decode(value, { stream: true });
  }
  await reader?.cancel();
  return text;
}

/**
 * The tokens of a response, with our names or those of OAuth (RFC 6749 section 5.1); undefined without an access token.
 * A missing refresh token or expiry is accepted, because the old refresh token is already used up.
 */
function readTokens(text: string, refreshToken: string, sentAt: number): FreshTokens | undefined {
  let body: Readonly<Record<string, unknown>> | null;
  try {
    body = JSON.parse(text) as typeof body;
  } catch {
    // Not a cause of an error: it would quote the response.
    return undefined;
  }
  const accessToken = body?.['accessToken'] ?? body?.['access_token'];
  const next = body?.['refreshToken'] ?? body?.['refresh_token'] ?? refreshToken;
  const expiresIn = body?.['expiresIn'] ?? body?.['expires_in'];
  if (!isSendable(accessToken) || !isSendable(next)) return undefined;
  return {
    refreshToken: next,
    accessToken,
    ...(typeof expiresIn === 'number' && { expiresAt: sentAt + expiresIn * 1000 }),
  };
}

function isSendable(token: unknown): token is string {
  return typeof token === 'string' && SENDABLE.test(token);
}

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
