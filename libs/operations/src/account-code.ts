import { randomInt } from 'node:crypto';

/** With ten million accounts, a guessed code belongs to an account with a probability of 1 in ten million. */
const RANDOM_DIGITS = 14;

/**
 * A new account code: `BA`, two check digits and random digits, so that one code tells nothing about another. Codes made before have
 * the id of the account in place of the random digits, and remain valid.
 *
 * The check digits are those of ISO 7064 MOD 97-10, placed and computed as in an IBAN (ISO 13616). They detect one wrong digit and two
 * transposed neighbours.
 */
export function newAccountCode(): string {
  return withCheckDigits(String(randomInt(10 ** RANDOM_DIGITS)).padStart(RANDOM_DIGITS, '0'));
}

function withCheckDigits(digits: string): string {
  // B is 11 and A is 10, as letters count there.
  const check = 98n - (BigInt(`${digits}111000`) % 97n);
  return `BA${String(check).padStart(2, '0')}${digits}`;
}
