import { randomInt } from 'node:crypto';

/** With ten million accounts, a guessed code belongs to an account with a probability of 1 in ten million. */
const RANDOM_DIGITS = 14;

/**
 * A new account code: `BA`, two check digits and random digits, so that a code reveals nothing about another. Older codes contain the id
 * of the account in place of the random digits, and remain valid.
 *
 * The check digits are those of ISO 7064 MOD 97-10, placed and computed as in an IBAN (ISO 13616). They detect one wrong digit and two
 * transposed adjacent digits.
 */
export function newAccountCode(): string {
  return withCheckDigits(String(randomInt(10 ** RANDOM_DIGITS)).padStart(RANDOM_DIGITS, '0'));
}

function withCheckDigits(digits: string): string {
  // B counts as 11 and A as 10.
  const check = 98n - (BigInt(`${digits}111000`) % 97n);
  return `BA${String(check).padStart(2, '0')}${digits}`;
}
