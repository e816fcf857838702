/** What says who is calling. Asked before every try. */
export interface Credential {
  /** The token to send now. */
  token(): Promise<string>;
  /** Another token, after the service answered 401 to this one; the same one where there is no other. */
  renewed(refused: string): Promise<string>;
}

/** A token, what gives a current one, or a session that renews itself. A function is asked again after a 401. */
export type CredentialOption = string | (() => string | Promise<string>) | Credential;

/** @throws TypeError for a token that no header can carry */
export function credentialOf(option: CredentialOption): Credential {
  if (typeof option === 'object' && option !== null) return option;
  if (typeof option !== 'function') {
    const token = Promise.resolve(sendable(option));
    return { token: () => token, renewed: () => token };
  }
  const ask = async () => option();
  return { token: ask, renewed: ask };
}

/** The platform would quote a token it cannot send in its own message; so it is looked at first. */
export function sendable(token: string): string {
  if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token)) {
    throw new TypeError('The access token is empty or holds what no header can carry, such as a line break.');
  }
  return token;
}
