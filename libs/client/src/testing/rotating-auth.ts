import type { SessionError, SessionTokens, TokenStore } from '../credentials.js';

/** An auth service that accepts a refresh token once, and ends the session at its second use. */
export class RotatingAuth {
  readonly presented: string[] = [];
  expiresIn: number | undefined;
  isEnded = false;
  /** Whether its responses are lost after each exchange. */
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

/** A token store whose content a spec can read. */
export class TestTokenStore implements TokenStore {
  /** The error that the next `write` throws. */
  failure: Error | undefined;
  constructor(public stored: SessionTokens | undefined = { refreshToken: 'refresh-0' }) {}

  async read() {
    return this.stored;
  }

  async write(tokens: SessionTokens) {
    const { failure } = this;
    this.failure = undefined;
    if (failure) throw failure;
    this.stored = tokens;
  }
}

/** The error of a call without a token. */
export async function failureOf(call: Promise<string>): Promise<SessionError> {
  const token = await call.catch((error: SessionError) => error);
  if (typeof token === 'string') throw new Error(`there was a token: ${token}`);
  return token;
}
