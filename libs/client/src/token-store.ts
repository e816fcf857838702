/** The tokens of one sign-in. */
export interface SessionTokens {
  /** Can be used once: an auth service that receives it twice ends the session (RFC 9700 section 4.14.2). */
  readonly refreshToken: string;
  readonly accessToken?: string | undefined;
  /** The expiry of the access token, in milliseconds since 1970. */
  readonly expiresAt?: number | undefined;
}

/**
 * The storage of the tokens of a session. The sign-in writes the first ones.
 *
 * Processes may share a store. Two refreshes at the same moment would send one refresh token twice, which ends the session.
 * Let one process refresh, or let `read` wait until the other has written.
 */
export interface TokenStore {
  /** The tokens of the last write; undefined before a sign-in. */
  read(): Promise<SessionTokens | undefined>;
  /** Resolves when the tokens are stored durably. */
  write(tokens: SessionTokens): Promise<void>;
}

/** A store in memory, for a program that can sign in again. */
export function memoryStore(refreshToken: string): TokenStore {
  let stored: SessionTokens = { refreshToken };
  return {
    read: async () => stored,
    write: async (tokens) => {
      stored = tokens;
    },
  };
}
