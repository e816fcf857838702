/**
 * Printable ASCII on both sides of one @. Programs fold the letters of other scripts in different ways, and a letter that folds to
 * ASCII (U+0130, U+212A) would make another mailbox equal to a user's. So no user has such an address.
 */
const EMAIL = /^[!-?A-~]{1,64}@[A-Za-z0-9.-]{1,255}$/;

/**
 * The form of an e-mail address that identifies a user: ASCII in small letters. An internationalised domain is in its ASCII form
 * (RFC 5891, `xn--…`).
 *
 * @returns undefined for any other text
 */
export function foldEmail(text: string): string | undefined {
  if (!EMAIL.test(text)) return undefined;
  return text.replace(/[A-Z]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) + 32));
}
