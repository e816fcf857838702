/** The tokens of one sign-in. */
export interface SessionTokens {
  /** Good for one refresh: an auth service that sees it twice ends the session (RFC 9700 section 4.14.2). */
  readonly refreshToken: string;
  readonly accessToken?: string | undefined;
  /** When the access token ends, in milliseconds since 1970. */
  readonly expiresAt?: number | undefined;
}

/**
 * Where the tokens of a session are kept. Whoever signs in writes the first ones.
 *
 * Processes may share a store, but two that refresh in the same moment present one refresh token twice, which ends the
 * session: let one of them refresh, or let `read` wait until the other has written.
 */
export interface TokenStore {
  /** What was written last; undefined where nobody is signed in. */
  read(): Promise<SessionTokens | undefined>;
  /** Comes back when the tokens are where a crash cannot take them. */
  write(tokens: SessionTokens): Promise<void>;
}

/** A store that ends with the program: for one that can sign in again. */
export function memoryStore(refreshToken: string): TokenStore {
  let kept: SessionTokens = { refreshToken };
  return {
    read: async () => kept,
    write: async (tokens) => {
      kept = tokens;
    },
  };
}
