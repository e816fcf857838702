import { validate as abaFits } from 'abavalidator';
import { ValidationErrorsIBAN, validateIBAN } from 'ibantools';
import type { Check } from './format.js';

/** What is wrong with a number of the right shape: a stable word, and the sentence that goes on after the field's name. */
export interface Fault {
  readonly reason: 'check_digits' | 'national_check_digits' | 'qr_iban';
  readonly message: string;
}

const MISTYPED: Fault = {
  reason: 'check_digits',
  message: 'has check digits that do not fit: at least one character is wrong.',
};

const NATIONAL: Fault = {
  reason: 'national_check_digits',
  message:
    'is a well-formed IBAN around an account number that its country does not issue: the national check digits do not fit.',
};

/** SIX, Swiss QR bill: the bank refuses a payment to a QR-IBAN without its reference, and a recipient has no field for it. */
const QR: Fault = {
  reason: 'qr_iban',
  message: 'is a QR-IBAN, which takes only payments with a QR reference: ask for the ordinary IBAN of the account.',
};

/**
 * The rules behind the patterns. Each takes a text that fits its pattern and, for NUBAN, the routing code beside it.
 *
 * CLABE, CBU and NUBAN are one weighted sum with different weights, so they share it; the library for CLABEs would
 * also refuse every bank that it has not heard of.
 */
export const CHECKS: Readonly<Record<Check, (number: string, routingCode: string) => Fault | undefined>> = {
  iban: ibanFault,
  aba: (number) => (abaFits(number) ? undefined : MISTYPED),
  clabe: (number) => unless(number.at(-1) === tensComplement(number.slice(0, -1), '371')),
  cbu: (number) =>
    unless(
      number.at(7) === tensComplement(number.slice(0, 7), '7139713') &&
        number.at(-1) === tensComplement(number.slice(8, -1), '3971397139713'),
    ),
  // The standard of 2011 counts the bank's three digits in. Longer codes belong to institutions outside of it.
  nuban: (number, routingCode) =>
    unless(routingCode.length !== 3 || number.at(-1) === tensComplement(routingCode + number.slice(0, -1), '373')),
  rib: (number) => unless(BigInt(number) % 97n === 0n),
  cpf: (number) => unless(number === withElevens(number.slice(0, 9), 11) && new Set(number).size > 1),
  cnpj: (number) => unless(number === withElevens(number.slice(0, 12), 9) && new Set(number).size > 1),
};

function unless(fits: boolean): Fault | undefined {
  return fits ? undefined : MISTYPED;
}

/**
 * The two digits of ISO 7064 MOD 97-10, written out as the one pair that is issued: 97 more or less would divide as
 * well. The library knows the national rules behind them. It takes no letters where the registry does for Pakistan
 * and the Dominican Republic, and then finds the digits wrong too, so the first word is ours.
 */
function ibanFault(iban: string): Fault | undefined {
  const digits = [...`${iban.slice(4)}${iban.slice(0, 2)}00`].map((char) => parseInt(char, 36)).join('');
  const due = String(98n - (BigInt(digits) % 97n)).padStart(2, '0');
  if (iban.slice(2, 4) !== due) return MISTYPED;

  const { errorCodes } = validateIBAN(iban, { allowQRIBAN: false });
  if (errorCodes.includes(ValidationErrorsIBAN.WrongAccountBankBranchChecksum)) return NATIONAL;
  return errorCodes.includes(ValidationErrorsIBAN.QRIBANNotAllowed) ? QR : undefined;
}

/** The digit that brings the weighted sum to a multiple of ten. The weights are digits too, and come round again. */
function tensComplement(digits: string, weights: string): string {
  const sum = [...digits].reduce(
    (total, digit, index) => total + Number(digit) * Number(weights[index % weights.length]),
    0,
  );
  return String((10 - (sum % 10)) % 10);
}

/**
 * A CPF or CNPJ with the two check digits it ought to have: modulo 11 with weights 2, 3, … from the right, up to
 * `weightMax` and round again. A letter counts as its ASCII code less 48 (Receita Federal, for CNPJs since July 2026).
 */
function withElevens(body: string, weightMax: number): string {
  let text = body;
  for (let round = 0; round < 2; round += 1) {
    const fromRight = [...text].reverse();
    const sum = fromRight.reduce((total, char, index) => {
      return total + (char.charCodeAt(0) - 48) * ((index % (weightMax - 1)) + 2);
    }, 0);
    text += sum % 11 < 2 ? '0' : String(11 - (sum % 11));
  }
  return text;
}
