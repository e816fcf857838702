/**
 * Printable ASCII on both sides of one @. Folding the letters of other scripts differs from one program to the next, and a look-alike
 * that folds to an ASCII letter (U+0130, U+212A) would let another mailbox pass for a user's: such an address names nobody here.
 */
const EMAIL = /^[!-?A-~]{1,64}@[A-Za-z0-9.-]{1,255}$/;

/**
 * An e-mail address as users are found by it: in ASCII, in small letters. An internationalised domain is written in its ASCII form
 * (RFC 5891, `xn--…`).
 *
 * `undefined` for a text that is not such an address.
 */
export function foldEmail(text: string): string | undefined {
  if (!EMAIL.test(text)) return undefined;
  return text.replace(/[A-Z]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) + 32));
}
