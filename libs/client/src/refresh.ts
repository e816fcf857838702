import { SessionError } from './session-error.js';
import type { SessionTokens } from './token-store.js';

/** What a refresh brings. */
export type FreshTokens = SessionTokens & { readonly accessToken: string };

/** How an auth service is asked. */
export interface AuthService {
  readonly url: URL;
  readonly timeoutMs: number;
  readonly fetch: typeof fetch;
}

const ANSWER_MAX_CHARACTERS = 65_536;
const SENDABLE = /^[\x21-\x7e]+$/;
const TRUSTWORTHY = /^(https:|http:\/\/(localhost|127(\.\d+){3}|\[::1])(:\d+)?$)/;

/** Where an auth service exchanges refresh tokens. @throws TypeError for a URL one must not send them to */
export function tokensUrl(authUrl: string | URL): URL {
  const url = URL.canParse(authUrl) ? new URL(authUrl) : undefined;
  if (!url || !TRUSTWORTHY.test(url.origin) || url.href !== url.origin + url.pathname) {
    throw new TypeError('The authUrl is an https URL, or http on a loopback address, without name, query or fragment.');
  }
  url.pathname = url.pathname.replace(/\/*$/, '/sessions/tokens');
  return url;
}

/**
 * Exchanges a refresh token, which it spends.
 *
 * @throws SessionError that is over when the service refuses the token, and one that is not when the answer is missing or
 *   makes no sense: whether the token is spent is not known then.
 */
export async function refresh({ url, timeoutMs, fetch }: AuthService, refreshToken: string): Promise<FreshTokens> {
  const signal = AbortSignal.timeout(timeoutMs);
  const askedAt = Date.now();
  const unsure = (what: string, options?: ErrorOptions) =>
    new SessionError(
      `POST ${url} ${what}. The refresh may have happened all the same: where the next is refused, sign in again.`,
      { isOver: false, ...options },
    );

  let response: Response;
  let text: string;
  try {
    response = await fetch(url, {
      method: 'POST',
      headers: { Accept: 'application/json', 'Content-Type': 'application/json' },
      body: JSON.stringify({ refreshToken }),
      // A redirect would carry the token to a place nobody chose.
      redirect: 'manual',
      credentials: 'omit',
      cache: 'no-store',
      signal,
    });
    text = await beginningOf(response);
  } catch (cause) {
    throw unsure(`had no complete answer${signal.aborted ? ' in time' : ''}`, { cause });
  }
  const { status, ok } = response;
  if (status === 400 || status === 401 || status === 403) {
    throw new SessionError(`POST ${url} answered ${status}: sign in again.`, { isOver: true });
  }
  if (status === 429) throw new SessionError(`POST ${url} answered 429: try later.`, { isOver: false });
  const tokens = ok ? readTokens(text, refreshToken, askedAt) : undefined;
  if (!tokens) throw unsure(`answered ${status} without tokens`);
  return tokens;
}

/** All of a body, unless it is longer than any answer with tokens. */
async function beginningOf({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  const reader = body?.getReader();
  let text = '';
  while (reader && text.length < ANSWER_MAX_CHARACTERS) {
    const { done, value } = await reader.read();
    if (done) return text;
    text += decoder.decode(value, { stream: true });
  }
  await reader?.cancel();
  return text;
}

/**
 * The tokens of an answer, in our spelling or in OAuth's (RFC 6749 section 5.1); undefined where they are none. What a
 * session can do without is not insisted on: the old refresh token is spent.
 */
function readTokens(text: string, refreshToken: string, askedAt: number): FreshTokens | undefined {
  let body: Readonly<Record<string, unknown>> | null;
  try {
    body = JSON.parse(text) as typeof body;
  } catch {
    // Not kept as a cause: it would quote the answer.
    return undefined;
  }
  const accessToken = body?.['accessToken'] ?? body?.['access_token'];
  const next = body?.['refreshToken'] ?? body?.['refresh_token'] ?? refreshToken;
  const expiresIn = body?.['expiresIn'] ?? body?.['expires_in'];
  if (!isSendable(accessToken) || !isSendable(next)) return undefined;
  return {
    refreshToken: next,
    accessToken,
    ...(typeof expiresIn === 'number' && { expiresAt: askedAt + expiresIn * 1000 }),
  };
}

function isSendable(token: unknown): token is string {
  return typeof token === 'string' && SENDABLE.test(token);
}
