import { ValidationErrorsIBAN, validateIBAN } from 'ibantools';
import { MISTYPED, type Fault } from './fault.js';

const NATIONAL: Fault = {
  reason: 'national_check_digits',
  message:
    'is a well-formed IBAN around an account number that its country does not issue: the national check digits do not fit.',
};

/** SIX, Swiss QR bill: the bank refuses a payment to a QR-IBAN without a reference, and a recipient has no field for one. */
const QR: Fault = {
  reason: 'qr_iban',
  message: 'is a QR-IBAN, which takes only payments with a QR reference: ask for the ordinary IBAN of the account.',
};

/**
 * Checks the two digits of ISO 7064 MOD 97-10 against the one pair that is issued: a pair that differs by 97 would divide
 * too. The library then checks the national rules. Our check comes first, because the library refuses the letters that the
 * registry allows for Pakistan and the Dominican Republic.
 */
export function ibanFault(iban: string): Fault | undefined {
  const digits = [...`${iban.slice(4)}${iban.slice(0, 2)}00`].map((char) => parseInt(char, 36)).join('');
  const due = String(98n - (BigInt(digits) % 97n)).padStart(2, '0');
  if (iban.slice(2, 4) !== due) return MISTYPED;

  const { errorCodes } = validateIBAN(iban, { allowQRIBAN: false });
  if (errorCodes.includes(ValidationErrorsIBAN.WrongAccountBankBranchChecksum)) return NATIONAL;
  return errorCodes.includes(ValidationErrorsIBAN.QRIBANNotAllowed) ? QR : undefined;
}
