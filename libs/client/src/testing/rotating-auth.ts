import type { SessionError } from '../session-error.js';
import type { SessionTokens, TokenStore } from '../token-store.js';

/** An auth service that spends a refresh token with its first use and ends the session at the second. */
export class RotatingAuth {
  readonly presented: string[] = [];
  expiresIn: number | undefined;
  isEnded = false;
  /** Whether it does what it is asked and its answers get lost. */
  isSilent = false;

  constructor(readonly name = 'refresh') {}

  get refreshes() {
    return this.presented.length;
  }

  exchange(refreshToken: string): object | undefined {
    this.isEnded ||= this.presented.includes(refreshToken) || refreshToken !== `${this.name}-${this.presented.length}`;
    this.presented.push(refreshToken);
    const number = this.presented.length;
    const tokens = {
      accessToken: `access-${number}`,
      refreshToken: `${this.name}-${number}`,
      expiresIn: this.expiresIn,
    };
    return this.isEnded ? undefined : tokens;
  }
}

/** A store that shows what it has. */
export class Shelf implements TokenStore {
  /** What `write` throws, once. */
  failure: Error | undefined;
  constructor(public kept: SessionTokens | undefined = { refreshToken: 'refresh-0' }) {}

  async read() {
    return this.kept;
  }

  async write(tokens: SessionTokens) {
    const { failure } = this;
    this.failure = undefined;
    if (failure) throw failure;
    this.kept = tokens;
  }
}

/** Why there is no token. */
export async function failureOf(asked: Promise<string>): Promise<SessionError> {
  const token = await asked.catch((error: SessionError) => error);
  if (typeof token === 'string') throw new Error(`there was a token: ${token}`);
  return token;
}
