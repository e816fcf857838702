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
