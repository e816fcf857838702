import { BankingError } from '@banking/domain';

/** A source of access tokens. The client reads it before every attempt. */
export interface Credential {
  /** The token to send now. */
  token(): Promise<string>;
  /** Another token, after the service refused this one with 401; the same one if there is no other. */
  renewed(refused: string): Promise<string>;
}

/** A token, a function that returns the current one, or a session. The client calls a function again after a 401. */
export type CredentialOption = string | (() => string | Promise<string>) | Credential;

/** A text is a token that no call waits for. @throws TypeError for a token that no header can carry */
export function credentialOf(option: CredentialOption): Credential | string {
  if (typeof option === 'object' && option !== null) return option;
  if (typeof option !== 'function') return sendable(option);
  const ask = async () => option();
  return { token: ask, renewed: ask };
}

/** Checked before sending, because the platform quotes an invalid token in its error. @throws TypeError */
export function sendable(token: string): string {
  if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token)) {
    throw new TypeError(
      'The access token is empty or contains a character that no header can carry, such as a line break.',
    );
  }
  return token;
}

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

/** A session cannot return an access token. The error of the store or the platform is the `cause`. */
export class SessionError extends BankingError {
  static override readonly kind: string = 'SessionError';

  declare readonly code: 'session_over' | 'session_unavailable';
  /** Whether the user has to sign in again. If not, a later call may succeed. */
  readonly isOver: boolean;

  constructor(message: string, { isOver, ...options }: ErrorOptions & { readonly isOver: boolean }) {
    super(message, { ...options, code: isOver ? 'session_over' : 'session_unavailable' });
    this.isOver = isOver;
  }
}
