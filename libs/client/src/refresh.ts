import { SessionError } from './session-error.js';
import type { SessionTokens } from './token-store.js';

/** The tokens of a refresh. */
export type FreshTokens = SessionTokens & { readonly accessToken: string };

/** The auth service, and how it is called. */
export interface AuthService {
  readonly url: URL;
  readonly timeoutMs: number;
  readonly fetch: typeof fetch;
}

const BODY_MAX_CHARACTERS = 65_536;
const SENDABLE = /^[\x21-\x7e]+$/;
const TRUSTWORTHY = /^(https:|http:\/\/(localhost|127(\.\d+){3}|\[::1])(:\d+)?$)/;

/** The URL that exchanges refresh tokens. @throws TypeError for a URL that must not receive them */
export function tokensUrl(authUrl: string | URL): URL {
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
export async function refresh({ url, timeoutMs, fetch }: AuthService, refreshToken: string): Promise<FreshTokens> {
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
